"""`faults`: what breaks and is mended while a scenario runs, read and expanded into single steps.

Here: names that lead nowhere, and what stands for many steps (flap, churn). Not
here: whether the steps make sense one after the other (`fault_order`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from random import Random
from typing import Any

from testbed.plan.fault_order import Step, in_order
from testbed.plan.graph import Graph, one_of
from testbed.plan.model import Fault
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.quantities import duration_ns
from testbed.plan.source import Source


def read_faults(source: Source, data: Mapping[str, Any], graph: Graph) -> tuple[Fault, ...]:
    """The scenario's faults in order of time; what is wrong with them is noted in the source."""
    told = data.get("faults") or []
    reader = _Reader(source, graph, int(data.get("seed", 1)))
    steps = [step for i, fault in enumerate(told) if fault is not None for step in reader.steps(i, fault)]
    return in_order(source, graph, steps)


class _Reader:
    """Reads one entry after the other."""

    def __init__(self, source: Source, graph: Graph, seed: int) -> None:
        self._source = source
        self._graph = graph
        self._seed = seed
        self._links: dict[tuple[str, str], str] = {}
        for wire in graph.wires:
            self._links[wire.a, wire.b] = self._links[wire.b, wire.a] = f"{wire.a}--{wire.b}"

    def steps(self, position: int, fault: Mapping[str, Any]) -> Iterator[Step]:
        """What one entry comes down to."""
        key: Key = ("faults", position)
        what = [name for name in self._source.written(key) if name != "at"]
        if len(what) != 1:
            message = "nothing says what happens" if not what else f"{' and '.join(what)} happen at once"
            self._source.complain(key, message, f"at and one of {', '.join(_READERS)}")
        elif "at" in fault and what[0] in fault:
            yield from _READERS[what[0]](self, duration_ns(fault["at"]), what[0], fault[what[0]], key)

    def link(self, at_ns: int, do: str, told: str, key: Key) -> Iterator[Step]:
        """`link_down`, `link_up`."""
        if name := self._link(told, (*key, do)):
            yield Step(at_ns, do, name, key)

    def router(self, at_ns: int, do: str, told: str, key: Key) -> Iterator[Step]:
        """`crash`, `start`."""
        if told in self._graph.clients:
            hint = f"a client can leave and return, pause and resume: leave: {told}"
            self._source.complain((*key, do), f"{told} is a client", one_of(self._graph.routers), hint)
        elif self._known(told, "router", self._graph.routers, (*key, do)):
            yield Step(at_ns, do, told, key)

    def node(self, at_ns: int, do: str, told: str, key: Key) -> Iterator[Step]:
        """`pause`, `resume`."""
        nodes = {**self._graph.routers, **self._graph.clients}
        if self._known(told, "node", nodes, (*key, do)):
            yield Step(at_ns, do, told, key)

    def client(self, at_ns: int, do: str, told: str, key: Key) -> Iterator[Step]:
        """`leave`, `return`."""
        if self._known(told, "client", self._graph.clients, (*key, do)):
            yield from self._access(at_ns, "link_down" if do == "leave" else "link_up", told, key)

    def partition(self, at_ns: int, do: str, told: list[Any], key: Key) -> Iterator[Step]:
        """`partition`."""
        group_of: dict[str, int] = {}
        for g, group in enumerate(told):
            for i, router in enumerate(group or ()):
                here: Key = (*key, do, g, i)
                if router is None or not self._known(router, "router", self._graph.routers, here):
                    continue
                if router in group_of:
                    self._source.complain(here, f"{router} is in two groups", "each router in one group")
                group_of[router] = g
        yield Step(at_ns, do, "", key, groups=group_of)

    def heal(self, at_ns: int, do: str, told: bool, key: Key) -> Iterator[Step]:
        """`heal`."""
        if told:
            yield Step(at_ns, do, "", key)
        else:
            self._source.complain((*key, do), "nothing is healed", "true")

    def flap(self, at_ns: int, do: str, told: Mapping[str, Any], key: Key) -> Iterator[Step]:
        """`flap`."""
        name = self._link(told["link"], (*key, do, "link")) if "link" in told else None
        for begin_ns, end_ns in self._periods(at_ns, told, "down", (*key, do)):
            if name:
                yield Step(begin_ns, "link_down", name, key)
                yield Step(end_ns, "link_up", name, key)

    def churn(self, at_ns: int, do: str, told: Mapping[str, Any], key: Key) -> Iterator[Step]:
        """`churn`."""
        clients = list(self._graph.clients)
        if not clients:
            self._source.complain((*key, do), "there are no clients that could leave")
        if not clients or "clients" not in told:
            return
        rng = Random(f"{self._seed}/faults/{key[1]}")
        count = max(1, int(len(clients) * Fraction(told["clients"].rstrip("%")) / 100))
        for begin_ns, end_ns in self._periods(at_ns, told, "away", (*key, do)):
            for client in sorted(rng.sample(clients, min(count, len(clients)))):
                yield from self._access(begin_ns, "link_down", client, key)
                yield from self._access(end_ns, "link_up", client, key)

    def _periods(
        self, at_ns: int, told: Mapping[str, Any], lasting: str, key: Key
    ) -> Iterator[tuple[int, int]]:
        """When each of several like things begins and ends."""
        if "every" not in told or "times" not in told:
            return
        every_ns = duration_ns(told["every"])
        lasts_ns = duration_ns(told[lasting]) if lasting in told else every_ns // 2
        if not 0 < lasts_ns < every_ns:
            at = lasting if lasting in told else "every"
            self._source.complain((*key, at), "there is no time between one and the next", "a longer period")
            return
        for n in range(told["times"]):
            yield at_ns + n * every_ns, at_ns + n * every_ns + lasts_ns

    def _access(self, at_ns: int, do: str, client: str, key: Key) -> Iterator[Step]:
        for name in (f"{w.a}--{w.b}" for w in self._graph.wires if w.b == client):
            yield Step(at_ns, do, name, key)

    def _link(self, told: str, key: Key) -> str | None:
        """The link's name; a dash in a node's name makes `a-b-c` more than one thing."""
        text = told.strip()
        ends = [(text[: m.start()].rstrip(), text[m.end() :].lstrip()) for m in re.finditer("--?", text)]
        spaced = re.split(r" +--? +", text)
        if len(spaced) == 2:
            ends = [(spaced[0], spaced[1])]
        names = sorted({self._links[pair] for pair in ends if pair in self._links})
        if len(names) == 1:
            return names[0]
        written = sorted({" - ".join(name.split("--")) for name in self._links.values()})
        if names:
            message, expected = f"{text} may be {' or '.join(names)}", "the dash between spaces"
        else:
            message, expected = f"there is no link {text}", "a link between two routers, or to a client"
        self._source.complain(key, message, expected, did_you_mean(text, written))
        return None

    def _known(self, name: str, what: str, names: Mapping[str, Key], key: Key) -> bool:
        if name not in names and self._graph.routers:
            self._source.complain(key, f"there is no {what} {name}", one_of(names), did_you_mean(name, names))
        return name in names


_READERS: Mapping[str, Callable[..., Iterator[Step]]] = {
    "link_down": _Reader.link,
    "link_up": _Reader.link,
    "crash": _Reader.router,
    "start": _Reader.router,
    "pause": _Reader.node,
    "resume": _Reader.node,
    "leave": _Reader.client,
    "return": _Reader.client,
    "partition": _Reader.partition,
    "heal": _Reader.heal,
    "flap": _Reader.flap,
    "churn": _Reader.churn,
}

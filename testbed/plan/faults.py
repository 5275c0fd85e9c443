"""`faults`: what breaks and is mended while a scenario runs, read and expanded into single steps.

Here: names that lead nowhere, and what stands for many steps (flap, churn). Not
here: whether the steps make sense one after the other, and who is drawn
(`fault_order`); how faults are told in one line (`fault_text`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from testbed.plan.fault_order import Entry, Step, in_order
from testbed.plan.graph import Graph
from testbed.plan.groups import Choice, Groups
from testbed.plan.model import Fault
from testbed.plan.moments import Times
from testbed.plan.problems import Key
from testbed.plan.quantities import duration_ns
from testbed.plan.source import Source

ENDS = {
    "link_down": "link_up", "crash": "start", "pause": "resume", "leave": "return",
    "partition": "heal", "impair": "repair",
}  # fmt: skip
"""What mends what: after the time that `for` says."""
_KINDS = {
    "link_down": "link", "link_up": "link", "crash": "router", "start": "router",
    "pause": "node", "resume": "node", "leave": "client", "return": "client", "repair": "link",
}  # fmt: skip
_CONDITIONS = ("at", "when", "after", "for")


def read_faults(
    source: Source, data: Mapping[str, Any], graph: Graph, groups: Groups, times: Times
) -> tuple[Fault, ...]:
    """The scenario's faults in order of time; what is wrong with them is noted in the source."""
    told = data.get("faults") or []
    reader = _Reader(source, groups, times, int(data.get("seed", 1)))
    entries = [
        entry for i, fault in enumerate(told) if fault is not None for entry in reader.entries(i, fault)
    ]
    return in_order(source, graph, entries)


class _Reader:
    """Reads one entry after the other."""

    def __init__(self, source: Source, groups: Groups, times: Times, seed: int) -> None:
        self._source = source
        self._groups = groups
        self._times = times
        self._seed = seed
        self._rng = Random()

    def entries(self, position: int, fault: Mapping[str, Any]) -> Iterator[Entry]:
        """What one entry comes down to: nothing, if it makes no sense."""
        key: Key = ("faults", position)
        written = self._source.written(key)
        what = [name for name in written if name not in _CONDITIONS]
        if len(what) != 1:
            message = "nothing says what happens" if not what else f"{' and '.join(what)} happen at once"
            self._source.complain(key, message, f"at, or when, and one of {', '.join(_READERS)}")
            return
        begin_ns = self._begin(fault, written, key)
        if begin_ns is None or what[0] not in fault:
            return
        self._rng = Random(f"{self._seed}/faults/{position}")
        steps = list(_READERS[what[0]](self, begin_ns, what[0], fault[what[0]], key))
        steps += self._mending(fault, what[0], steps, key)
        yield Entry(key, "when" in fault, steps)

    def _begin(self, fault: Mapping[str, Any], written: Mapping[str, Any], key: Key) -> int | None:
        """When it happens: from the start, or from the fixpoint that is waited for."""
        if "at" in written and "when" in written:
            self._source.complain(key, "both at and when say when it happens", "one of them")
            return None
        if "when" not in written:
            if "after" in written:
                self._source.complain((*key, "after"), "after goes with when", "when: converged", at_key=True)
            if "at" not in written:
                self._source.complain(
                    key, "nothing says when it happens", "at: 5s, or when: converged", at_key=False
                )
            return self._times.moment(fault["at"], (*key, "at")) if "at" in fault else None
        if "when" not in fault:
            return None
        return duration_ns(fault["after"]) if "after" in fault else 0

    def _mending(self, fault: Mapping[str, Any], do: str, steps: list[Step], key: Key) -> Iterator[Step]:
        """The steps that end what `for` says has an end."""
        if "for" not in fault or not steps:
            return
        lasts_ns = duration_ns(fault["for"])
        if do not in ENDS:
            expected = f"for goes with {', '.join(ENDS)}"
            self._source.complain((*key, "for"), f"{do} does not end by itself", expected, at_key=True)
        elif lasts_ns == 0:
            self._source.complain((*key, "for"), "it would end as it begins", "a duration above zero")
        else:
            [step] = steps
            yield Step(step.at_ns + lasts_ns, ENDS[do], key, step.choice)

    def simple(self, at_ns: int, do: str, told: Any, key: Key) -> Iterator[Step]:
        """`link_down`, `crash`, ... of whoever is selected."""
        if choice := self._choice(told, _KINDS[do], (*key, do)):
            yield Step(at_ns, do, key, choice)

    def impair(self, at_ns: int, do: str, told: Mapping[str, Any], key: Key) -> Iterator[Step]:
        """`impair`."""
        if len(told) < 2:
            expected = "delay, loss, or another property of a link"
            self._source.complain((*key, do), "nothing says what changes", expected)
        elif "link" in told and (choice := self._choice(told["link"], "link", (*key, do, "link"))):
            yield Step(at_ns, do, key, choice, told={k: v for k, v in told.items() if k != "link"})

    def partition(self, at_ns: int, do: str, told: Any, key: Key) -> Iterator[Step]:
        """`partition`."""
        group_of: dict[str, int] = {}
        sides = [told] if isinstance(told, str) else told
        for g, side in enumerate(sides):
            here: Key = (*key, do) if isinstance(told, str) else (*key, do, g)
            choice = None if side is None else self._choice(side, "router", here)
            for router in choice.draw() if choice else ():
                if group_of.get(router, g) != g or (isinstance(side, list) and side.count(router) > 1):
                    at = (*here, side.index(router)) if isinstance(side, list) and router in side else here
                    self._source.complain(at, f"{router} is in two groups", "each router in one group")
                group_of[router] = g
        if group_of:
            yield Step(at_ns, do, key, sides=group_of)

    def heal(self, at_ns: int, do: str, told: bool, key: Key) -> Iterator[Step]:
        """`heal`."""
        if told:
            yield Step(at_ns, do, key)
        else:
            self._source.complain((*key, do), "nothing is healed", "true")

    def flap(self, at_ns: int, do: str, told: Mapping[str, Any], key: Key) -> Iterator[Step]:
        """`flap`: the same links go down each time."""
        choice = self._choice(told["link"], "link", (*key, do, "link")) if "link" in told else None
        for begin_ns, end_ns in self._periods(at_ns, told, "down", (*key, do)):
            if choice:
                yield Step(begin_ns, "link_down", key, choice)
                yield Step(end_ns, "link_up", key, choice)

    def churn(self, at_ns: int, do: str, told: Mapping[str, Any], key: Key) -> Iterator[Step]:
        """`churn`: others leave each time."""
        if not self._groups.members("clients"):
            self._source.complain((*key, do), "there are no clients that could leave")
        elif "clients" in told:
            text = told["clients"]
            share = f"{text} of clients" if isinstance(text, str) and text.endswith("%") else text
            choice = self._choice(share, "client", (*key, do, "clients"))
            for begin_ns, end_ns in self._periods(at_ns, told, "away", (*key, do)):
                if choice:
                    drawn = choice.anew()
                    yield Step(begin_ns, "leave", key, drawn)
                    yield Step(end_ns, "return", key, drawn)

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

    def _choice(self, told: Any, kind: str, key: Key) -> Choice | None:
        return self._groups.choice(told, kind, key, self._rng)


_READERS: Mapping[str, Callable[..., Iterator[Step]]] = {
    **dict.fromkeys(
        ("link_down", "link_up", "crash", "start", "pause", "resume", "leave", "return"), _Reader.simple
    ),
    "partition": _Reader.partition,
    "heal": _Reader.heal,
    "flap": _Reader.flap,
    "churn": _Reader.churn,
    "impair": _Reader.impair,
    "repair": _Reader.simple,
}

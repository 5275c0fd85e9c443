"""Faults one after the other: what is broken cannot break, and only that can be mended.

Here: the walk along the timeline, which draws who is meant among those it can
happen to, and says what a partition cuts. Not here: reading the scenario's
words (`faults`).

What waits for the network to converge comes after all that stands above it in
the file, and after what stands below it and is due earlier than that. What is
due later comes after it, even if it then is late: worlds carry faults out
strictly in this order, so that what is broken at a moment is known before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from testbed.plan.graph import Graph, Wire, wire_with
from testbed.plan.groups import Choice
from testbed.plan.model import Fault
from testbed.plan.problems import Key
from testbed.plan.source import Source

_BREAKS = {"link_down": "down", "crash": "crashed", "pause": "paused"}
_MENDS = {"link_up": "down", "start": "crashed", "resume": "paused"}
_ON_LINKS = {"leave": "link_down", "return": "link_up"}
_MENDING = ("link_up", "start", "resume", "return", "repair")


@dataclass(frozen=True, slots=True)
class Step:
    """A fault as the scenario says it: one of `FAULT_KINDS`, or what comes down to some."""

    at_ns: int
    """From the start, or from the fixpoint that its entry waits for."""
    do: str
    key: Key
    choice: Choice | None = None
    """Of whom, or what; steps that mend what others broke have theirs."""
    sides: Mapping[str, int] = field(default_factory=dict)
    """Of a partition: the side of each router that is named."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """Of an impairment: what is said of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the scenario's faults and the steps it comes down to."""

    key: Key
    waits: bool
    """Whether it waits for the network to converge."""
    steps: Sequence[Step]


def in_order(source: Source, graph: Graph, entries: Iterable[Entry]) -> tuple[Fault, ...]:
    """All that happens, in order of time, and of the file where times are equal."""
    timeline = _Timeline(source, graph)
    return tuple(
        fault for waits, steps in _sequence(entries) for fault in _chained(timeline.take(steps), waits)
    )


def _sequence(entries: Iterable[Entry]) -> list[tuple[bool, list[Step]]]:
    """Steps at times of their own, one by one; those of an entry that waits, together."""
    found: list[tuple[tuple[int, bool, int], bool, list[Step]]] = []
    latest_ns = -1
    for position, entry in enumerate(entries):
        if entry.waits:
            steps = sorted(entry.steps, key=lambda s: s.at_ns)
            found.append(((latest_ns, True, position), True, steps))
            continue
        for step in entry.steps:
            found.append(((step.at_ns, False, position), False, [step]))
            latest_ns = max(latest_ns, step.at_ns)
    return [(waits, steps) for _, waits, steps in sorted(found, key=lambda f: f[0])]


def _chained(faults: Iterable[Fault], waits: bool) -> Iterator[Fault]:
    """Faults that belong together wait for one fixpoint: the first of them."""
    before_ns: int | None = None
    for fault in faults:
        if not waits:
            yield fault
            continue
        after = "converged" if before_ns is None else "previous"
        at_ns = fault.at_ns - (before_ns or 0)
        yield Fault(at_ns, fault.do, fault.target, after, fault.impairment, fault.back)
        before_ns = fault.at_ns


class _Timeline:
    """What is broken at a moment, and since which entry."""

    def __init__(self, source: Source, graph: Graph) -> None:
        self._source = source
        self._graph = graph
        self._broken: dict[str, dict[str, Key]] = {"down": {}, "crashed": {}, "paused": {}, "impaired": {}}
        self._wires = {f"{wire.a}--{wire.b}": wire for wire in graph.wires}
        self._now = dict(self._wires)
        self._access: dict[str, list[str]] = {client: [] for client in graph.clients}
        for name, wire in self._wires.items():
            if wire.b in self._access:
                self._access[wire.b].append(name)
        self._cut: list[str] = []
        self._partition: Key = ()

    def take(self, steps: Sequence[Step]) -> Iterator[Fault]:
        """What steps come to; nothing, and a note in the source, where they make no sense."""
        for step in steps:
            if step.do in ("partition", "heal"):
                yield from self._partitioning(step)
                continue
            for name in self._targets(step):
                for target in self._all_of(step, name):
                    fault = self._happens(step, _ON_LINKS.get(step.do, step.do), target)
                    if fault is not None:
                        yield fault

    def _all_of(self, step: Step, name: str) -> list[str]:
        return self._access[name] if step.do in _ON_LINKS else [name]

    def _targets(self, step: Step) -> list[str]:
        """Who is meant, if it can happen to all of them."""
        choice = step.choice
        assert choice is not None, "all steps but those of a partition are of somebody"
        if choice.drawn is None:
            choice.draw(lambda name: self._problem(step, name) is None, step.do in _MENDING)
            if self._complain_of_few(step, choice):
                return []
        for name in choice.drawn or ():
            if problem := self._problem(step, name):
                self._source.complain(step.key, *problem)
                return []
        return choice.drawn or []

    def _complain_of_few(self, step: Step, choice: Choice) -> bool:
        if choice.lacking is None:
            return False
        part, fitting = choice.lacking
        done = {
            "link_up": "down",
            "start": "crashed",
            "resume": "paused",
            "return": "away",
            "repair": "impaired",
        }
        if part.count is None:
            message = f"nothing of {part.text} is {done[step.do]} then"
            self._source.complain(step.key, message, "that something of it was broken before it")
            return True
        said = f"{done[step.do]} then" if step.do in done else f"left then that {step.do} can happen to"
        expected = "fewer" if fitting else "another group, or another time"
        self._source.complain(
            step.key, f"{part.text}: just {fitting} of {len(part.members)} are {said}", expected
        )
        return True

    def _problem(self, step: Step, name: str) -> tuple[str, str] | None:
        """Why it cannot happen to a node or link now, and what was expected."""
        for target in self._all_of(step, name):
            if wrong := self._wrong(_ON_LINKS.get(step.do, step.do), target):
                return wrong
        return None

    def _wrong(self, do: str, name: str) -> tuple[str, str] | None:
        """What is wrong with a step now, and what was expected."""
        broken, link = self._broken, " - ".join(name.split("--"))
        match do:
            case "link_down" if name in broken["down"]:
                return f"{link} is down already{self._since(broken['down'][name])}", "link_up before it"
            case "link_up" if name not in broken["down"]:
                return f"{link} is not down then", "link_down before it"
            case "crash" | "pause" if name in broken["crashed"]:
                return f"{name} has crashed already{self._since(broken['crashed'][name])}", "start before it"
            case "start" if name not in broken["crashed"]:
                return f"{name} has not crashed then", "crash before it"
            case "pause" if name in broken["paused"]:
                return f"{name} is paused already{self._since(broken['paused'][name])}", "resume before it"
            case "resume" if name not in broken["paused"]:
                return f"{name} is not paused then", "pause before it"
            case "repair" if name not in broken["impaired"]:
                return f"{link} is not impaired then", "impair before it"
        return None

    def _happens(self, step: Step, do: str, target: str) -> Fault | None:
        if do in ("impair", "repair"):
            return self._changed(step, do, target)
        if do in _BREAKS:
            self._broken[_BREAKS[do]][target] = step.key
            if do == "crash":
                self._broken["paused"].pop(target, None)
        else:
            del self._broken[_MENDS[do]][target]
        return Fault(step.at_ns, do, target)

    def _changed(self, step: Step, do: str, target: str) -> Fault | None:
        """A link that does other things to packets from now on."""
        known = len(self._source.problems)
        if do == "repair":
            wire = self._wires[target]
            del self._broken["impaired"][target]
        else:
            wire = wire_with(self._source, step.told, (*step.key, do), self._now[target])
            self._broken["impaired"][target] = step.key
        if len(self._source.problems) > known:
            return None
        self._now[target] = wire
        return Fault(step.at_ns, "impair", target, impairment=wire.impairment, back=wire.back)

    def _partitioning(self, step: Step) -> list[Fault]:
        if step.do == "partition":
            return [Fault(step.at_ns, "link_down", link) for link in self._cut_between(step)]
        return [Fault(step.at_ns, "link_up", link) for link in self._healed(step)]

    def _cut_between(self, step: Step) -> list[str]:
        if self._partition:
            why = f"the network is partitioned already{self._since(self._partition)}"
            self._source.complain(step.key, why, "heal before it")
            return []
        self._partition = step.key
        between = [name for name, wire in self._wires.items() if self._leads_across(step, wire)]
        self._cut = [name for name in between if name not in self._broken["down"]]
        if not self._cut:
            self._source.complain(
                step.key, "no link leads from one group to another", "groups that are joined"
            )
        self._broken["down"].update(dict.fromkeys(self._cut, step.key))
        return self._cut

    def _leads_across(self, step: Step, wire: Wire) -> bool:
        return wire.b in self._graph.routers and step.sides.get(wire.a, -1) != step.sides.get(wire.b, -1)

    def _healed(self, step: Step) -> list[str]:
        if not self._partition:
            self._source.complain(step.key, "the network is not partitioned then", "partition before it")
        down = self._broken["down"]
        # What was mended one by one meanwhile is up already.
        healed = [link for link in self._cut if down.get(link) == self._partition]
        for link in healed:
            del down[link]
        self._cut, self._partition = [], ()
        return healed

    def _since(self, key: Key) -> str:
        line = self._source.place(key).line
        return f" (line {line})" if line else ""

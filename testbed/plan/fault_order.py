"""Faults one after the other: what is broken cannot break, and only that can be repaired.

Here: the walk along the timeline, which draws who is meant among those it can
happen to, and finds which links a partition takes down. Not here: reading the scenario's
words (`faults`).

What waits for the network to converge comes after all that stands above it in
the file, and after what stands below it and is due earlier than that. What is
due later comes after it, even if it then is late: worlds apply faults strictly
in this order, so that what is broken at a moment is known before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nodes.config import SecurityConfig
from testbed.plan.graph import Graph, Wire, wire_with
from testbed.plan.groups import Choice
from testbed.plan.model import Attack, Fault
from testbed.plan.problems import Key
from testbed.plan.source import Source
from topologies.fault_kinds import KINDS, Failures, FaultKind

_WHOLE = "the network"
"""What a partition breaks, among the names of nodes and links."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens, as the scenario says it."""

    at_ns: int
    """From the start, or from the fixpoint that its entry waits for."""
    kind: FaultKind
    key: Key
    choice: Choice | None = None
    """Whom it happens to; steps that repair what others broke have theirs."""
    sides: Mapping[str, int] = field(default_factory=dict)
    """Of a partition: the side of each router that is named."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Of an impairment: what is said of it."""
    attack: Attack | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the scenario's faults and the steps it comes down to."""

    key: Key
    waits: bool
    """Whether it waits for the network to converge."""
    steps: Sequence[Step]


def in_order(
    source: Source, graph: Graph, entries: Iterable[Entry], security: SecurityConfig
) -> tuple[Fault, ...]:
    """All that happens, in order of time, and of the file where times are equal."""
    timeline = _Timeline(source, graph, security)
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
        if waits:
            after = "converged" if before_ns is None else "previous"
            yield replace(fault, at_ns=fault.at_ns - (before_ns or 0), after=after)
            before_ns = fault.at_ns
        else:
            yield fault


class _Timeline:
    """What is broken at a moment, and since which entry."""

    def __init__(self, source: Source, graph: Graph, security: SecurityConfig) -> None:
        self._source = source
        self._security = security
        self._graph = graph
        self._failures = Failures()
        self._wires = {f"{wire.a}--{wire.b}": wire for wire in graph.wires}
        self._now = dict(self._wires)
        self._access = {wire.b: name for name, wire in self._wires.items() if wire.b in graph.clients}

    def take(self, steps: Sequence[Step]) -> Iterator[Fault]:
        """What steps come to; nothing, and a note in the source, where they make no sense."""
        for step in steps:
            if step.choice is None:
                yield from self._across(step)
                continue
            for name in self._targets(step, step.choice):
                fault = self._fault(step, *self._concrete(step.kind, name))
                if fault is not None:
                    yield fault

    def _concrete(self, kind: FaultKind, name: str) -> tuple[FaultKind, str]:
        """What happens to which link or node: a client leaves and returns by its access link."""
        return (KINDS[kind.applied_as], self._access[name]) if kind.target == "client" else (kind, name)

    def _targets(self, step: Step, choice: Choice) -> list[str]:
        """Who is meant, if it can happen to all of them."""
        if choice.drawn is None:
            choice.draw(lambda name: self._problem(step.kind, name) is None, step.kind.repairs is not None)
            if self._complain_of_few(step, choice):
                return []
        for name in choice.drawn or ():
            if problem := self._problem(step.kind, name):
                self._source.complain(step.key, *problem)
                return []
        return choice.drawn or []

    def _complain_of_few(self, step: Step, choice: Choice) -> bool:
        if choice.lacking is None:
            return False
        part, fitting = choice.lacking
        repaired = step.kind.repairs
        done = f"{repaired.state.split()[-1]} then" if repaired else ""
        if part.count is None:
            expected = "that something of it was broken before it"
            self._source.complain(step.key, f"nothing of {part.text} is {done}", expected)
            return True
        said = done or f"left then that {step.kind.name} can happen to"
        expected = "fewer" if fitting else "another group, or another time"
        message = f"{part.text}: just {fitting} of {len(part.members)} are {said}"
        self._source.complain(step.key, message, expected)
        return True

    def _problem(self, kind: FaultKind, name: str) -> tuple[str, str] | None:
        """Why it cannot happen to a node or link now, and what was expected."""
        kind, target = self._concrete(kind, name)
        if kind.needs_keys and not self._security.seals:
            return "links have no keys", "security: {neighbours: required}"
        if kind.needs_signatures and not self._security.signs:
            return "routers have no keys to sign with", "security: {records: signed}"
        if kind.needs_keys and (program := self._wires[target].b) in self._graph.programs:
            return f"{program} is a program, which reads keys only when it starts", "another link"
        obstacle = self._failures.obstacle(kind.name, target)
        if obstacle is None:
            return None
        label = " - ".join(target.split("--")) if kind.target == "link" else target
        has, state = obstacle.state.split()
        if kind.repairs:
            return f"{label} {has} not {state} then", f"{obstacle.name} before it"
        line = self._source.place(self._failures.of(target)[obstacle.name]).line
        since = f" (line {line})" if line else ""
        return f"{label} {has} {state} already{since}", f"{obstacle.repaired_by} before it"

    def _fault(self, step: Step, kind: FaultKind, target: str) -> Fault | None:
        self._failures.note(kind.name, target, step.key)
        applied = KINDS[kind.applied_as or kind.name]
        if applied.argument != "impairment":
            return Fault(step.at_ns, applied.name, target, attack=step.attack)
        known = len(self._source.problems)
        wire = self._wires[target]
        if not kind.repairs:
            wire = wire_with(self._source, step.changes, (*step.key, kind.name), self._now[target])
        if len(self._source.problems) > known:
            return None
        self._now[target] = wire
        return Fault(step.at_ns, applied.name, target, impairment=wire.impairment, back=wire.back)

    def _across(self, step: Step) -> list[Fault]:
        """What a partition does to the links between its groups, and what ends it."""
        kind, broken = step.kind, step.kind.repairs
        if problem := self._problem(kind, _WHOLE):
            self._source.complain(step.key, *problem)
            return []
        if broken:
            # What was repaired one by one meanwhile is up already.
            since = self._failures.of(_WHOLE)[broken.name]
            links = [name for name in self._wires if self._failures.of(name).get(broken.applied_as) == since]
        else:
            links = [name for name, wire in self._wires.items() if self._goes_down(step, name, wire)]
            if not links:
                expected = "groups that are joined"
                self._source.complain(step.key, "no link leads from one group to another", expected)
        self._failures.note(kind.name, _WHOLE, step.key)
        for link in links:
            self._failures.note(kind.applied_as, link, step.key)
        return [Fault(step.at_ns, kind.applied_as, link) for link in links]

    def _goes_down(self, step: Step, name: str, wire: Wire) -> bool:
        across = step.sides.get(wire.a, -1) != step.sides.get(wire.b, -1)
        up = not self._failures.obstacle(step.kind.applied_as, name)
        return wire.b in self._graph.routers and across and up

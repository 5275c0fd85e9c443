"""When the network of a run was settled, and which nodes were connected then.

A network is *settled* from the moment at which it has converged until the next fault. Attacks do not
unsettle it: what honest nodes are owed they are owed under attack, too. A message
that is published and arrives while it is must reach every client that wants it and is connected
with its publisher, and can reach no other. At any other time some routers know of a change and
some do not, and either outcome is right.

Plain Python over the `fault` and `converged` events; the analysis and the test harnesses share
it. Not here: what subscriptions claim (`oracle`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from testbed.plan.model import Plan
from topologies.fault_kinds import KINDS, Failures

FOREVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class NetworkChange:
    """A `fault` event (with what it does, and to whom) or a `converged` event (without)."""

    time_ns: int
    do: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class SettledPeriod:
    """A time in which nothing changed; published after `after_ns` and before `until_ns` is within it."""

    after_ns: int
    until_ns: int
    part_of: Mapping[int, int]
    """The part of the network a node belongs to; nodes that do not run are in none."""

    def connects(self, source: int, subscriber: int) -> bool:
        """Whether a path leads from one node to the other."""
        part = self.part_of.get(source)
        return part is not None and part == self.part_of.get(subscriber)


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A time between two settled periods: from a fault until the network had converged again, inclusive."""

    from_ns: int
    until_ns: int
    """FOREVER: it did not converge any more."""
    causes: Sequence[NetworkChange]
    """The faults in it, in order of time."""


@dataclass(frozen=True, slots=True)
class History:
    """The settled periods of a run, in order. `settle_ns` bounds how long a message takes to arrive."""

    settled: Sequence[SettledPeriod]
    settle_ns: int
    pauses: Sequence[tuple[int, int]] = ()
    """From when until when nodes were paused, in order of their ends; messages may have waited there."""
    disturbances: Sequence[Disturbance] = ()
    """The times between settled periods, in order."""
    _ends: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Keep the ends for searching."""
        self._ends[:] = [period.until_ns - 1 for period in self.settled]

    def period_of(self, published_ns: int) -> SettledPeriod | None:
        """The period in which a message published then was sent and has arrived; None: in none."""
        at = bisect_left(self._ends, published_ns)
        period = self.settled[at] if at < len(self.settled) else None
        if period and period.after_ns < published_ns <= period.until_ns - self.settle_ns:
            return period
        return None

    def bounds(self) -> Iterator[int]:
        """What `period_of` and `held_until` compare times of publication with."""
        for period in self.settled:
            yield from (period.after_ns, period.until_ns - 1, period.until_ns - self.settle_ns)
        for paused_ns, resumed_ns in self.pauses:
            yield from (paused_ns - self.settle_ns, resumed_ns)

    def unsettled(self) -> list[tuple[int, int]]:
        """From when until when a message that was published may get lost without anything being wrong."""
        ends = [period.until_ns - self.settle_ns for period in self.settled]
        begins = [period.after_ns for period in self.settled[1:]]
        if ends and self.settled[-1].until_ns != FOREVER:
            begins.append(FOREVER)
        return list(zip(ends, begins, strict=False))

    def held_until(self, published_ns: int) -> int:
        """Until when a paused node may have held back a message published then."""
        until_ns = published_ns
        if self.period_of(published_ns):
            return until_ns
        for paused_ns, resumed_ns in self.pauses:
            if paused_ns <= until_ns + self.settle_ns and resumed_ns > until_ns:
                until_ns = resumed_ns
        return until_ns

    def known_by(self, changed_ns: int) -> int:
        """When every router is certain to know what a client changed then.

        After a settling time, in a settled period; else not before the network has converged
        again: a node that was paused, or cut off, learned of it later.
        """
        known_ns = changed_ns + self.settle_ns
        if self.period_of(changed_ns):
            return known_ns
        begins = (period.after_ns for period in self.settled if period.after_ns >= changed_ns)
        return max(known_ns, next(begins, FOREVER))


def network_change(event: Mapping[str, Any]) -> NetworkChange | None:
    """What an event changes about the network; None of any other event."""
    match event["event"]:
        case "fault":
            return NetworkChange(int(event["time_ns"]), str(event["do"]), str(event["target"]))
        case "converged":
            return NetworkChange(int(event["time_ns"]))
        case _:
            return None


def history_of(plan: Plan, changes: Iterable[NetworkChange], start_ns: int) -> History:
    """The history of a run.

    Args:
        plan: Of the run.
        changes: In order of time.
        start_ns: The scenario's time zero, when the network had converged for the first time.
    """
    failures, periods = Failures(), []
    after_ns: int | None = start_ns - 1
    changes = [c for c in changes if c.time_ns >= start_ns and (not c.do or KINDS[c.do].disturbs)]
    for change in changes:
        if change.do:
            if after_ns is not None:
                periods.append(SettledPeriod(after_ns, change.time_ns, _parts(failures, plan)))
            after_ns = None
            failures.note(change.do, change.target)
        elif after_ns is None:
            after_ns = change.time_ns
    if after_ns is not None:
        periods.append(SettledPeriod(after_ns, FOREVER, _parts(failures, plan)))
    return History(periods, plan.timing.settle_ns, _pauses(changes), _disturbances(changes))


def _disturbances(changes: Iterable[NetworkChange]) -> list[Disturbance]:
    """What the faults come to that no fixpoint separates."""
    found: list[Disturbance] = []
    causes: list[NetworkChange] = []
    for change in changes:
        if change.do:
            causes.append(change)
        elif causes:
            found.append(Disturbance(causes[0].time_ns, change.time_ns, causes))
            causes = []
    return [*found, Disturbance(causes[0].time_ns, FOREVER, causes)] if causes else found


def _pauses(changes: Iterable[NetworkChange]) -> list[tuple[int, int]]:
    """What ended, in order of ends; a node that never resumes passes nothing on."""
    since, pauses = {}, []
    for change in changes:
        kind = KINDS[change.do] if change.do else None
        if kind and kind.effect == "holds":
            since[change.target] = change.time_ns
        elif kind and kind.repairs and kind.repairs.effect == "holds" and change.target in since:
            pauses.append((since.pop(change.target), change.time_ns))
    return pauses


def _parts(failures: Failures, plan: Plan) -> dict[int, int]:
    """The part that each running node belongs to: the least id in it."""
    stopped = {*failures.stopped()}
    near: dict[str, list[str]] = {node.name: [] for node in plan.nodes if node.name not in stopped}
    for link in plan.links:
        if link.name not in stopped and link.a in near and link.b in near:
            near[link.a].append(link.b)
            near[link.b].append(link.a)
    ids = {node.name: node.node_id for node in plan.nodes}
    part_of: dict[int, int] = {}
    for name in sorted(near, key=ids.__getitem__):
        frontier = [] if ids[name] in part_of else [name]
        while frontier:
            at = frontier.pop()
            part_of[ids[at]] = ids[name]
            frontier += [n for n in near[at] if ids[n] not in part_of]
    return part_of

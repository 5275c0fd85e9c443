"""When the network stood still, and who was connected with whom then.

A network is *calm* from the moment at which it has converged until the next
fault. A message published in a calm, and arriving in it, must reach everyone
who wants it and is connected with its publisher, and can reach nobody else. At
any other time some routers know of a change and some do not, and either
outcome is right.

Plain Python over what `events.jsonl` says; the analysis and the test harnesses
share it. Not here: what subscriptions claim (`windows`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from topologies.fault_kinds import KINDS, Failures

FOREVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class NetworkChange:
    """A `fault` event (with what it does, and to whom) or a `converged` event (without)."""

    time_ns: int
    do: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class Calm:
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
class History:
    """The calms of a run, in order. `settle_ns` bounds how long a message takes to arrive."""

    calms: Sequence[Calm]
    settle_ns: int
    pauses: Sequence[tuple[int, int]] = ()
    """From when until when nodes stood still, in order of their ends; messages may have waited there."""
    _ends: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Keep the ends for searching."""
        self._ends[:] = [calm.until_ns - 1 for calm in self.calms]

    def owes(self, source: int, subscriber: int, published_ns: int) -> bool:
        """Whether a message published then must get from one to the other."""
        calm = self._calm_at(published_ns)
        in_time = calm is not None and published_ns + self.settle_ns <= calm.until_ns
        return in_time and calm is not None and calm.connects(source, subscriber)

    def allows(self, source: int, subscriber: int, published_ns: int) -> bool:
        """Whether a message published then may get from one to the other."""
        calm = self._calm_at(published_ns)
        if calm is None or published_ns + self.settle_ns > calm.until_ns:
            return True
        return calm.connects(source, subscriber)

    def unrest(self) -> list[tuple[int, int]]:
        """From when until when a message that was published may get lost and nobody is to blame."""
        ends = [calm.until_ns - self.settle_ns for calm in self.calms]
        begins = [calm.after_ns for calm in self.calms[1:]]
        if ends and self.calms[-1].until_ns != FOREVER:
            begins.append(FOREVER)
        return list(zip(ends, begins, strict=False))

    def held_until(self, published_ns: int) -> int:
        """Until when a node that stood still may have held back a message published then."""
        until_ns = published_ns
        if self._passes_in_calm(published_ns):
            return until_ns
        for paused_ns, resumed_ns in self.pauses:
            if paused_ns <= until_ns + self.settle_ns and resumed_ns > until_ns:
                until_ns = resumed_ns
        return until_ns

    def known_by(self, changed_ns: int) -> int:
        """By when everybody surely knows what a client changed then.

        After a settling time, in a calm; else not before the network has converged again: who stood
        still, or was cut off, heard of it later.
        """
        settled_ns = changed_ns + self.settle_ns
        if self._passes_in_calm(changed_ns):
            return settled_ns
        calms = (calm.after_ns for calm in self.calms if calm.after_ns >= changed_ns)
        return max(settled_ns, next(calms, FOREVER))

    def _passes_in_calm(self, published_ns: int) -> bool:
        calm = self._calm_at(published_ns)
        return calm is not None and published_ns + self.settle_ns <= calm.until_ns

    def _calm_at(self, time_ns: int) -> Calm | None:
        at = bisect_left(self._ends, time_ns)
        return self.calms[at] if at < len(self.calms) and self.calms[at].after_ns < time_ns else None


Ends = tuple[str, str, str]
"""A link: its name and the nodes at its ends."""


def history_of(
    nodes: Mapping[str, int],
    links: Iterable[Ends],
    changes: Iterable[NetworkChange],
    start_ns: int,
    settle_ns: int,
) -> History:
    """The history of a run.

    Args:
        nodes: Node id by name.
        links: All links.
        changes: In order of time.
        start_ns: The scenario's time zero, when the network had converged for the first time.
        settle_ns: The plan's.
    """
    links, failures, calms = tuple(links), Failures(), []
    after_ns: int | None = start_ns - 1
    changes = [c for c in changes if c.time_ns >= start_ns]
    for change in changes:
        if change.do:
            if after_ns is not None:
                calms.append(Calm(after_ns, change.time_ns, _parts(failures, nodes, links)))
            after_ns = None
            failures.note(change.do, change.target)
        elif after_ns is None:
            after_ns = change.time_ns
    if after_ns is not None:
        calms.append(Calm(after_ns, FOREVER, _parts(failures, nodes, links)))
    return History(calms, settle_ns, _pauses(changes))


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


def _parts(failures: Failures, nodes: Mapping[str, int], links: Sequence[Ends]) -> dict[int, int]:
    """The part that each running node belongs to: the least id in it."""
    stopped = {*failures.stopped()}
    near: dict[str, list[str]] = {name: [] for name in nodes if name not in stopped}
    for name, a, b in links:
        if name not in stopped and a in near and b in near:
            near[a].append(b)
            near[b].append(a)
    part_of: dict[int, int] = {}
    for name in sorted(near, key=nodes.__getitem__):
        frontier = [] if nodes[name] in part_of else [name]
        while frontier:
            at = frontier.pop()
            part_of[nodes[at]] = nodes[name]
            frontier += [n for n in near[at] if nodes[n] not in part_of]
    return part_of

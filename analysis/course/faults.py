"""The faults of a run: when each was to happen, when it did, and until when it lasted.

From the plan, and from the `fault` and `converged` events. Not here: what became of messages meanwhile
(`outcomes`), and how long the network took to converge (`convergence`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from analysis.history import NetworkChange
from analysis.rundir import Run
from testbed.plan.model import Fault, LinkPlan, Plan
from topologies.fault_kinds import KINDS


@dataclass(frozen=True, slots=True)
class Step:
    """A `fault` event, and the fault of the plan that it is."""

    change: NetworkChange
    planned: Fault | None
    """None: it came by hand."""
    planned_ns: int | None


def steps_of(run: Run, changes: Iterable[NetworkChange]) -> list[Step]:
    """The `fault` events in their order. Faults of a plan happen strictly in its order."""
    left, found = list(run.plan.faults), list[Step]()
    converged_ns, moment_ns = run.start_ns, run.start_ns
    for change in changes:
        if not change.do:
            converged_ns = max(change.time_ns, run.start_ns)
        elif left and (change.do, change.target) == (left[0].do, left[0].target):
            fault = left.pop(0)
            since_ns = {"previous": moment_ns, "converged": converged_ns}.get(fault.after, run.start_ns)
            moment_ns = since_ns + fault.at_ns
            found.append(Step(change, fault, moment_ns))
        else:
            found.append(Step(change, None, None))
    return found


@dataclass(frozen=True, slots=True)
class Lasting:
    """Something that failed or was changed, from when until when."""

    step: Step
    until_ns: int | None = None
    """None: it was never repaired."""

    def lasts_until(self, end_ns: int) -> int:
        """Until when, of a run that ended then."""
        return max(end_ns, self.step.change.time_ns) if self.until_ns is None else self.until_ns


def lasting(plan: Plan, steps: Sequence[Step]) -> list[Lasting]:
    """What failed or was changed, in order of time; repairs are no faults of their own, but end others."""
    links = {link.name: link for link in plan.links}
    found: list[Lasting] = []
    open_at: dict[tuple[str, str], int] = {}
    for step in steps:
        change = step.change
        for kind in _ended_by(change.do):
            at = open_at.pop((kind, change.target), None)
            if at is not None:
                found[at] = replace(found[at], until_ns=change.time_ns)
        if KINDS[change.do].repairs is None and not _restores(step, links.get(change.target)):
            open_at[change.do, change.target] = len(found)
            found.append(Lasting(step, None if KINDS[change.do].state else change.time_ns))
    return found


def _ended_by(do: str) -> Iterator[str]:
    """The kinds of faults that end when this happens to the same link or node."""
    kind = KINDS[do]
    if kind.repairs is not None:
        yield kind.repairs.name
    yield from kind.replaces
    if do == "impair":
        yield do


def _restores(step: Step, link: LinkPlan | None) -> bool:
    """Whether a link gets again what the topology says of it."""
    if step.planned is None or step.planned.impairment is None or link is None:
        return False
    back = step.planned.back or step.planned.impairment
    return (step.planned.impairment, back) == (link.impairment, link.impairment_back)

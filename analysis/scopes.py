"""The parts of a run that are told apart: phases, recovery, and the times of unrest.

A phase is one that the scenario names; `recovery` is all that comes after the fixpoint that followed the
last fault; a time of unrest is one in which the network was not settled. A message belongs to the parts in
which it was published. Not here: what became of the messages (`messages`).
"""

from __future__ import annotations

from analysis.findings import NO_SLICES, RECOVERY, Scope, Slices
from analysis.history import FOREVER, Disturbance, History
from analysis.rundir import Run

SLICES = 60
"""Into so many parts of equal length a run is cut, to show its course."""


def parts_of(run: Run, history: History) -> list[Scope]:
    """The parts of a run that has any; faults may also have happened by hand."""
    plan = run.plan
    if not (plan.phases or plan.expect or plan.faults or history.disturbances):
        return []
    return scopes_of(run, history)


def scopes_of(run: Run, history: History) -> list[Scope]:
    """The phases, the recovery, if there is one, and the times of unrest; each in order of time."""
    scopes = [Scope(p.name, run.start_ns + p.start_ns, run.start_ns + p.end_ns) for p in run.plan.phases]
    last = history.settled[-1] if history.settled else None
    if last is not None and last.until_ns == FOREVER:
        scopes.append(Scope(RECOVERY, last.after_ns + 1, FOREVER))
    return [*scopes, *map(_unsettled, history.disturbances)]


def _unsettled(disturbance: Disturbance) -> Scope:
    name = ", ".join(f"{cause.do} {cause.target}" for cause in disturbance.causes)
    until_ns = disturbance.until_ns
    return Scope(name, disturbance.from_ns, until_ns + (until_ns != FOREVER), disturbance)


def slices_of(run: Run) -> Slices:
    """The time of a run, from when the network was ready, in equal parts."""
    lasted_ns = run.end_ns - run.start_ns
    if not run.started or lasted_ns <= 0:
        return NO_SLICES
    return Slices(run.start_ns, -(-lasted_ns // SLICES), SLICES)

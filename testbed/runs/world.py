"""The seam between a run and the world it happens in.

`cbn run` makes a Plan and a RunDirectory, picks a World, asks it for
`problems`, and lets it `run`. A world returns an Outcome in every case that is
not a defect: failure and interruption are outcomes, not exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from testbed.plan.model import Plan
from testbed.plan.recorded import MachineRecord
from testbed.runs.directory import RunDirectory
from testbed.runs.faults import Convergence
from testbed.runs.fidelity import Fidelity
from topologies.quantities import how_many


class Progress(Protocol):
    """Where a world says how far it is; the CLI draws bars from it."""

    def phase(self, name: str, total: int | None = None) -> None:
        """A new phase begins (`build`, `ready`, `workload`, `drain`, `stop`)."""

    def advance(self, done: int) -> None:
        """`done` of the phase's total are done."""

    def say(self, text: str) -> None:
        """A line worth a person's attention."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    outcome: Literal["complete", "failed", "interrupted"]
    message: str = ""
    start_ns: int = 0
    end_ns: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds by phase, as `build_s`, `ready_s`, ..."""
    implementation: Mapping[str, str] = field(default_factory=dict)
    captured_frames: int = 0
    capture_drops: int = 0
    convergence: tuple[Convergence, ...] = ()
    """After the start and after each fault, in order; empty where the world cannot tell."""
    fidelity: Fidelity | None = None
    """How far to trust it; None: it did not get through its workload."""
    dilate: int = 1
    """How many times slower than real time its time went."""
    machines: Mapping[str, MachineRecord] = field(default_factory=dict)
    """By name; empty where all happened on one machine."""
    live: bool = False
    """Whether it was a live network: people worked on it, and ended it before its plan was carried out."""


def not_carried_out(failed: Mapping[str, int]) -> list[str]:
    """What there is to say of clients that could not do so many of their actions, by name.

    As a rule the client was cut off then: its router had crashed, or its link was down.
    """
    return [
        f"{how_many(n, 'action')} of {name} could not be carried out: see logs/{name}.jsonl"
        for name, n in failed.items()
        if n
    ]


class World(Protocol):
    """Where a plan runs."""

    name: str

    def problems(self, plan: Plan) -> list[str]:
        """Why this plan cannot run here and what to do about it; empty if it can."""

    def run(self, plan: Plan, directory: RunDirectory, progress: Progress) -> Outcome:
        """Run the plan, writing captures, events and logs into the directory; leave nothing behind."""

"""What a run's fidelity certificate says, and how to say it to people.

Not here: what is measured (`testbed.runs.measures`), how (`testbed.emu.meter`),
and how the verdict follows from it (`testbed.runs.judgement`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from testbed.runs.measures import LinkMeasure, ProbeMeasure


@dataclass(frozen=True, slots=True)
class LinkFidelity:
    """One direction of a link: asked beside delivered."""

    link: str
    source: str
    backend: str
    asked: Mapping[str, float | int | None]
    """Delay, jitter and rate, and the share to be lost, by the plan."""
    measured: LinkMeasure
    probe: ProbeMeasure | None = None
    crossing_ns: int | None = None
    """What the network between the machines of its two ends adds to the delay; None: they are on one."""
    delay_error_ns: int | None = None
    """How far it was off the delay asked for, by the account that is worse."""
    carried_bps: int | None = None
    """What it carried per second of the run's time, averaged over the workload."""
    reasons: tuple[str, ...] = ()
    """What is wrong with it; empty if nothing."""


@dataclass(frozen=True, slots=True)
class NodeUse:
    """What a node's process took of the machine during the workload, in real time."""

    name: str
    ran_ns: int | None
    """On a processor, all threads; None: the kernel does not tell."""
    waited_ns: int | None
    """For one."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A run that was degraded, and therefore done again slower."""

    dilate: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The certificate of a run."""

    verdict: str
    """`trusted`, `degraded`, or `exact` for the simulator."""
    reasons: tuple[str, ...] = ()
    """Why it is degraded, each with the figures, asked and measured."""
    affected: tuple[str, ...] = ()
    """Which results not to rely on: `latency`, `losses`, `captures`, ..."""
    dilate: int = 1
    """How many times slower than real time the run's time went."""
    figures: Mapping[str, float | int | None] = field(default_factory=dict)
    """Of the machine: scheduling lag, processor use, drops of the capture, ..."""
    links: tuple[LinkFidelity, ...] = ()
    """Worst first."""
    nodes: tuple[NodeUse, ...] = ()
    advised: int | None = None
    """How many times slower the run's time had better go; None: that is not what would help."""
    attempts: tuple[Attempt, ...] = ()
    """The runs before this one, where it was left to the testbed how slow time is to go."""

    def to_json(self) -> dict[str, Any]:
        """As the manifest holds it."""
        return asdict(self)


EXACT = Fidelity("exact")
"""Of the simulator: what is asked for is what happens."""
SHOWN_REASONS = 3


def sentences(fidelity: Fidelity | None) -> list[str]:
    """A certificate in the lines that `cbn run` ends with; if there is none, why not."""
    if fidelity is None:
        return ["fidelity: not measured, the run did not get through its workload"]
    slowed = f", time slowed {fidelity.dilate}-fold" if fidelity.dilate > 1 else ""
    if fidelity.verdict != "degraded":
        return [f"fidelity: {fidelity.verdict}{slowed}"]
    lines = [f"fidelity: degraded{slowed}; do not rely on: {', '.join(fidelity.affected)}"]
    lines += [f"  {reason}" for reason in fidelity.reasons[:SHOWN_REASONS]]
    if (more := len(fidelity.reasons) - SHOWN_REASONS) > 0:
        lines.append(f"  and {more} more reasons, in manifest.json")
    if fidelity.advised is not None:
        lines.append(f"  this machine may keep up with --dilate {fidelity.advised} (docs/fidelity.md)")
    return lines

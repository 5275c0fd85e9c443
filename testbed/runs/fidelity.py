"""What a world delivered, against what was asked of it: the figures of the fidelity certificate.

Here: what is measured. Not here: how a world measures, and what a verdict follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LinkMeasure:
    """What one direction of a link did to packets, by the account of what carries it.

    Times are in nanoseconds of emulated time.
    """

    link: str
    source: str
    """The interface that sends."""
    backend: str
    """`veth`, `netem`, `wire`."""
    frames: int = 0
    """That were handed to it."""
    bytes: int = 0
    delivered: int = 0
    lost: int = 0
    """As asked: by the impairment's loss."""
    lost_queue: int = 0
    """As asked: there was no room in the queue for the link's rate."""
    lost_down: int = 0
    """As asked: while the link was cut."""
    duplicated: int = 0
    reordered: int = 0
    corrupted: int = 0
    overruns: int = 0
    """Not asked for: the machine was too slow to take or give them."""
    late_p50_ns: int | None = None
    """How much later than due a frame was handed over; None: the back end cannot tell."""
    late_p99_ns: int | None = None
    late_max_ns: int | None = None


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
    figures: dict[str, float | int | None] = field(default_factory=dict)
    """Of the machine: scheduling lag, processor use, drops of the capture, ..."""
    links: tuple[LinkMeasure, ...] = ()

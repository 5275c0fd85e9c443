"""What is measured of a run: of its links, nodes and machine.

Here: the figures. Not here: who measures, and what follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from testbed.plan.model import Fault, Plan

PROBE_BYTES = 64
"""How long the frames of probes are: they take that long at a link's rate."""


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
    """As asked: while the link was down."""
    duplicated: int = 0
    reordered: int = 0
    corrupted: int = 0
    overruns: int = 0
    """Not asked for: the machine was too slow to take or give them."""
    late_p50_ns: int | None = None
    """How much later than due a frame was handed over; None: the back end cannot tell."""
    late_p99_ns: int | None = None
    late_max_ns: int | None = None


LINK_COUNTERS = (
    *("frames", "bytes", "delivered", "lost", "lost_queue", "lost_down"),
    *("duplicated", "reordered", "corrupted", "overruns"),
)
"""Those fields of a `LinkMeasure` that count from the start of the link."""


@dataclass(frozen=True, slots=True)
class ProbeMeasure:
    """What became of frames that were sent over one direction of a link before the run's own."""

    link: str
    source: str
    """The interface that sends."""
    sent: int
    received: int
    delay_min_ns: int | None = None
    """Of emulated time; None: none arrived."""
    delay_p50_ns: int | None = None
    delay_max_ns: int | None = None


@dataclass(frozen=True, slots=True)
class InterfaceMeasure:
    """What a node's socket on one interface met with during the workload."""

    name: str
    sent_messages: int = 0
    received_messages: int = 0
    overflows: int = 0
    """Packets lost because the node did not take them in time."""
    refused: int = 0
    """Datagrams that the kernel would not send."""


@dataclass(frozen=True, slots=True)
class NodeMeasure:
    """How a node's process fared during the workload."""

    name: str
    lateness: Mapping[str, int]
    """How late its deadlines were met, in emulated time: counts by class (`nodes.daemon.lateness`)."""
    interfaces: tuple[InterfaceMeasure, ...] = ()
    turns: int | None = None
    """How many times it was given a processor; None: the kernel does not tell."""
    waited_ns: int | None = None
    """How long it waited for those in all, in real time."""
    ran_ns: int | None = None


@dataclass(frozen=True, slots=True)
class MachineMeasure:
    """How the machine fared during the workload, in real time."""

    seconds: float
    lag: Mapping[str, int]
    """How late a sleeper that only slept was woken: counts by class (`nodes.daemon.lateness`)."""
    lag_max_ns: int
    busy: float
    """The share of all processors' time in which they worked, or were taken away by a hypervisor."""
    busy_peak: float
    """The same of the busiest second."""
    stolen: float
    """The share that a hypervisor took away."""
    pressure: float | None = None
    """The share of the time in which somebody waited for a processor; None: the kernel does not tell."""
    throttled_s: float | None = None
    """How long the control group was held back by its quota; None: not known."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured on one machine."""

    machine: MachineMeasure | None
    """None: nobody measured, since the sampler could not or died."""
    nodes: tuple[NodeMeasure, ...]
    links: tuple[LinkMeasure, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that was measured of a run that got through its workload."""

    plan: Plan
    dilate: int = 1
    machines: Mapping[str, MachineMeasure | None] = field(default_factory=dict)
    """By name; a run on one machine has no name for it (""). None: as of `Measured`."""
    nodes: tuple[NodeMeasure, ...] = ()
    links: tuple[LinkMeasure, ...] = ()
    probes: tuple[ProbeMeasure, ...] = ()
    crossing_ns: Mapping[str, int] = field(default_factory=dict)
    """By link: what the network between two machines takes to carry its frames, if its ends are on two."""
    captured_frames: int = 0
    capture_drops: int = 0
    late_starts: tuple[str, ...] = ()
    """Clients that heard of the script's start after it."""
    late_faults: tuple[str, ...] = ()
    """Faults that happened later than planned: which, and by how much."""
    faults: tuple[Fault, ...] = ()
    """What happened to the network, also by hand; what the plan has not got to is left out."""

    @property
    def seconds(self) -> float:
        """How long was measured, in the run's time; 0: nobody knows."""
        known = [machine.seconds for machine in self.machines.values() if machine is not None]
        return max(known, default=0.0) / self.dilate

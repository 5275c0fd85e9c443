"""The immutable Plan: everything a world needs to run an experiment.

A scenario file is loaded, validated and expanded into a Plan by
`testbed.plan`; every world renders from the Plan and from nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from nodes.config import Action, LimitConfig, PolicyConfig, SecurityConfig, TimerConfig
from nodes.wire.packets import Role


@dataclass(frozen=True, slots=True)
class InterfacePlan:
    """One end of a link, with every address that any world needs."""

    index: int
    name: str
    """Unique in the run, at most 15 characters: `<node>-eth<index>`."""
    link: int
    """Position of the link in `Plan.links`."""
    address: str
    prefix_length: int
    mac: str
    peer: str
    """Name of the node at the other end."""
    peer_address: str
    peer_mac: str


@dataclass(frozen=True, slots=True)
class NodePlan:
    """A router or a client. Ids count from 1: routers first, in file order."""

    name: str
    node_id: int
    role: Role
    interfaces: tuple[InterfacePlan, ...]
    script: tuple[Action, ...] = ()
    """What a client does, in order of time; empty for routers."""
    tags: tuple[str, ...] = ()
    """What groups of nodes the scenario counts it to, in order of the alphabet."""
    run: tuple[str, ...] = ()
    """The program that is this client, and its arguments; empty: it is its script."""
    cpu: float | None = None
    """How many cores it may use, where the world can limit that; None: as many as there are."""
    policy: PolicyConfig | None = None
    """What a client may do; None: anything."""


@dataclass(frozen=True, slots=True)
class Impairment:
    """What one direction of a link does to packets. `delay_ns` None: as fast as the world is."""

    delay_ns: int | None = None
    jitter_ns: int = 0
    """How far the delay varies: the most for a uniform jitter, the standard deviation for the others."""
    jitter_shape: str = "uniform"
    """`uniform`, `normal` or `pareto`."""
    jitter_correlation: float = 0.0
    """How much of a frame's jitter is that of the frame before it, from 0 to 1."""
    loss: float = 0.0
    """The share of packets that is lost."""
    rate_bps: int | None = None
    loss_burst: float | None = None
    """How many packets a loss takes on average (Gilbert-Elliott, with `loss`); None: each by itself."""
    duplicate: float = 0.0
    reorder: float = 0.0
    """The share of packets that is not delayed, and so overtakes others."""
    corrupt: float = 0.0
    """The share of packets that arrives with a wrong bit."""
    queue_packets: int | None = None
    """How many packets may wait for the link's rate; None: any number."""
    queue_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """A link between two nodes; an access link has a client at end `b`."""

    name: str
    a: str
    b: str
    a_interface: str
    b_interface: str
    cost: int = 1
    mtu: int = 1500
    impairment: Impairment = Impairment()
    """From `a` to `b`."""
    back: Impairment | None = None
    """From `b` to `a`; None: the same."""
    tags: tuple[str, ...] = ()

    @property
    def impairment_back(self) -> Impairment:
        """From `b` to `a`."""
        return self.impairment if self.back is None else self.back


def link_seed(seed: int, link: str, end: str) -> int:
    """The seed, of 64 bits, of the way of a link that begins at its end `a` or `b`, in every world.

    What the other links do does not change it.
    """
    digest = hashlib.sha256(f"{seed}/link/{link}/{end}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


@dataclass(frozen=True, slots=True)
class Attack:
    """How somebody attacks (docs/decisions/0035)."""

    by: tuple[str, ...]
    """Which of the ways of `topologies.fault_kinds`; each act is one of them, drawn."""
    times: int = 0
    """How many acts there are; 0 for an attack that lasts."""
    every_ns: int = 0
    """From one act to the next."""
    share: float = 1.0
    """Of an attack that lasts: of how many messages, or packets, something becomes."""

    @property
    def lasts_ns(self) -> int:
        """From the first act to the end of the last."""
        return self.times * self.every_ns


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that breaks or is repaired at a time: what all faults of a scenario come down to."""

    at_ns: int
    """From the moment that `after` speaks of."""
    do: str
    """One of `APPLIED` in `topologies.fault_kinds`, which says what each is."""
    target: str
    """The name of the link or node."""
    after: str = "start"
    """`start`, of the scenario; `converged`, the network's next fixpoint once all
    faults before this one in `Plan.faults` have happened; `previous`, the moment of the fault just before
    this one, which waited for a fixpoint itself: what makes one thing (a partition takes many links down), or
    belongs together (down, and up again), waits once."""
    impairment: Impairment | None = None
    """Of `impair`: what the link does to packets from now on, from `a` to `b`."""
    back: Impairment | None = None
    """Of `impair`: the way back; None: the same."""
    attack: Attack | None = None
    """Of an attack: how."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Frames that are not of the network's own, at equal distances, from one end of a link to the other."""

    interface: str
    """The sending end's."""
    at_ns: int
    """From the start of the scenario."""
    lasts_ns: int
    rate_bps: int
    frame_bytes: int

    @property
    def every_ns(self) -> float:
        """The time between two frames."""
        return self.frame_bytes * 8e9 / self.rate_bps

    @property
    def frames(self) -> int:
        """How many there are."""
        return int(self.lasts_ns // self.every_ns)


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the scenario's time that has a name; analysis tells phases apart."""

    name: str
    start_ns: int
    """From the start of the scenario."""
    end_ns: int


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a run is expected to show, as `expect` says it: `missing == 0 after recovery`."""

    text: str
    """As it was written."""
    quantity: str
    """What is looked at: `missing`, `latency.p99`, `convergence.max`, ..."""
    operator: str
    """One of `==`, `!=`, `<`, `<=`, `>`, `>=`."""
    value: float
    """Times are in nanoseconds; shares are from 0 to 1."""
    share: bool = False
    """Whether a count is looked at as a share of what was wanted."""
    scope: str = ""
    """Empty: the whole run; `recovery`: what was sent after the last fixpoint; else the name of a phase."""


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """What a run keeps."""

    captures: bool = True
    snap_bytes: int = 262_144
    format: str = "pcap"
    """`pcap` (with nanoseconds) or `pcapng`."""
    rotate_bytes: int = 0
    """How large a file of captures becomes before the next is begun; 0: one file an interface."""
    clients: bool = False
    """Whether the interfaces of clients are captured as well."""


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """Deadlines of a run. They bound waiting; nothing sleeps for them."""

    ready_timeout_ns: int = 60_000_000_000
    drain_quiet_ns: int = 1_000_000_000
    drain_timeout_ns: int = 30_000_000_000
    hop_delay_ns: int = 100_000
    """What the simulator takes for a link whose delay the scenario leaves open."""
    settle_ns: int = 2_000_000_000
    """How long a change of subscriptions may take to be known everywhere."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An experiment, ready to run in any world."""

    name: str
    description: str
    seed: int
    scheme: str
    scheme_options: Mapping[str, str | int | float | bool]
    nodes: tuple[NodePlan, ...]
    links: tuple[LinkPlan, ...]
    faults: tuple[Fault, ...] = ()
    """In the order in which they happen."""
    traces: tuple[Fault, ...] = ()
    """What traces change about links, in order of time; no disturbance, but how the links are."""
    background: tuple[Flow, ...] = ()
    phases: tuple[Phase, ...] = ()
    """In order of time; they do not overlap."""
    expect: tuple[Expectation, ...] = ()
    record: RecordPlan = RecordPlan()
    timing: TimingPlan = TimingPlan()
    timers: TimerConfig = field(default_factory=TimerConfig)
    limits: LimitConfig = field(default_factory=LimitConfig)
    security: SecurityConfig = field(default_factory=SecurityConfig)
    hop_limit: int = 64
    duration_ns: int = 0
    """How long programs may take; 0 where there are none."""
    scenario_path: str = ""
    scenario_sha256: str = ""
    overrides: Mapping[str, str] = field(default_factory=dict)

    @property
    def changes_of_links(self) -> tuple[Fault, ...]:
        """All that gives links other properties, by faults and by traces."""
        return (*(fault for fault in self.faults if fault.impairment is not None), *self.traces)

    @property
    def routers(self) -> tuple[NodePlan, ...]:
        """The routers, in order of id."""
        return tuple(n for n in self.nodes if n.role is Role.ROUTER)

    @property
    def clients(self) -> tuple[NodePlan, ...]:
        """The clients, in order of id."""
        return tuple(n for n in self.nodes if n.role is Role.CLIENT)

    @property
    def programs(self) -> tuple[NodePlan, ...]:
        """The clients that are programs, in order of id."""
        return tuple(n for n in self.clients if n.run)

    @property
    def scripted(self) -> tuple[NodePlan, ...]:
        """The other clients, in order of id."""
        return tuple(n for n in self.clients if not n.run)

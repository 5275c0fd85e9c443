"""What the analysis found out about a run: plain values between Spark, verdict and report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from analysis.attacked import SIDES, Attacked
from analysis.counts import Counts
from analysis.history import FOREVER, Disturbance
from analysis.network import RouterState
from analysis.oracle import SubscriptionChange
from analysis.pattern_counts import PatternCounts
from analysis.rundir import Run
from nodes.scheme_formulas import Figures
from nodes.wire.packets import FRAMING, PacketType

if TYPE_CHECKING:
    import pyarrow as pa

    from analysis.by_time import ByTime
    from analysis.drift.correction import HostClock
    from analysis.explorer import Explored

RECOVERY = "recovery"
"""The part of a run after the last fixpoint; no phase is called so."""
NO_CONTROL = (int(PacketType.MESSAGE), *sorted(map(int, FRAMING)))
"""Types of packets that are no control traffic."""
FLAWS = ("unsent", "hops", "pathless")
"""Of crossings (`messages.crossings`): what is wrong with where copies came from."""
SHARES = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
"""The quantiles of latencies that a verdict has, by name."""
QUANTILES = tuple(i / 200 for i in range(201))
"""Where the distribution of latencies is read; the CDF's resolution."""


@dataclass(frozen=True, slots=True)
class PublicationCounts:
    """How many messages there were of one client, by captures and by its own report."""

    source: int
    total: int
    not_captured: int = 0
    not_announced: int = 0
    otherwise_announced: int = 0
    """Captured with another content than reported."""
    unadvertised: int = 0
    """Outside of what the client had advertised, in a network where it has to."""
    not_permitted: int = 0
    """Not permitted to the client by the policy."""
    first_otherwise: int | None = None
    """The sequence of the first of these."""


@dataclass(frozen=True, slots=True)
class RefusedByPolicy:
    """What clients asked for that the policy does not permit, in order of time."""

    subscriptions: Sequence[SubscriptionChange] = ()
    advertisements: Sequence[SubscriptionChange] = ()
    patterns: Sequence[SubscriptionChange] = ()
    """With their texts as predicates."""


@dataclass(frozen=True, slots=True)
class SubscriberCounts:
    """What one client was owed and what it got."""

    subscriber: int
    counts: Counts = field(default_factory=Counts)
    unreported: int = 0
    unseen: int = 0


@dataclass(frozen=True, slots=True)
class LatencyCurve:
    """The distribution of latencies at one hop count, or (`hop_count` None) of all."""

    hop_count: int | None
    deliveries: int
    timed: int
    mean_ns: float
    quantiles_ns: tuple[int, ...]
    """At each of `QUANTILES`; empty if no latency is known."""

    def at(self, share: float) -> int:
        """The latency that this share of the deliveries did not exceed."""
        return self.quantiles_ns[min(round(share * (len(QUANTILES) - 1)), len(QUANTILES) - 1)]


@dataclass(frozen=True, slots=True)
class Scope:
    """What was published from one moment until before another."""

    name: str
    from_ns: int
    until_ns: int
    """FOREVER: the end of the run."""
    disturbance: Disturbance | None = None
    """If it is a time in which the network was not settled."""

    def as_verdict(self) -> dict[str, Any]:
        """As in the verdict."""
        until_ns = None if self.until_ns == FOREVER else self.until_ns
        times = {"name": self.name, "from_ns": self.from_ns, "until_ns": until_ns}
        if self.disturbance is None:
            return times
        causes = [asdict(cause) for cause in self.disturbance.causes]
        return {**times, "causes": causes, "converged": until_ns is not None}


@dataclass(frozen=True, slots=True)
class ScopeCounts:
    """What became of the messages that were published in a part of the run."""

    scope: Scope
    publications: int
    counts: Counts
    latency_ns: Mapping[str, int] | None
    """Some quantiles and the mean; None if nothing was delivered."""

    def as_verdict(self) -> dict[str, Any]:
        """As in the verdict."""
        return {
            **self.scope.as_verdict(),
            "publications": self.publications,
            **self.counts.as_verdict(),
            "latency_ns": self.latency_ns,
        }


@dataclass(frozen=True, slots=True)
class Slices:
    """Parts of a run of equal length, one after the other."""

    from_ns: int
    width_ns: int
    count: int

    def scopes(self) -> list[Scope]:
        """One for each part; they have no names."""
        starts = (self.from_ns + number * self.width_ns for number in range(self.count))
        return [Scope("", start, start + self.width_ns) for start in starts]


NO_SLICES = Slices(0, 1, 0)


@dataclass(frozen=True, slots=True)
class CrossingCounts:
    """Messages over a router-router link in one direction."""

    from_id: int
    to_id: int
    messages: int
    wasted: int


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something odd about messages in one direction of a link, by its name: `altered`, or one of `FLAWS`."""

    name: str
    from_id: int
    to_id: int
    count: int
    source: int
    """Of the first of them, and likewise what follows."""
    sequence: int
    hop_count: int


@dataclass(frozen=True, slots=True)
class TreeCounts:
    """The delivery trees of all messages beside their ideal trees (T1)."""

    messages: int
    crossings: int
    wasted: int
    ideal: int
    beyond: int
    """Messages with more crossings than their ideal tree."""
    inexact: int
    """Messages whose ideal tree was approximated."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Latencies over the delays of the fastest paths, of deliveries beyond the first router."""

    deliveries: int
    mean: float
    p50: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class SchemeFindings:
    """What the scheme took."""

    trees: TreeCounts
    stretch: Stretch | None
    """None if the plan does not say how long links take."""
    states: Sequence[RouterState]
    figures: Figures | None
    """What the paper's formulas ask for; None if there were no senders or no receivers."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Packets on one interface, by direction, type and kind."""

    interface: str
    sent: bool
    type: int
    kind: int | None
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A delivery that was not as it should be."""

    source: int
    sequence: int
    subscriber: int
    verdict: str
    copies: int


@dataclass(frozen=True, slots=True)
class KeptPacket:
    """A packet of control traffic that is looked into."""

    interface: str
    time_ns: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Ingested:
    """What ingesting came to."""

    records: int
    packets: int
    skipped: dict[str, int]
    problems: list[str] = field(default_factory=list)
    splits: dict[str, int] = field(default_factory=dict)
    """How many captures were split, and by what (`analysis.decode`)."""
    captures: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By interface: `records`, `packets`, and what was skipped, by reason."""
    unreadable: Collection[str] = ()
    """Interfaces with a file that could not be read."""
    foreign: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By interface: source and destination of a frame of another link."""
    control: Sequence[KeptPacket] = ()
    """What clients subscribed to, and what routers announced of their own links and interest."""


CHECKS = (
    "altered", "clock_offsets", "swapped_captures", "pathless", "unlogged", "undone", "convergence_events",
    "incomplete_captures", "calm",
)  # fmt: skip


SURE_ENOUGH = 0.1
"""Of the times that are judged: by so much they may be wrong, and a run is not doubtful for that."""


@dataclass(frozen=True, slots=True)
class Checks:
    """What the checks of the run directory against itself have found."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """By the names of `CHECKS`; what is not there is 0."""
    problems: Sequence[str] = ()
    clocks: Mapping[str, HostClock] = field(default_factory=dict)
    """Of the nodes whose clocks are off."""
    corrections: Sequence[str] = ()
    """What is said of clocks by which times were corrected (`Findings.well_corrected`)."""
    corrected: bool = True
    """Whether times were corrected by those clocks that say how."""
    busiest: str = ""
    """What kept the network from settling at the end; empty: nothing."""

    @property
    def unsure_ns(self) -> int:
        """By how much corrected times may still be wrong."""
        known = [
            clock for clock in self.clocks.values() if self.corrected and clock.uncertainty_ns is not None
        ]
        return max((clock.residual_ns + (clock.uncertainty_ns or 0) for clock in known), default=0)


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the analysis found out about a run, for the verdict and the report."""

    run: Run
    ingested: Ingested
    subscriptions: int
    publications: Sequence[PublicationCounts]
    """By client."""
    subscribers: Sequence[SubscriberCounts]
    curves: Sequence[LatencyCurve]
    crossings: Sequence[CrossingCounts]
    traffic: Sequence[Traffic]
    failures: Sequence[Failure]
    disagreements: Sequence[Failure]
    digest: str
    scheme: SchemeFindings
    notes: Sequence[str]
    """What was odd about the run directory itself."""
    scopes: Sequence[ScopeCounts] = ()
    """The phases, in order of time, the recovery, and the times in which the network was not settled."""
    checks: Checks = field(default_factory=Checks)
    explored: Explored | None = None
    """Some messages, one by one; None: tables were not made."""
    by_time: ByTime | None = None
    """None: there are too many messages, or tables were not made."""
    over_time: Mapping[str, pa.Table] | None = None
    """The tables of `analysis.catalog.course`, by name; None: tables were not made."""
    course: Sequence[ScopeCounts] = ()
    """What became of the messages that were published in each of many short times, in order."""
    advertised: Sequence[SubscriptionChange] | None = None
    """Changes of advertisements; None: nobody had to advertise."""
    patterns: Sequence[PatternCounts] | None = None
    """What became of matches, by client and pattern; None: nobody sought a pattern."""
    attacked: Attacked | None = None
    """None: nobody attacked."""
    sides: Mapping[str, Counts] = field(default_factory=dict)
    """If somebody attacked: what became of pairs, by side (`analysis.attacked`)."""
    refused: RefusedByPolicy | None = None
    """None: there is no policy."""

    @property
    def published(self) -> int:
        """All messages."""
        return sum(client.total for client in self.publications)

    @property
    def unadvertised(self) -> int:
        """Those outside of what their publishers had advertised, in a network where clients have to."""
        return sum(client.unadvertised for client in self.publications)

    @property
    def not_permitted(self) -> int:
        """Those that the policy did not permit their publishers."""
        return sum(client.not_permitted for client in self.publications)

    @property
    def phases(self) -> list[ScopeCounts]:
        """Those that the scenario names."""
        return [s for s in self.scopes if s.scope.name != RECOVERY and s.scope.disturbance is None]

    @property
    def recovery(self) -> ScopeCounts | None:
        """What came after the last fixpoint."""
        return next((s for s in self.scopes if s.scope.name == RECOVERY), None)

    @property
    def unrest(self) -> list[ScopeCounts]:
        """The times in which the network was not settled, because of faults."""
        return [s for s in self.scopes if s.scope.disturbance is not None]

    @property
    def counts(self) -> Counts:
        """The sums over all subscribers."""
        return reduce(add, (s.counts for s in self.subscribers), Counts())

    @property
    def blamed(self) -> Counts:
        """What the verdict goes by: all, but for the attackers' own."""
        if self.attacked is None:
            return self.counts
        return reduce(add, (self.sides.get(side, Counts()) for side in SIDES[:-1]), Counts())

    @property
    def well_corrected(self) -> bool:
        """Whether corrected clocks are sure enough for all that times decide (decision 26).

        That are latencies, and which subscription held when a message was published.
        """
        quantiles = self.curves[0].quantiles_ns if self.curves else ()
        judged_ns = [self.run.plan.timing.settle_ns, *([self.curves[0].at(0.5)] if quantiles else [])]
        return self.checks.unsure_ns <= SURE_ENOUGH * min(judged_ns)

    @property
    def drops(self) -> int:
        """Frames that the captures themselves lost."""
        return sum(i.drops for i in self.run.captures)

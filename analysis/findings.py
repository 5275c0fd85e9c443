"""What the analysis found out about a run: plain values between Spark, verdict and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from analysis.history import FOREVER
from analysis.network import RouterState
from analysis.rundir import Run
from nodes.scheme_formulas import Figures

RECOVERY = "recovery"
"""The part of a run after the last fixpoint; no phase is called so."""
QUANTILES = tuple(i / 200 for i in range(201))
"""Where the distribution of latencies is read; the CDF's resolution."""


@dataclass(frozen=True, slots=True)
class PublicationCounts:
    """How many messages there were, by captures and by clients."""

    total: int
    not_captured: int
    not_announced: int


@dataclass(frozen=True, slots=True)
class SubscriberCounts:
    """What one client was owed and what it got."""

    subscriber: int
    owed: int
    delivered: int
    allowed: int
    missing: int
    duplicate: int
    spurious: int
    unreported: int
    unseen: int


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
class ScopeCounts:
    """What became of the messages that were published in a part of the run."""

    name: str
    from_ns: int
    until_ns: int
    counts: Mapping[str, int]
    """By each of `COUNTS`."""
    latency_ns: Mapping[str, int] | None
    """Some quantiles and the mean; None if nothing was delivered."""

    COUNTS: ClassVar = (
        "publications",
        "expected",
        "delivered",
        "allowed",
        "missing",
        "duplicate",
        "spurious",
    )

    def as_verdict(self) -> dict[str, Any]:
        """As in the verdict."""
        until_ns = None if self.until_ns == FOREVER else self.until_ns
        times = {"from_ns": self.from_ns, "until_ns": until_ns}
        return {"name": self.name, **times, **self.counts, "latency_ns": self.latency_ns}


@dataclass(frozen=True, slots=True)
class CrossingCounts:
    """Messages over a router-router link in one direction."""

    from_id: int
    to_id: int
    messages: int
    wasted: int


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
class Ingested:
    """What ingesting came to."""

    records: int
    packets: int
    skipped: dict[str, int]
    problems: list[str] = field(default_factory=list)
    splits: dict[str, int] = field(default_factory=dict)
    """How many captures were split, and by what (`analysis.decode`)."""


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the analysis found out about a run, for the verdict and the report."""

    run: Run
    ingested: Ingested
    subscriptions: int
    publications: PublicationCounts
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
    """The phases, in order of time, and the recovery."""

    def total(self, field: str) -> int:
        """The sum of one count over all subscribers."""
        return sum(getattr(s, field) for s in self.subscribers)

    @property
    def drops(self) -> int:
        """Frames that the captures themselves lost."""
        return sum(i.drops for i in self.run.captures)

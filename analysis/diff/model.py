"""What a comparison comes to: findings that count, and figures beside each other. Data alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from analysis.diff.statistics import Shift


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a difference must be to count; docs/comparing.md says why."""

    shift_ns: int
    """Of a median latency. Also of the p10-p90 spread, three times as much."""
    shift_share: float = 0.10
    """Of the median before; the larger of both limits holds."""
    wandering: float = 3.0
    """Times what the median wanders by itself within the runs."""
    delta: float = 0.33
    """Cliff's delta: below is small (Romano et al.)."""
    p_value: float = 0.01
    """After Holm's correction."""
    lost_share: float = 0.001
    """Of what a link loses, in shares of what was sent over it."""
    count: int = 20
    """Of packets of one kind of control traffic, or of packets dropped."""
    count_share: float = 0.25
    time_share: float = 0.5
    """Of convergence times."""
    time_ns: int = 200_000_000


@dataclass(frozen=True, slots=True)
class TimeRow:
    """One series of times in both runs."""

    what: str
    """`all deliveries`, `r1 > r2`, `alice to bob`."""
    before_n: int
    after_n: int
    before_ns: int
    """The median."""
    after_ns: int
    before_spread_ns: int
    """From the 10th to the 90th percentile."""
    after_spread_ns: int
    shift: Shift
    delta: float
    p_value: float
    """Of the rank test, corrected."""
    distance: float
    """Kolmogorov and Smirnov's."""
    distance_p_value: float
    limit_ns: float
    """What the shift had to exceed."""
    moved: bool
    spread: bool
    """It did not move, but its spread changed."""


@dataclass(frozen=True, slots=True)
class LossRow:
    """What a direction of a link lost in both runs."""

    what: str
    before: tuple[int, int]
    """Lost, sent."""
    after: tuple[int, int]
    p_value: float
    """Fisher's, corrected."""
    differs: bool


@dataclass(frozen=True, slots=True)
class CountRow:
    """A count, or another figure, in both runs."""

    what: str
    before: float
    after: float
    differs: bool
    unit: str = ""
    """Empty of counts; `ns`, `/s`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs beside each other."""

    before: str
    """Path of the run directory."""
    after: str
    differences: tuple[str, ...]
    """What counts, in words; empty: no difference."""
    notes: tuple[str, ...]
    """What does not count, or limits what can be said."""
    circumstances: tuple[str, ...]
    """What was different to begin with: plans, versions, machine, in words."""
    fidelity: Mapping[str, Any]
    limits: Limits
    deliveries: Mapping[str, Any]
    times: tuple[TimeRow, ...] = ()
    losses: tuple[LossRow, ...] = ()
    counts: tuple[CountRow, ...] = ()

    @property
    def same(self) -> bool:
        """Whether there is no difference."""
        return not self.differences

    def to_json(self) -> dict[str, Any]:
        """As `cbn diff --json` prints it."""
        return {"format": 1, "same": self.same, **asdict(self)}

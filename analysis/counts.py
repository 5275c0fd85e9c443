"""What became of pairs of a message and a client, counted (docs/analysis.md, "What became of a pair").

The one place that names the counts and derives ratios from them, for tables in Spark, for runs in
memory, and for whatever prints them. Not here: which pair is which (`oracle`, `messages`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

REASONS = ("cut_off", "start", "end", "subscription", "advertisement", "network")
"""Why a pair that is wanted is not owed."""
ARRIVED = ("delivered", "duplicate")
"""The verdicts of pairs that were delivered rightly."""
_BY = ("not_owed", "lost_by")
_PLACES = 6


@dataclass(frozen=True, slots=True)
class Counts:
    """Of pairs, but for `duplicate` and `duplicate_allowed`, which count copies beyond the first."""

    wanted: int = 0
    owed: int = 0
    delivered: int = 0
    allowed: int = 0
    """Of those delivered: not owed."""
    missing: int = 0
    duplicate: int = 0
    duplicate_allowed: int = 0
    """Of those delivered and not owed: routers that do not agree yet go by different trees, and a message may
    come by two of them without anything being wrong."""
    spurious: int = 0
    lost: int = 0
    unknown: int = 0
    not_owed: Mapping[str, int] = field(default_factory=dict)
    """Of those wanted, by reason."""
    lost_by: Mapping[str, int] = field(default_factory=dict)
    """Of those lost, by reason."""

    def __add__(self, other: Counts) -> Counts:
        """The counts of both together."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in NAMES}
        not_owed = Counter(self.not_owed) + Counter(other.not_owed)
        return Counts(**sums, not_owed=not_owed, lost_by=Counter(self.lost_by) + Counter(other.lost_by))

    @property
    def cut_off(self) -> int:
        """Of those lost: no path led to the client."""
        return self.lost_by.get("cut_off", 0)

    @property
    def wrong(self) -> int:
        """Whatever contradicts what was owed and allowed."""
        return self.missing + self.duplicate + self.spurious

    @property
    def arrived(self) -> int:
        """Of those wanted."""
        return self.wanted - self.missing - self.unknown - self.lost

    @property
    def delivery_ratio(self) -> float | None:
        """Arrived over wanted; None if nothing was wanted."""
        return round(self.arrived / self.wanted, _PLACES) if self.wanted else None

    @property
    def judged(self) -> float | None:
        """Owed over wanted; None if nothing was wanted."""
        return round(self.owed / self.wanted, _PLACES) if self.wanted else None

    def as_verdict(self) -> dict[str, Any]:
        """The keys of the verdict."""
        return {
            **{name: getattr(self, name) for name in NAMES},
            "cut_off": self.cut_off,
            "delivery_ratio": self.delivery_ratio,
            "judged": self.judged,
            **{by: {r: getattr(self, by)[r] for r in REASONS if getattr(self, by).get(r)} for by in _BY},
        }


NAMES = tuple(f.name for f in fields(Counts) if f.name not in _BY)
"""Of the plain numbers."""
TALLIED = (*NAMES, *(f"{by} {reason}" for by in _BY for reason in REASONS))
"""Of all numbers: those by reason too."""


def counts_of(tally: Mapping[str, int]) -> Counts:
    """The counts from numbers by the names of `TALLIED`; those that are not there are 0."""
    not_owed, lost_by = (
        {reason: tally[key] for reason in REASONS if tally.get(key := f"{name} {reason}")} for name in _BY
    )
    numbers: dict[str, Any] = {name: tally.get(name, 0) for name in NAMES}
    return Counts(**numbers, not_owed=not_owed, lost_by=lost_by)

"""The time of a run cut into parts: slices of equal length, or intervals between moments of any kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from analysis.columns import Numbers
from analysis.findings import Slices

BEFORE = -1
"""The slice of what was before the network was ready; `Slices.count` is that of what came after the end."""


def slice_of(times_ns: Numbers, slices: Slices) -> Numbers:
    """The slice of each moment. All that a run has is in one, also if its network was never ready."""
    if not slices.count:
        return np.full(len(times_ns), BEFORE, dtype=np.int64)
    found: Numbers = np.clip((times_ns - slices.from_ns) // slices.width_ns, BEFORE, slices.count)
    return found


def slice_start_ns(number: int, slices: Slices) -> int | None:
    """When a slice begins; None of what was before the network was ready."""
    return None if number == BEFORE else slices.from_ns + number * slices.width_ns


def has_length(number: int, slices: Slices) -> bool:
    """Whether it is a slice of the usual length, of which rates can be told."""
    return 0 <= number < slices.count


@dataclass(frozen=True, slots=True)
class Intervals:
    """The times between some moments: number 0 is before the first, number n from the n-th on."""

    edges: Numbers
    """Ascending, each once."""

    @classmethod
    def between(cls, moments: Iterable[int]) -> Intervals:
        """Those that these moments separate."""
        return cls(np.array(sorted({*moments}), dtype=np.int64))

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.edges) + 1

    def of(self, times_ns: Numbers) -> Numbers:
        """The number of the interval in which each moment is."""
        found: Numbers = np.searchsorted(self.edges, times_ns, "right")
        return found

    def within(self, from_ns: int, until_ns: int) -> slice:
        """The numbers of those from one of the moments until before another."""
        first, last = np.searchsorted(self.edges, [from_ns, until_ns]).tolist()
        return slice(first + 1, last + 1)

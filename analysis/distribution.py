"""How latencies are spread, counted in a way that parts can be added: by task, by capture, by year.

A count for each of 128 steps between a power of two and the next, so a value read back is at most 0.8 % off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BITS = 7


@dataclass(slots=True)
class Distribution:
    """Latencies: how many of about which size."""

    counts: Counter[int] = field(default_factory=Counter)
    least_ns: int | None = None
    most_ns: int | None = None

    @classmethod
    def of(cls, values_ns: NDArray[np.int64]) -> Distribution:
        """Of these values; negative ones, which clocks that differ make, count as well."""
        if not len(values_ns):
            return cls()
        steps, counts = np.unique(_steps(values_ns), return_counts=True)
        found = Counter(dict(zip(steps.tolist(), counts.tolist(), strict=True)))
        return cls(found, int(values_ns.min()), int(values_ns.max()))

    @property
    def count(self) -> int:
        """How many."""
        return self.counts.total()

    @property
    def negative(self) -> int:
        """How many are less than nothing."""
        return sum(number for step, number in self.counts.items() if step < 0)

    def add(self, other: Distribution) -> None:
        """Take in those of another part."""
        if not other.counts:
            return
        self.counts.update(other.counts)
        ends = [v for v in (self.least_ns, other.least_ns, self.most_ns, other.most_ns) if v is not None]
        self.least_ns, self.most_ns = min(ends), max(ends)

    def quantile(self, share: float) -> int | None:
        """The least value that this share of all do not exceed."""
        wanted, seen = share * self.count, 0
        for step in sorted(self.counts):
            seen += self.counts[step]
            if seen >= wanted and self.most_ns is not None and self.least_ns is not None:
                return min(max(_value(step), self.least_ns), self.most_ns)
        return None

    def plain(self) -> list[Any]:
        """As plain values, for a task's report."""
        return [list(map(list, self.counts.items())), self.least_ns, self.most_ns]

    @classmethod
    def read(cls, plain: Iterable[Any]) -> Distribution:
        """From plain values."""
        counts, least_ns, most_ns = plain
        return cls(Counter(dict(counts)), least_ns, most_ns)

    def figures(self) -> dict[str, int | None]:
        """What is shown of it."""
        return {
            "messages": self.count,
            "min_ns": self.least_ns,
            "p50_ns": self.quantile(0.5),
            "p99_ns": self.quantile(0.99),
            "max_ns": self.most_ns,
        }


def _steps(values_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The power of two and the 128th of the way to the next, as one number; its sign is the value's."""
    size = np.abs(values_ns)
    fraction, power = np.frexp(size.astype(np.float64))
    step = (power.astype(np.int64) << _BITS) + ((fraction - 0.5) * (2 << _BITS)).astype(np.int64)
    step = np.where(size == 0, 0, step)
    return np.where(values_ns < 0, -step, step)


def _value(step: int) -> int:
    size = abs(step)
    if size == 0:
        return 0
    power, part = size >> _BITS, size & ((1 << _BITS) - 1)
    middle = (0.5 + (part + 0.5) / (2 << _BITS)) * 2.0**power
    return int(middle) if step > 0 else -int(middle)

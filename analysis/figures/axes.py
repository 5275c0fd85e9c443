"""Scales, ticks, and numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

NONE = "\N{EN DASH}"
"""Stands where there is no figure to show."""
LOG_FROM = 30
"""A range that spans this factor is drawn on a logarithmic axis."""
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values laid onto a range of coordinates."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """The coordinate of a value; values beyond the range stay at its ends."""
        low, high, value = (self._scaled(v) for v in (self.low, self.high, value))
        share = (value - low) / (high - low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values within the range, from three to about eight."""
        return _decades(self.low, self.high) if self.logarithmic else _round_steps(self.low, self.high)

    def _scaled(self, value: float) -> float:
        return math.log10(max(value, self.low)) if self.logarithmic else value


def axis_for(values: Sequence[float], start: float, end: float) -> Axis:
    """An axis that fits the values: linear from zero, logarithmic where they span a wide range."""
    low, high = min(values), max(values)
    if low > 0 and high / low >= LOG_FROM:
        return Axis(low / 1.25, high * 1.25, start, end, logarithmic=True)
    low, high = min(low, 0.0), max(high, 0.0)
    room = (high - low) * 0.05 or 1.0
    return Axis(low - room if low < 0 else 0.0, high + room, start, end)


def _round_steps(low: float, high: float, about: int = 6) -> list[float]:
    raw = (high - low) / about
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(m * size for m in (1, 2, 2.5, 5, 10) if m * size >= raw)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [i * step for i in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for multiples in ((1,), (1, 3), (1, 2, 5)):
        ticks = [m * 10.0**e for e in exponents for m in multiples if low <= m * 10.0**e <= high]
        if len(ticks) >= 3:
            break
    return ticks[:: math.ceil(len(ticks) / 9)]


def duration(ns: float) -> str:
    """Nanoseconds in the unit that suits them: `1.25 ms`."""
    for size, unit in _UNITS:
        if abs(ns) >= size:
            return f"{_three_digits(ns / size)} {unit}"
    return "0 ns" if ns == 0 else f"{ns:.2g} ns"


def moment(ns: float) -> str:
    """A time on an axis; its beginning has no unit."""
    return duration(ns) if ns else "0"


def volume(size: int) -> str:
    """Bytes in the unit that suits them: `12.3 kB`."""
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= factor:
            return f"{_three_digits(size / factor)} {unit}"
    return f"{size} B"


def count(value: float) -> str:
    """A count with thousands set apart by thin spaces."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def share(part: int, whole: int) -> str:
    """A share in per cent; a rest is never rounded away to none nor to all."""
    if not whole:
        return NONE
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "<0.1 %"
    if 99.9 < percent < 100:
        return ">99.9 %"
    return f"{percent:.0f} %" if percent in {0, 100} else f"{percent:.1f} %"


def _three_digits(value: float) -> str:
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"

"""Durations, rates, sizes, counts and lists of names, as people write them and as they are shown to people.

Every room that may import this one reads and prints them here. Not here: what
is at the axes of drawings, and the numbers of reports (`analysis.figures.axes`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_BITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_FORM = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]+)")
DURATION_FORM = "a time with its unit, such as 10ms, 1.5s or 2min"
DELAY_MAX_NS = 3600 * 10**9
RATE_MAX_BPS = 10**15
COST_MAX = 1_000_000
DELAY_FORM = "a delay with a unit, at most an hour: 5ms, 100us, 2s"
RATE_FORM = "bits a second with a unit, 1bit to 1000000gbit: 10mbit, 2.5gbit"
LOSS_FORM = "a share from 0 (none) to 1 (all)"
COST_FORM = f"a whole number from 1 to {COST_MAX}"


def duration_ns(text: str) -> int:
    """`1.5ms` as 1,500,000, rounded down to whole nanoseconds. ValueError if it is no duration."""
    return _scaled(text, _NANOSECONDS)


def rate_bps(text: str) -> int:
    """`10mbit` as 10,000,000. ValueError if it is no rate."""
    return _scaled(text, _BITS)


def size_bytes(text: str) -> int:
    """`64MiB` as 67,108,864. ValueError if it is no size."""
    return _scaled(text, _BYTES)


def per_second(text: str) -> Fraction:
    """`100/s` as 100, `5/min` as 1/12: how often something happens in a second."""
    number, _, unit = text.partition("/")
    return Fraction(number) * 10**9 / _NANOSECONDS[unit]


def delay_ns(text: str) -> int:
    """The delay of a link of a map. ValueError if it is none."""
    value = duration_ns(_as_maps_write(text))
    if value > DELAY_MAX_NS:
        raise ValueError(text)
    return value


def link_rate_bps(text: str) -> int:
    """The rate of a link of a map. ValueError if it is none."""
    return rate_in_limits(rate_bps(_as_maps_write(text)))


def rate_in_limits(value: float) -> int:
    """A rate in bits a second; ValueError if no link has it."""
    if not (math.isfinite(value) and 1 <= value <= RATE_MAX_BPS):
        raise ValueError(f"{value}")
    return round(value)


def loss_share(text: str) -> float:
    """A share from 0 to 1. ValueError if it is none."""
    value = float(text)
    if not 0 <= value <= 1:  # false for NaN too
        raise ValueError(text)
    return value


def cost_number(text: str) -> int:
    """A whole number from 1. ValueError if it is none."""
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) or not 1 <= int(text) <= COST_MAX:
        raise ValueError(text)
    return int(text)


def _as_maps_write(text: str) -> str:
    """Files of maps may have a space before the unit, and capitals in it."""
    return re.sub(r"(?<=[0-9]) (?=[A-Za-z])", "", text.strip()).lower()


def _scaled(text: str, units: Mapping[str, int]) -> int:
    found = _FORM.fullmatch(text)
    if found is None or found[2] not in units:
        raise ValueError(text)
    return int(Fraction(found[1]) * units[found[2]])


def delay_text(ns: int) -> str:
    """A delay as `delay_ns` reads it, exact."""
    whole, rest = divmod(ns, 10**6)
    return f"{whole}" + f".{rest:06}".rstrip("0").rstrip(".") + "ms"


def rate_text(bps: int) -> str:
    """A rate as `rate_bps` reads it, exact."""
    for unit, factor in reversed(_BITS.items()):
        if bps % factor == 0:
            return f"{bps // factor}{unit}"
    raise AssertionError(bps)


def duration_text(ns: float) -> str:
    """A duration for people, to three digits or so: `1.25 ms`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}" if abs(ns) < 1000 * size else f"{ns / size:.0f} {unit}"
    return f"{ns:.0f} ns"


def age_text(seconds: float) -> str:
    """For how long something has been there: `12 s`, `5 min`, `3 h`, `2 d`."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def short_count(value: float, step: int = 1000) -> str:
    """`0`, `1.5`, `950`, `12.3k`, `4.5M`; with a `step` of 1024, as sizes are counted."""
    units = ["", "k", "M", "G"]
    while value >= step and len(units) > 1:
        value /= step
        units.pop(0)
    digits = 0 if value >= 100 or float(value).is_integer() else 1
    return f"{value:.{digits}f}{units[0]}"


def counted(number: int, what: str) -> str:
    """`one node`, `12 nodes`."""
    return f"one {what}" if number == 1 else f"{number} {what}s"


def how_many(number: int, what: str) -> str:
    """`1 node`, `1,200 nodes`."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def listed(words: Iterable[str], most: int, between: str = ", ") -> str:
    """The first of the words, and how many more there are: `a, b and 3 more`."""
    found = list(words)
    return between.join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")

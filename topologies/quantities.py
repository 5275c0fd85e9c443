"""Delays, rates and costs as maps write them: read within their limits, and written exactly."""

from __future__ import annotations

import math
import re
from fractions import Fraction

_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_BITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_FORM = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([A-Za-z]+)")
DELAY_MAX_NS = 3600 * 10**9
RATE_MAX_BPS = 10**15
COST_MAX = 1_000_000
DELAY_FORM = "a delay with a unit, at most an hour: 5ms, 100us, 2s"
RATE_FORM = "bits a second with a unit, 1bit to 1000000gbit: 10mbit, 2.5gbit"
LOSS_FORM = "a share from 0 (none) to 1 (all)"
COST_FORM = f"a whole number from 1 to {COST_MAX}"


def delay_ns(text: str) -> int:
    """`1.5ms` as 1,500,000; rounded down to whole nanoseconds. ValueError if it is no delay."""
    value = _scaled(text, _NANOSECONDS)
    if value > DELAY_MAX_NS:
        raise ValueError(text)
    return value


def rate_bps(text: str) -> int:
    """`10mbit` as 10,000,000. ValueError if it is no rate."""
    return rate_in_limits(_scaled(text, _BITS))


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


def _scaled(text: str, units: dict[str, int]) -> int:
    found = _FORM.fullmatch(text.strip())
    if found is None or found[2].lower() not in units:
        raise ValueError(text)
    return int(Fraction(found[1]) * units[found[2].lower()])


def delay_text(ns: int) -> str:
    """A delay as `delay_ns` reads it, to the nanosecond."""
    whole, rest = divmod(ns, 10**6)
    return f"{whole}" + f".{rest:06}".rstrip("0").rstrip(".") + "ms"


def rate_text(bps: int) -> str:
    """A rate as `rate_bps` reads it, to the bit."""
    for unit, factor in reversed(_BITS.items()):
        if bps % factor == 0:
            return f"{bps // factor}{unit}"
    raise AssertionError(bps)

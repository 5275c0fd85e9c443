"""Durations, rates and sizes as people write them, as integers of nanoseconds, bits a second and bytes."""

from __future__ import annotations

from fractions import Fraction

_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_BITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def duration_ns(text: str) -> int:
    """`1.5ms` as 1,500,000; the schema has seen to the form. Exact, and rounded down to whole nanoseconds."""
    return _scaled(text, _NANOSECONDS)


def rate_bps(text: str) -> int:
    """`10mbit` as 10,000,000."""
    return _scaled(text, _BITS)


def size_bytes(text: str) -> int:
    """`64MiB` as 67,108,864."""
    return int(text[:-3]) * _BYTES[text[-3:]]


def per_second(text: str) -> Fraction:
    """`100/s` as 100, `5/min` as 1/12: how often something happens in a second."""
    number, _, unit = text.partition("/")
    return Fraction(number) * 10**9 / _NANOSECONDS[unit]


def _scaled(text: str, units: dict[str, int]) -> int:
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(Fraction(number) * units[text[len(number) :]])

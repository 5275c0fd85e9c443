"""Ours beside what a paper printed: what a check says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What came out, and whether the paper's statement holds here."""

    ours: str
    holds: bool | None
    """None where the two cannot be compared: absolute times, on machines 20 years apart."""

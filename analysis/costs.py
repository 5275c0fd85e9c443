"""What a run took, and where in a verdict that stands."""

from __future__ import annotations

from collections.abc import Mapping

COSTS = {
    "control_bytes": ("control", "bytes"),
    "control_packets": ("control", "packets"),
    "message_bytes": ("messages", "bytes"),
    "message_packets": ("messages", "packets"),
    "crossings": ("scheme", "trees", "crossings"),
    "wasted": ("scheme", "trees", "wasted"),
    "ideal_ratio": ("scheme", "trees", "ratio"),
    "state_bytes": ("scheme", "state", "bytes"),
}
"""Keys, one within the other. The last four are in the verdict of an analysis alone."""


def within(document: object, *keys: str) -> float | None:
    """A number in a document; None if it is not there."""
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document if isinstance(document, int | float) else None


def cost_of(verdict: object, name: str) -> float | None:
    """One of `COSTS`; None if the verdict does not have it."""
    return within(verdict, *COSTS[name])

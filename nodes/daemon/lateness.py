"""How late a process was for what it meant to do on time: counts by size, cheap to keep and to subtract.

Here: the counting. Not here: what lateness is too much (`testbed.runs.fidelity`).
"""

from __future__ import annotations

from collections.abc import Mapping

STEPS = 4
"""Classes within each doubling: a quantile read from the counts is at most 25 % too large."""
SMALLEST_NS = 1024
_SHIFT = SMALLEST_NS.bit_length() - 1
_STEP_BITS = STEPS.bit_length() - 1


def class_of(late_ns: int) -> int:
    """The class a lateness is counted in: 0 below `SMALLEST_NS`, then `STEPS` to each doubling."""
    if late_ns < SMALLEST_NS:
        return 0
    doubling = late_ns.bit_length() - 1
    step = (late_ns >> (doubling - _STEP_BITS)) & (STEPS - 1)
    return 1 + (doubling - _SHIFT) * STEPS + step


def upper_ns(number: int) -> int:
    """The least lateness that is beyond a class."""
    doubling, step = divmod(number - 1, STEPS)
    return SMALLEST_NS if number == 0 else (SMALLEST_NS << doubling) * (STEPS + step + 1) // STEPS


class Lateness:
    """Counts of how late, by class."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, late_ns: int) -> None:
        """One thing was done so much later than it was due."""
        number = class_of(late_ns)
        self._counts[number] = self._counts.get(number, 0) + 1

    def status(self) -> dict[str, int]:
        """JSON-ready: how many fell into each class, by the class's number."""
        return {str(number): count for number, count in sorted(self._counts.items())}


def since(later: Mapping[str, int], earlier: Mapping[str, int]) -> dict[str, int]:
    """What was counted between two statuses; all of the later if the process began anew between them."""
    if any(count > later.get(number, 0) for number, count in earlier.items()):
        return dict(later)
    return {number: count - earlier.get(number, 0) for number, count in later.items()}


def quantile_ns(counts: Mapping[str, int], share: float) -> int | None:
    """The lateness that this share of all did not reach; None if nothing was counted."""
    total = sum(counts.values())
    seen = 0
    for number, count in sorted((int(number), count) for number, count in counts.items()):
        seen += count
        if count and seen >= share * total:
            return upper_ns(number)
    return None

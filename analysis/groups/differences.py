"""What sets a group apart from the one that all are compared with: how large it is, and how sure.

Runs of the same seed have the same clients, subscriptions and messages, so their values are compared pair
by pair where both groups have runs of the same seeds (paired t); otherwise mean with mean (Welch). What is
more than nothing in all runs is compared by its logarithm, so by what factor it is greater.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.groups.model import QUANTITIES, Group, Quantity
from analysis.spread import CONFIDENCE, mean, student_t, variance


@dataclass(frozen=True, slots=True)
class Difference:
    """A group and the one that it is compared with, in one quantity."""

    quantity: Quantity
    group: Group
    reference: Group
    before: float
    """The mean of the reference."""
    after: float
    is_factor: bool
    """Whether `estimate`, `low` and `high` are factors; otherwise they are differences."""
    estimate: float
    low: float | None
    """Of the 95 % interval; None: too few runs to have one."""
    high: float | None
    certain: bool | None
    """Whether there is a difference, at 95 % for all comparisons together; None: too few runs."""
    pairs: int
    """Runs of equal seed in both; 0: they were not paired."""


def differences(groups: Sequence[Group], against: Mapping[str, object]) -> list[Difference]:
    """All of them, by group, in the order of the quantities.

    Args:
        groups: All of them. Each is compared with the one that differs from it in `against` alone.
        against: The values of those that others are compared with.
    """
    by_values = {_key(group.values): group for group in groups}
    pairs = [(g, by_values.get(_key({**g.values, **against}))) for g in groups]
    known = [
        (quantity, group, reference)
        for group, reference in pairs
        if reference is not None and reference is not group
        for quantity in QUANTITIES
        if group.by_seed(quantity) and reference.by_seed(quantity)
    ]
    return [_difference(quantity, group, reference, len(known)) for quantity, group, reference in known]


def _key(values: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in values.items())


def _difference(quantity: Quantity, group: Group, reference: Group, comparisons: int) -> Difference:
    before, after = reference.by_seed(quantity), group.by_seed(quantity)
    is_factor = quantity.unit != "share" and min(*before.values(), *after.values()) > 0
    there, here = (_scaled(found, is_factor) for found in (before, after))
    paired = before.keys() == after.keys() and None not in before
    found = (
        _paired([here[seed] - there[seed] for seed in there])
        if paired
        else _apart(list(there.values()), list(here.values()))
    )
    low, high = found.interval(CONFIDENCE) or (None, None)
    at_once = found.interval(1 - (1 - CONFIDENCE) / comparisons)
    back = math.exp if is_factor else float
    return Difference(
        quantity,
        group,
        reference,
        mean(before.values()),
        mean(after.values()),
        is_factor,
        back(found.mean),
        None if low is None else back(low),
        None if high is None else back(high),
        None if at_once is None else not at_once[0] <= 0 <= at_once[1],
        len(before) if paired else 0,
    )


def _scaled(values: dict[object, float], is_factor: bool) -> dict[object, float]:
    return {seed: math.log(value) for seed, value in values.items()} if is_factor else values


@dataclass(frozen=True, slots=True)
class _Shift:
    """A mean difference, its standard error, and the degrees of freedom of that."""

    mean: float
    error: float
    freedom: int

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Around the mean; None: too few runs."""
        if not self.freedom:
            return None
        half = student_t(self.freedom, confidence) * self.error
        return self.mean - half, self.mean + half


def _paired(shifts: Sequence[float]) -> _Shift:
    error = math.sqrt(variance(shifts) / len(shifts)) if len(shifts) > 1 else 0.0
    return _Shift(mean(shifts), error, len(shifts) - 1)


def _apart(before: Sequence[float], after: Sequence[float]) -> _Shift:
    """Of runs that are not paired; degrees of freedom by Welch and Satterthwaite, rounded down."""
    shift = mean(after) - mean(before)
    if len(before) < 2 or len(after) < 2:
        return _Shift(shift, 0.0, 0)
    parts = [(variance(values) / len(values), len(values) - 1) for values in (before, after)]
    total = math.fsum(part for part, _ in parts)
    if not total:
        return _Shift(shift, 0.0, min(n for _, n in parts))
    freedom = total**2 / math.fsum(part**2 / n for part, n in parts)
    return _Shift(shift, math.sqrt(total), max(1, math.floor(freedom)))

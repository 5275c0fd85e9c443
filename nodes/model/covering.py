"""How filters relate to each other: implication, covering, overlap, reduction.

The tests are sound and take O(nm) steps in the constraints (M7): if `covers` is true and
if `overlaps` is false (E14), that is right. On integers, floats, times and booleans both
are exact; several string patterns on one attribute may imply more than is found. Not
here: matching (`filters`).
"""

from __future__ import annotations

from collections.abc import Sequence

from nodes.model.constraints import Constraint, Op
from nodes.model.filters import Filter, Predicate
from nodes.model.ranges import range_of, span_of
from nodes.model.values import Type


def implies(first: Constraint, second: Constraint) -> bool:
    """Whether every value that satisfies the first satisfies the second."""
    return _same_attribute(first, second) and _imply([first], second)


def contradictory(filter_: Filter) -> bool:
    """Whether no message can match; if false, it may still be so."""
    groups = _by_attribute(filter_)
    names = {name for name, _ in groups}
    return len(names) < len(groups) or any(_impossible(group) for group in groups.values())


def covers(first: Filter, second: Filter) -> bool:
    """Whether every message that matches the second matches the first (M7)."""
    groups = _by_attribute(second)
    return all(_imply(groups.get((c.name, c.type), []), c) for c in first.constraints) or contradictory(
        second
    )


def covers_predicate(first: Predicate, second: Predicate) -> bool:
    """Whether each filter of the second is covered by one of the first."""
    return all(any(covers(f, g) for f in first.filters) or contradictory(g) for g in second.filters)


def overlaps(first: Filter, second: Filter) -> bool:
    """Whether some message may match both; false only if none can (E14)."""
    return not contradictory(Filter(first.constraints + second.constraints))


def advertisement_covers(first: Filter, second: Filter) -> bool:
    """Covering of advertisements, the dual (M5, M7): the first admits what the second admits."""
    return all(any(implies(c, d) for d in first.constraints) or _impossible([c]) for c in second.constraints)


def advertisement_overlaps(advertisement: Filter, subscription: Filter) -> bool:
    """Whether some advertised message may match the subscription; false only if none can (E14)."""
    groups = _by_attribute(subscription)
    return not contradictory(subscription) and all(
        any((c.name, c.type) == key and not _impossible([*group, c]) for c in advertisement.constraints)
        for key, group in groups.items()
    )


def reduce(predicate: Predicate) -> Predicate:
    """The same predicate without what is redundant, pair by pair (D2).

    Drops constraints that another of their filter implies, filters that
    another covers, and filters that can match nothing. Of two equivalent
    ones, the first in canonical order stays.
    """
    kept: list[Filter] = []
    for filter_ in Predicate(_reduced(f) for f in predicate.filters).filters:
        if contradictory(filter_) or any(covers(k, filter_) for k in kept):
            continue
        kept = [k for k in kept if not covers(filter_, k)]
        kept.append(filter_)
    return Predicate(kept)


def _reduced(filter_: Filter) -> Filter:
    kept: list[Constraint] = []
    for constraint in filter_.constraints:
        if any(implies(k, constraint) for k in kept):
            continue
        kept = [k for k in kept if not implies(constraint, k)]
        kept.append(constraint)
    return Filter(kept)


def _same_attribute(first: Constraint, second: Constraint) -> bool:
    return first.name == second.name and first.type is second.type


def _by_attribute(filter_: Filter) -> dict[tuple[str, Type], list[Constraint]]:
    groups: dict[tuple[str, Type], list[Constraint]] = {}
    for constraint in filter_.constraints:
        groups.setdefault((constraint.name, constraint.type), []).append(constraint)
    return groups


def _impossible(group: Sequence[Constraint]) -> bool:
    """Whether no value satisfies all; for strings, only simple cases are found."""
    found = range_of(group)
    if found.empty:
        return True
    # For the other types, every value that is left in the range satisfies all.
    if not found.single or not isinstance(found.low, bytes):
        return False
    return not all(c.matches(found.low.decode()) for c in group)


def _imply(group: Sequence[Constraint], wanted: Constraint) -> bool:
    """Whether a value that satisfies all of the group, on the same attribute, satisfies `wanted`."""
    if not group:
        return False
    if wanted.op is Op.ANY or _impossible(group):
        return True
    if wanted.op is Op.NE:
        return wanted.value is not None and not all(c.matches(wanted.value) for c in group)
    if wanted.op in (Op.SUFFIX, Op.SUBSTRING):
        return _imply_pattern(group, wanted)
    return range_of(group).within(span_of(wanted))


def _imply_pattern(group: Sequence[Constraint], wanted: Constraint) -> bool:
    found = range_of(group)
    if wanted.value == "" or (found.single and wanted.matches(found.low.decode())):
        return True
    # A value contains the patterns that it matches, and ends with its suffix.
    parts = (Op.SUFFIX,) if wanted.op is Op.SUFFIX else (Op.PREFIX, Op.SUFFIX, Op.SUBSTRING)
    return any(c.op in parts and c.value is not None and wanted.matches(c.value) for c in group)

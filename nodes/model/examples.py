"""Messages that show how filters relate: one that both match, or one that tells them apart.

What is returned was held to the definition of matching, so it is right. If nothing is returned, there may
still be one: values are tried that stand in the constraints, and their neighbours.
Not here: the tests that routers use (`covering`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product

from nodes.model.constraints import Constraint, Op
from nodes.model.filters import (
    Filter,
    Predicate,
    advertised,
    advertisement_matches,
    matches,
    matches_filter,
)
from nodes.model.values import Time, Type, UsageError, Value, check_value

TRIES_MAX = 10_000
"""How many messages are tried before giving up."""

Message = dict[str, Value]


def matched_by_both(first: Filter, second: Filter) -> Message | None:
    """A message that two subscriptions' filters match."""
    both = Filter(first.constraints + second.constraints)
    message: Message = {}
    for name, group in _by_name(both).items():
        value = next(_values(group), None)
        if value is None:
            return None
        message[name] = value
    return message if matches_filter(both, message) else None


def advertised_and_wanted(advertisement: Filter, subscription: Filter) -> Message | None:
    """A message within an advertisement that a subscription's filter matches."""
    declared = _by_name(advertisement)
    message: Message = {}
    for name, group in _by_name(subscription).items():
        ways = (next(_values([*group, each]), None) for each in declared.get(name, []))
        value = next((way for way in ways if way is not None), None)
        if value is None:
            return None
        message[name] = value
    admitted = advertisement_matches(advertisement, message) and matches_filter(subscription, message)
    return message if admitted else None


def matched_by_second_alone(first: Predicate, second: Filter) -> Message | None:
    """A message that the second matches and the first does not: proof that the first does not cover it."""
    near = _by_name(Filter(c for f in first.filters for c in f.constraints))
    groups = _by_name(second)
    choices = [list(_values(group, near.get(name, []))) for name, group in groups.items()]
    for values in islice(product(*choices), TRIES_MAX):
        message = dict(zip(groups, values, strict=True))
        if matches_filter(second, message) and not matches(first, message):
            return message
    return None


def advertised_by_second_alone(first: Predicate, second: Filter) -> Message | None:
    """A message within the second advertisement that is within none of the first."""
    near = _by_name(Filter(c for f in first.filters for c in f.constraints))
    groups = _by_name(second)
    choices = [
        [None, *(value for c in group for value in _values([c], near.get(name, [])))]
        for name, group in groups.items()
    ]
    for values in islice(product(*choices), TRIES_MAX):
        message = {name: value for name, value in zip(groups, values, strict=True) if value is not None}
        if advertisement_matches(second, message) and not advertised(first, message):
            return message
    return None


def _by_name(filter_: Filter) -> dict[str, list[Constraint]]:
    groups: dict[str, list[Constraint]] = {}
    for constraint in filter_.constraints:
        groups.setdefault(constraint.name, []).append(constraint)
    return groups


def _values(group: Sequence[Constraint], near: Iterable[Constraint] = ()) -> Iterator[Value]:
    """Values that satisfy all of a group on one attribute, of those that stand in it or `near` it."""
    tried: set[Value] = set()
    for value in _seeds(group[0].type, [*group, *near]):
        if value not in tried and _sound(value) and all(c.matches(value) for c in group):
            yield value
        tried.add(value)


def _sound(value: Value) -> bool:
    try:
        check_value(value)
    except UsageError:
        return False
    return True


def _seeds(kind: Type, constraints: Sequence[Constraint]) -> Iterator[Value]:
    given = [c for c in constraints if c.type is kind and c.value is not None]
    if kind is Type.STRING:
        yield from _strings(given)
    elif kind is Type.BOOLEAN:
        yield from (False, True)
    else:
        for constraint in given:
            yield from _around(constraint.value)
        yield {Type.INTEGER: 0, Type.FLOAT: 0.0}.get(kind, Time(0))


def _around(value: Value | None) -> Iterator[Value]:
    """A number or time and both of its neighbours."""
    if isinstance(value, Time):
        yield from (value, Time(value.ns - 1), Time(value.ns + 1))
    elif isinstance(value, float):
        yield from (value, math.nextafter(value, -math.inf) + 0.0, math.nextafter(value, math.inf) + 0.0)
    elif isinstance(value, int):
        yield from (value, value - 1, value + 1)


def _strings(given: Sequence[Constraint]) -> Iterator[str]:
    texts = {op: [str(c.value) for c in given if c.op is op] for op in Op}
    for text in [str(c.value) for c in given]:
        yield from (text, f"{text}x", f"x{text}", text[:-1])
    prefix = max(texts[Op.PREFIX], key=len, default="")
    suffix = max(texts[Op.SUFFIX], key=len, default="")
    middle = "".join(texts[Op.SUBSTRING])
    yield from (prefix + middle + suffix, f"{prefix}x{middle}x{suffix}", "", "x")

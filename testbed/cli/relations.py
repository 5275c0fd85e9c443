"""How predicates and advertisements relate to messages and to each other, in words for a person.

Here: the answers of `cbn match`, `cbn cover` and `cbn overlap`, and their reasons. Not here: arguments
(`commands`), the tests themselves (`nodes.model.covering`, which routers are compared with) and examples
(`nodes.model.examples`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from nodes import model
from nodes.model import examples
from nodes.model.constraints import Constraint
from nodes.model.filters import Filter, Predicate
from nodes.model.values import Value

Message = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Part:
    """What is said of one part of what was asked about: a filter, or a constraint of an advertisement."""

    text: str
    holds: bool
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether it holds, and why."""

    holds: bool
    parts: list[Part]
    example: Message | None
    """A message that shows it: for an overlap one in both, for covering one that is in the second alone."""


def objections(filter_: Filter, message: Message) -> list[str]:
    """Why a message does not match a subscription's filter; empty if it does (M4)."""
    reasons = (_objection(constraint, message) for constraint in filter_.constraints)
    return [reason for reason in reasons if reason]


def advertisement_objections(advertisement: Filter, message: Message) -> list[str]:
    """Why a message is not within an advertisement; empty if it is (M5)."""
    found = []
    for name, value in sorted(message.items()):
        declared = [c for c in advertisement.constraints if c.name == name]
        if not any(c.matches(value) for c in declared):
            attribute = model.format_message({name: value})
            found.append(f"{attribute}: {_instead(declared)}")
    return found


def covering(first: Predicate, second: Predicate) -> Answer:
    """Whether all that matches the second matches the first."""
    parts = [_covered(first, filter_) for filter_ in second.filters]
    shown = (examples.matched_by_second_alone(first, filter_) for filter_ in second.filters)
    return _answer(all(part.holds for part in parts), parts, shown, wanted_if=False)


def advertisement_covering(first: Predicate, second: Predicate) -> Answer:
    """Whether all that is within the second advertisements is within the first."""
    parts = [_admitted(first, filter_) for filter_ in second.filters]
    shown = (examples.advertised_by_second_alone(first, filter_) for filter_ in second.filters)
    return _answer(all(part.holds for part in parts), parts, shown, wanted_if=False)


def overlapping(first: Predicate, second: Predicate) -> Answer:
    """Whether a message may match both."""
    pairs = [(f, g) for f in first.filters for g in second.filters]
    parts = [Part(_pair(f, g), model.overlaps(f, g), _clashes(f, g)) for f, g in pairs]
    shown = (examples.matched_by_both(f, g) for f, g in pairs)
    return _answer(any(part.holds for part in parts), parts, shown, wanted_if=True)


def advertisement_overlapping(advertisements: Predicate, wanted: Predicate) -> Answer:
    """Whether a message within advertisements may match a subscription (E14)."""
    pairs = [(a, f) for a in advertisements.filters for f in wanted.filters]
    parts = [Part(_pair(a, f), model.advertisement_overlaps(a, f), _undeclared(a, f)) for a, f in pairs]
    shown = (examples.advertised_and_wanted(a, f) for a, f in pairs)
    return _answer(any(part.holds for part in parts), parts, shown, wanted_if=True)


def _answer(holds: bool, parts: list[Part], shown: Iterator[Message | None], *, wanted_if: bool) -> Answer:
    example = (
        next((message for message in shown if message is not None), None) if holds is wanted_if else None
    )
    return Answer(holds, parts, example)


def _objection(constraint: Constraint, message: Message) -> str:
    """Why a constraint does not hold; empty if it does."""
    text = _written(constraint)
    if constraint.name not in message:
        return f"{text}: the message has no attribute {constraint.name}"
    value = message[constraint.name]
    if constraint.matches(value):
        return ""
    found, wanted = model.type_of(value), constraint.type
    if found is not wanted:
        return f"{text}: the message's is of type {found.text}, not {wanted.text} (types are not converted)"
    return f"{text}: the message has {model.format_value(value)}"


def _covered(first: Predicate, filter_: Filter) -> Part:
    text = model.format_filter(filter_)
    if model.contradictory(filter_):
        return Part(text, holds=True, reasons=["no message can match it"])
    for each in first.filters:
        if model.covers(each, filter_):
            return Part(text, holds=True, reasons=[f"{model.format_filter(each)} covers it"])
    return Part(text, holds=False, reasons=[_lacking(each, filter_) for each in first.filters])


def _lacking(first: Filter, second: Filter) -> str:
    """Which constraints of the first nothing in the second implies."""
    asked = [c for c in first.constraints if not model.covers(Filter([c]), second)]
    return f"{model.format_filter(first)} also asks for {model.format_filter(Filter(asked))}"


def _admitted(first: Predicate, filter_: Filter) -> Part:
    text = model.format_filter(filter_)
    for each in first.filters:
        if model.advertisement_covers(each, filter_):
            return Part(text, holds=True, reasons=[f"{model.format_filter(each)} covers it"])
    return Part(text, holds=False, reasons=[_not_declared(each, filter_) for each in first.filters])


def _not_declared(first: Filter, second: Filter) -> str:
    """Which constraints of the second nothing in the first admits."""
    alone = [c for c in second.constraints if not model.advertisement_covers(first, Filter([c]))]
    return f"{model.format_filter(first)} does not admit {' or '.join(map(_written, alone))}"


def _instead(declared: list[Constraint]) -> str:
    if not declared:
        return "the advertisement does not declare this attribute"
    return "the advertisement declares " + " or ".join(map(_written, declared))


def _written(constraint: Constraint) -> str:
    return model.format_filter(Filter([constraint]))


def _pair(first: Filter, second: Filter) -> str:
    return f"{model.format_filter(first)} | {model.format_filter(second)}"


def _clashes(first: Filter, second: Filter) -> list[str]:
    """On which attributes nothing can satisfy both; empty if none is found."""
    if model.overlaps(first, second):
        return []
    names = sorted({c.name for c in first.constraints + second.constraints})
    on = {name: [[c for c in f.constraints if c.name == name] for f in (first, second)] for name in names}
    return [
        f"no {name} satisfies {model.format_filter(Filter(one + other))}"
        for name, (one, other) in on.items()
        if not model.overlaps(Filter(one), Filter(other))
    ]


def _undeclared(advertisement: Filter, wanted: Filter) -> list[str]:
    """On which attributes an advertisement has nothing that is wanted."""
    if model.advertisement_overlaps(advertisement, wanted):
        return []
    if model.contradictory(wanted):
        return ["no message can match it"]
    return [
        f"{model.format_filter(group)}: "
        + _instead([c for c in advertisement.constraints if c.name == group.constraints[0].name])
        for group in _groups(wanted)
        if not model.advertisement_overlaps(advertisement, group)
    ]


def _groups(filter_: Filter) -> list[Filter]:
    names = sorted({c.name for c in filter_.constraints})
    return [Filter(c for c in filter_.constraints if c.name == name) for name in names]

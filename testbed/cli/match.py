"""`cbn match`: whether a predicate matches a message, and why not."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from typing import TypeVar

from nodes.model import (
    Constraint,
    Filter,
    Predicate,
    PredicateSyntaxError,
    UsageError,
    Value,
    format_filter,
    format_message,
    format_predicate,
    format_value,
    parse_message,
    parse_predicate,
    type_of,
)
from testbed.cli import exits

Message = Mapping[str, Value]
Verdict = tuple[Filter, list[str]]
"""A filter and why it does not match; it does if there is no reason."""

T = TypeVar("T")


def match(args: argparse.Namespace) -> int:
    """Explain a predicate and a message to a person."""
    predicate = _parsed(parse_predicate, args.predicate, "PREDICATE")
    message = _parsed(parse_message, args.message, "MESSAGE")
    verdicts = [(f, _objections(f, message)) for f in predicate.filters]
    matched = any(not objections for _, objections in verdicts)
    if args.json:
        print(json.dumps(_to_plain(predicate, message, verdicts, matched), indent=1, ensure_ascii=False))
    else:
        _print(verdicts, matched)
    return exits.OK if matched else exits.NOT_CLEAN


def _parsed(parse: Callable[[str], T], text: str, what: str) -> T:
    try:
        return parse(text)
    except (PredicateSyntaxError, UsageError) as error:
        raise exits.CommandError(f"{what}: {error}") from error


def _objections(filter_: Filter, message: Message) -> list[str]:
    reasons = (_objection(constraint, message) for constraint in filter_.constraints)
    return [reason for reason in reasons if reason]


def _objection(constraint: Constraint, message: Message) -> str:
    """Why a constraint does not hold; empty if it does."""
    text = format_filter(Filter([constraint]))
    if constraint.name not in message:
        return f"{text}: the message has no attribute {constraint.name}"
    value = message[constraint.name]
    if constraint.matches(value):
        return ""
    found, wanted = type_of(value), constraint.type
    if found is not wanted:
        return f"{text}: the message's is of type {found.text}, not {wanted.text} (types are not converted)"
    return f"{text}: the message has {format_value(value)}"


def _to_plain(
    predicate: Predicate, message: Message, verdicts: list[Verdict], matched: bool
) -> dict[str, object]:
    filters = [{"filter": format_filter(f), "objections": objections} for f, objections in verdicts]
    return {
        "predicate": format_predicate(predicate),
        "message": format_message(message),
        "matches": matched,
        "filters": filters,
    }


def _print(verdicts: list[Verdict], matched: bool) -> None:
    for filter_, objections in verdicts:
        print(f"{'no ' if objections else 'yes'} {format_filter(filter_)}")
        for objection in objections:
            print(f"      {objection}")
    print("matches" if matched else "does not match")

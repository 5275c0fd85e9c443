"""`cbn match`: whether a predicate matches a message, and why not."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from testbed.cli import exits
from testbed.cli.command import SCENARIOS, Command, add_json
from testbed.cli.output import print_json

if TYPE_CHECKING:
    from nodes.model import Constraint, Filter, Value

T = TypeVar("T")

_HELP = """\
examples:
  cbn match 'dest = "ORD" and price < 400' 'dest = "ORD", price = 350'
  cbn match 'airline >* "U" or stops = 0' 'airline = "UA", stops = 1'

Types count: 400 is an integer, 400.0 a float, and neither equals the other.
Exit code 0: matches; 1: does not.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("predicate", metavar="PREDICATE", help="as in a scenario")
    parser.add_argument("message", metavar="MESSAGE", help="as in a scenario")
    add_json(parser)


def _match(args: argparse.Namespace) -> int:
    from nodes import model

    predicate = _parsed(model.parse_predicate, args.predicate, "PREDICATE")
    message = _parsed(model.parse_message, args.message, "MESSAGE")
    # A filter matches if there is no objection to it.
    verdicts = [(model.format_filter(f), _objections(f, message)) for f in predicate.filters]
    matched = any(not objections for _, objections in verdicts)
    if args.json:
        filters = [{"filter": text, "objections": objections} for text, objections in verdicts]
        found = {"predicate": model.format_predicate(predicate), "message": model.format_message(message)}
        print_json({**found, "matches": matched, "filters": filters})
    else:
        _print(verdicts, matched)
    return exits.OK if matched else exits.NOT_CLEAN


def _parsed(parse: Callable[[str], T], text: str, what: str) -> T:
    from nodes.model import PredicateSyntaxError, UsageError

    try:
        return parse(text)
    except (PredicateSyntaxError, UsageError) as error:
        raise exits.CommandError(f"{what}: {error}") from error


def _objections(filter_: Filter, message: Mapping[str, Value]) -> list[str]:
    reasons = (_objection(constraint, message) for constraint in filter_.constraints)
    return [reason for reason in reasons if reason]


def _objection(constraint: Constraint, message: Mapping[str, Value]) -> str:
    """Why a constraint does not hold; empty if it does."""
    from nodes import model

    text = model.format_filter(model.Filter([constraint]))
    if constraint.name not in message:
        return f"{text}: the message has no attribute {constraint.name}"
    value = message[constraint.name]
    if constraint.matches(value):
        return ""
    found, wanted = model.type_of(value), constraint.type
    if found is not wanted:
        return f"{text}: the message's is of type {found.text}, not {wanted.text} (types are not converted)"
    return f"{text}: the message has {model.format_value(value)}"


def _print(verdicts: list[tuple[str, list[str]]], matched: bool) -> None:
    for text, objections in verdicts:
        print(f"{'no ' if objections else 'yes'} {text}")
        for objection in objections:
            print(f"      {objection}")
    print("matches" if matched else "does not match")


COMMAND = Command("say whether a predicate matches a message", _arguments, _match, SCENARIOS, _HELP)

"""`cbn match`: whether a predicate, an advertisement or a pattern matches, and why not."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.command import SCENARIOS, Command, add_json
from testbed.cli.output import print_json
from testbed.cli.texts import add_advertisement, parsed

if TYPE_CHECKING:
    from testbed.cli.pattern_matches import Finding

SHOWN = 10
"""Matches of one expression."""

_HELP = """\
examples:
  cbn match 'dest = "ORD" and price < 400' 'dest = "ORD", price = 350'
  cbn match 'airline >* "U" or stops = 0' 'airline = "UA", stops = 1'
  cbn match --advertisement 'what = "login" and what = "alarm"' 'what = "alarm"'
  cbn match --pattern '[stops = 0] then [price < 400] within 5s' '0s stops = 0' '3s price = 350'

The messages of a pattern begin with the times at which they are published.
Types count: 400 is an integer, 400.0 a float, and neither equals the other.
Exit code 0: matches; 1: does not.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("predicate", metavar="PREDICATE", help="as in a scenario")
    parser.add_argument(
        "message", metavar="MESSAGE", nargs="+", help="as in a scenario; of a pattern several, with times"
    )
    add_advertisement(parser, "PREDICATE is an advertisement")
    parser.add_argument("--pattern", action="store_true", help="PREDICATE is a pattern of several messages")
    add_json(parser)


def _match(args: argparse.Namespace) -> int:
    from nodes import model
    from testbed.cli.relations import advertisement_objections, objections

    if args.pattern:
        return _match_pattern(args)
    if len(args.message) > 1:
        raise exits.CommandError("a predicate is matched with one MESSAGE; several are for --pattern")
    predicate = parsed(model.parse_predicate, args.predicate, "PREDICATE")
    message = parsed(model.parse_message, args.message[0], "MESSAGE")
    object_to = advertisement_objections if args.advertisement else objections
    # A filter matches if there is no objection to it.
    verdicts = [(model.format_filter(f), object_to(f, message)) for f in predicate.filters]
    matched = any(not objections for _, objections in verdicts)
    if args.json:
        filters = [{"filter": text, "objections": reasons} for text, reasons in verdicts]
        found = {"predicate": model.format_predicate(predicate), "message": model.format_message(message)}
        print_json({**found, "matches": matched, "filters": filters})
    else:
        _print(verdicts, matched)
    return exits.OK if matched else exits.NOT_CLEAN


def _print(verdicts: list[tuple[str, list[str]]], matched: bool) -> None:
    for text, reasons in verdicts:
        print(f"{'no ' if reasons else 'yes'} {text}")
        for reason in reasons:
            print(f"      {reason}")
    print("matches" if matched else "does not match")


def _match_pattern(args: argparse.Namespace) -> int:
    from functools import partial

    from nodes import model
    from testbed.cli import pattern_matches

    if args.advertisement:
        raise exits.CommandError("--advertisement and --pattern: PREDICATE is one of the two")
    pattern = parsed(model.parse_pattern, args.predicate, "PREDICATE")
    messages = [
        parsed(partial(pattern_matches.published, number), text, f"MESSAGE {number}")
        for number, text in enumerate(args.message, 1)
    ]
    told = pattern_matches.told(pattern, messages)
    findings = pattern_matches.findings(pattern, messages)
    if args.json:
        parts = [{"expression": f.text, "matches": f.matches, "reason": f.reason} for f in findings]
        found = {"pattern": model.format_pattern(pattern), "expressions": parts}
        print_json({**found, "matches": bool(told), "told": told})
    else:
        _print_pattern(findings, told)
    return exits.OK if told else exits.NOT_CLEAN


def _print_pattern(findings: list[Finding], told: list[list[int]]) -> None:
    for finding in findings:
        print(f"{'yes' if finding.matches else 'no '} {finding.text}: {_shown(finding)}")
    for numbers in told:
        print(f"match: {_listed(numbers)}")
    print("matches" if told else "does not match")


def _shown(finding: Finding) -> str:
    if not finding.matches:
        return finding.reason
    shown = "; ".join(_listed(numbers) for numbers in finding.matches[:SHOWN])
    more = len(finding.matches) - SHOWN
    return f"{shown}; {more} more" if more > 0 else shown


def _listed(numbers: list[int]) -> str:
    return ", ".join(f"message {number}" for number in numbers)


COMMAND = Command(
    "say whether a predicate, advertisement or pattern matches messages", _arguments, _match, SCENARIOS, _HELP
)

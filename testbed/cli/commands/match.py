"""`cbn match`: whether a predicate or an advertisement matches a message, and why not."""

from __future__ import annotations

import argparse

from testbed.cli import exits
from testbed.cli.command import SCENARIOS, Command, add_json
from testbed.cli.output import print_json
from testbed.cli.texts import add_advertisement, parsed

_HELP = """\
examples:
  cbn match 'dest = "ORD" and price < 400' 'dest = "ORD", price = 350'
  cbn match 'airline >* "U" or stops = 0' 'airline = "UA", stops = 1'
  cbn match --advertisement 'what = "login" and what = "alarm"' 'what = "alarm"'

Types count: 400 is an integer, 400.0 a float, and neither equals the other.
Exit code 0: matches; 1: does not.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("predicate", metavar="PREDICATE", help="as in a scenario")
    parser.add_argument("message", metavar="MESSAGE", help="as in a scenario")
    add_advertisement(parser, "PREDICATE is an advertisement")
    add_json(parser)


def _match(args: argparse.Namespace) -> int:
    from nodes import model
    from testbed.cli.relations import advertisement_objections, objections

    predicate = parsed(model.parse_predicate, args.predicate, "PREDICATE")
    message = parsed(model.parse_message, args.message, "MESSAGE")
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


COMMAND = Command(
    "say whether a predicate or advertisement matches a message", _arguments, _match, SCENARIOS, _HELP
)

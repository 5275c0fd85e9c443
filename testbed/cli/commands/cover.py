"""`cbn cover`: whether one predicate or advertisement covers another, and why not."""

from __future__ import annotations

import argparse

from testbed.cli import exits
from testbed.cli.command import SCENARIOS, Command, add_json
from testbed.cli.texts import add_advertisement, parsed, print_answer

_HELP = """\
examples:
  cbn cover 'price < 400' 'dest = "ORD" and price < 300'
  cbn cover --advertisement 'what = "login" and what = "alarm"' 'what = "alarm"'

FIRST covers SECOND if every message that matches SECOND matches FIRST. This is the test that routers use: it
may miss that string patterns cover others, but what it finds is so. Where it finds nothing, it shows
a message that SECOND alone matches, if it knows one.
Exit code 0: covers; 1: does not.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="FIRST", help="a predicate")
    parser.add_argument("second", metavar="SECOND", help="a predicate")
    add_advertisement(parser, "both are advertisements")
    add_json(parser)


def _cover(args: argparse.Namespace) -> int:
    from nodes import model
    from testbed.cli import relations

    first = parsed(model.parse_predicate, args.first, "FIRST")
    second = parsed(model.parse_predicate, args.second, "SECOND")
    test = relations.advertisement_covering if args.advertisement else relations.covering
    answer = test(first, second)
    print_answer(answer, "covers", "does not cover", "SECOND alone has", as_json=args.json)
    return exits.OK if answer.holds else exits.NOT_CLEAN


COMMAND = Command("say whether a predicate covers another", _arguments, _cover, SCENARIOS, _HELP)

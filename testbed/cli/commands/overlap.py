"""`cbn overlap`: whether a message may match two predicates, or an advertisement and a predicate."""

from __future__ import annotations

import argparse

from testbed.cli import exits
from testbed.cli.command import SCENARIOS, Command, add_json
from testbed.cli.texts import add_advertisement, parsed, print_answer

_HELP = """\
examples:
  cbn overlap 'price < 400' 'price >= 300 and dest = "ORD"'
  cbn overlap --advertisement 'what = "login" and user any string' 'user = "ann"'

This is the test that routers use: a subscription travels towards the advertisements that overlap it. It may
take string patterns to overlap that do not; what it finds apart is apart. A message that shows
the overlap is printed, if one is known.
Exit code 0: overlap; 1: do not.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="FIRST", help="a predicate")
    parser.add_argument("second", metavar="SECOND", help="a predicate")
    add_advertisement(parser, "FIRST is an advertisement")
    add_json(parser)


def _overlap(args: argparse.Namespace) -> int:
    from nodes import model
    from testbed.cli import relations

    first = parsed(model.parse_predicate, args.first, "FIRST")
    second = parsed(model.parse_predicate, args.second, "SECOND")
    test = relations.advertisement_overlapping if args.advertisement else relations.overlapping
    answer = test(first, second)
    print_answer(answer, "overlap", "do not overlap", "both have", as_json=args.json)
    return exits.OK if answer.holds else exits.NOT_CLEAN


COMMAND = Command("say whether a message may match two predicates", _arguments, _overlap, SCENARIOS, _HELP)

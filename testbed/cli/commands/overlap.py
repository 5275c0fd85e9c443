"""`cbn overlap`: whether a message may match two predicates, or an advertisement and a predicate."""

from __future__ import annotations

import argparse

from testbed.cli.command import SCENARIOS, Command
from testbed.cli.texts import add_two, answered

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
    add_two(parser, "FIRST is an advertisement")


def _overlap(args: argparse.Namespace) -> int:
    from testbed.cli.relations import advertisement_overlapping, overlapping

    words = ("overlap", "do not overlap", "both have")
    return answered(args, advertisement_overlapping if args.advertisement else overlapping, words)


COMMAND = Command("say whether a message may match two predicates", _arguments, _overlap, SCENARIOS, _HELP)

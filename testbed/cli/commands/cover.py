"""`cbn cover`: whether one predicate or advertisement covers another, and why not."""

from __future__ import annotations

import argparse

from testbed.cli.command import SCENARIOS, Command
from testbed.cli.texts import add_two, answered

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
    add_two(parser, "both are advertisements")


def _cover(args: argparse.Namespace) -> int:
    from testbed.cli.relations import advertisement_covering, covering

    words = ("covers", "does not cover", "SECOND alone has")
    return answered(args, advertisement_covering if args.advertisement else covering, words)


COMMAND = Command("say whether a predicate covers another", _arguments, _cover, SCENARIOS, _HELP)

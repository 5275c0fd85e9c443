"""The words of `cbn workload` and `cbn bench`. Imports no command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

_WORKLOAD = """\
examples:
  cbn workload build/w --interfaces 20 --filters 1000000 --messages 1000
      5 million constraints, dealt out evenly to 20 interfaces
  cbn workload build/central --interfaces 1000000 --filters-per-interface 1 1
      one filter an interface
  cbn workload build/pieces --piece 3 --seed 7
      3-letter pieces of words as operands of prefix, suffix and substring

Writes filters.txt, messages.txt and recipe.json into DIR. Every option left out
has the value of the paper (FWD Table 1 and section 5.1; ranges include both
ends). The same options give the same bytes on every machine.
"""

_BENCH = """\
examples:
  cbn bench match --filters w/filters.txt --messages w/messages.txt
"""

_MATCH = """\
examples:
  cbn bench match --filters w/filters.txt --messages w/messages.txt --answers out.txt
  cbn bench match --filters w/filters.txt --messages w/messages.txt --central --repeat 20
  cbn bench match --filters w/filters.txt --messages w/messages.txt --fresh 50 --json

Prints one line: RESULT key=value ... docs/benchmarks.md says what is timed and
how, and has the format of the two files.
"""

_Add = Callable[..., Any]


def add_workload(commands: Any, command: _Add, json: _Add) -> None:
    """`cbn workload`; `command` makes a subcommand, `json` gives it --json."""
    made = command(commands, "workload", "generate filters and messages to measure matching with", _WORKLOAD)
    made.add_argument("directory", type=Path, metavar="DIR", help="where to write the files")
    made.add_argument("--seed", type=int, default=1, metavar="N", help="(default: 1)")
    _add_filters(made)
    _add_values(made)
    made.add_argument("--force", action="store_true", help="replace a workload in DIR")
    made.add_argument("--quiet", "-q", action="store_true", help="no progress, only the result")
    json(made)


def _add_filters(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("filters and messages")
    group.add_argument("--interfaces", type=int, default=20, metavar="I", help="(default: 20)")
    _range(group, "--filters-per-interface", (1, 99_999), "default: 1 99999, about a million filters")
    group.add_argument(
        "--filters", type=int, metavar="F", help="exactly F in all, dealt out evenly, in place of that range"
    )
    _range(group, "--constraints", (1, 9), "per filter (default: 1 9)")
    group.add_argument("--messages", type=int, default=100, metavar="M", help="(default: 100)")
    _range(group, "--attributes", (1, 19), "per message (default: 1 19)")


def _add_values(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("names, types, operators, values")
    group.add_argument("--names", type=int, default=1000, metavar="N", help="names there are (default: 1000)")
    group.add_argument("--zipf", default="1", metavar="S", help="exponent for names (default: 1; 0: uniform)")
    group.add_argument("--words", type=int, default=1000, metavar="N", help="string values (default: 1000)")
    group.add_argument(
        "--piece",
        type=int,
        default=0,
        metavar="N",
        help="operands of prefix, suffix and substring are N letters of a word (default: 0, the whole word)",
    )
    _range(group, "--integers", (0, 99), "integer values (default: 0 99)")
    _mix(group, "--types", "s:50,i:50", "strings and integers")
    _mix(group, "--string-operators", "=:35,^:15,$:15,*:15,<:10,>:10", "^ prefix, $ suffix, * substring")
    _mix(group, "--integer-operators", "=:60,<:20,>:20", "also != <= >=")


def _range(group: Any, name: str, default: tuple[int, int], text: str) -> None:
    group.add_argument(name, type=int, nargs=2, default=default, metavar=("LOW", "HIGH"), help=text)


def _mix(group: Any, name: str, default: str, text: str) -> None:
    group.add_argument(
        name, type=mix, default=mix(default), metavar="MIX", help=f"{text} (default: {default})"
    )


def mix(text: str) -> dict[str, int]:
    """`=:60,<:40` as weights by operator."""
    weights: dict[str, int] = {}
    for part in text.split(","):
        name, colon, weight = part.strip().rpartition(":")
        if not (colon and name and weight.isascii() and weight.isdigit()):
            raise argparse.ArgumentTypeError(f"{part!r} is not NAME:WEIGHT, such as =:60")
        if name in weights:
            raise argparse.ArgumentTypeError(f"{name} has two weights")
        weights[name] = int(weight)
    return weights


def add_bench(commands: Any, command: _Add, json: _Add) -> None:
    """`cbn bench` and what can be measured."""
    bench = command(commands, "bench", "measure this machine", _BENCH)
    subjects = bench.add_subparsers(title="what to measure", metavar="SUBJECT", required=True)
    match = command(subjects, "match", "time matching against a table", _MATCH, module="bench")
    _add_match(match)
    json(match)


def _add_match(match: argparse.ArgumentParser) -> None:
    match.add_argument(
        "--filters", type=Path, required=True, metavar="FILE", help="as cbn workload writes them"
    )
    match.add_argument(
        "--messages", type=Path, required=True, metavar="FILE", help="as cbn workload writes them"
    )
    match.add_argument("--central", action="store_true", help="every filter is an interface, its line")
    match.add_argument("--algorithm", default="fast", metavar="A", help="by name (default: fast)")
    match.add_argument("--rounds", type=int, metavar="R", help="of preselection, for the algorithm selective")
    match.add_argument("--repeat", type=int, default=10, metavar="N", help="the best counts (default: 10)")
    match.add_argument("--threads", type=int, default=1, metavar="T", help="that match at once (default: 1)")
    match.add_argument(
        "--fresh", type=int, default=0, metavar="P", help="percent of string values the table has never seen"
    )
    match.add_argument("--cold", action="store_true", help="flush the caches before each message")
    match.add_argument("--answers", type=Path, metavar="OUT", help="write what matched, a line a message")
    match.add_argument("--seed", type=int, default=1, metavar="N", help="for --fresh (default: 1)")
    match.add_argument("--quiet", "-q", action="store_true", help="no progress, only the result")

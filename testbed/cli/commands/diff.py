"""`cbn diff`: what is different between two runs, and how sure that is."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.command import RUNS, Command, add_json, add_quiet, add_spark, asked_of_spark, seconds
from testbed.cli.output import print_json
from testbed.cli.progress import progress

if TYPE_CHECKING:
    from analysis.diff.model import Comparison

_HELP = """\
examples:
  cbn diff runs/before runs/after
      what is different in the second, and how sure that is
  cbn diff emulated simulated
      between worlds; what their clocks and links differ by is listed apart
  cbn diff before after --threshold 2ms --out diff.html
      latencies that moved by less than 2 ms do not count; a page to look at

A difference of latencies counts if it is significant (Mann-Whitney, corrected for
the number of comparisons by Holm) and large: the median moved by more than the
threshold, and Cliff's delta is at least 0.33. docs/comparing.md has more.
Runs that are not analysed yet are analysed first.

Exit code 0: no difference; 1: there is one, and it is named.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", type=Path, metavar="DIR", help="a run directory")
    parser.add_argument("after", type=Path, metavar="DIR", help="another one")
    parser.add_argument(
        "--threshold",
        type=seconds,
        metavar="TIME",
        help="a latency moved if its median did by more than this, such as 500us "
        "(default: 100us in the simulator, 1ms elsewhere, and 10 %% in either)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write an HTML page")
    add_spark(parser.add_argument_group("Spark"))
    add_json(parser)
    add_quiet(parser)


def _diff(args: argparse.Namespace) -> int:
    from testbed.cli.execution import check_analysable

    asked = asked_of_spark(args)
    check_analysable(asked)
    from analysis import AnalysisError
    from analysis.diff.comparing import compare
    from analysis.diff.output import to_text

    shift_ns = None if args.threshold is None else round(args.threshold * 1e9)
    with exits.explained(AnalysisError), progress(args.quiet) as shown:
        found = compare(args.before, args.after, shift_ns=shift_ns, progress=shown, asked=asked)
    if args.out is not None:
        _write(args.out, found)
    if args.json:
        print_json(found.to_json())
    else:
        print(to_text(found))
    return exits.OK if found.same else exits.NOT_CLEAN


def _write(path: Path, found: Comparison) -> None:
    from analysis.diff.output import to_page

    try:
        path.write_text(to_page(found), encoding="utf-8")
    except OSError as error:
        raise exits.CommandError(f"--out {path}: {error.strerror}", exits.FAILED) from error


COMMAND = Command("say what is different between two runs", _arguments, _diff, RUNS, _HELP)

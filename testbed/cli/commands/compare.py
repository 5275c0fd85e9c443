"""`cbn compare`: the runs of a matrix, or any runs, as groups beside each other."""

from __future__ import annotations

import argparse
from pathlib import Path

from testbed.cli import exits
from testbed.cli.command import RUNS, Command, add_json, add_quiet
from testbed.cli.output import print_json

_HELP = """\
examples:
  cbn compare runs/schemes-sim-20260101T120000Z
      the schemes of a matrix beside each other: latencies, hops, what a delivery
      and a message cost, state; with intervals if it has several seeds
  cbn compare DIR --against scheme=psf
      each run is compared with that of psf with otherwise the same values
      (default: with the first value of what the matrix names first)
  cbn compare runs/one runs/another --out both.html
      any runs; each is a group of its own, unless they differ in the seed alone,
      and is compared with the first

Reads verdicts alone, so it takes no time and no Java; crossings and state are in
those of `cbn analyze`. Writes the page compare.html into the folder of the
matrix. docs/comparing.md says how differences are judged.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directories", type=Path, nargs="+", metavar="DIR", help="the folder of a matrix, or a run directory"
    )
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what others are compared with (default: the first value of the first axis, or the first run)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the page (default: compare.html)")
    add_json(parser)
    add_quiet(parser)


def _compare(args: argparse.Namespace) -> int:
    import shutil

    from analysis.groups.comparing import to_text
    from testbed.cli.columns import WIDTH
    from testbed.cli.comparison import compared, page_of, runs_in, write_page

    against = dict(_value(text) for text in args.against)
    found = runs_in(args.directories)
    comparison = compared(found, against)
    page = page_of(args.directories, args.out)
    write_page(page, comparison)
    if args.json:
        print_json({**comparison.to_json(), "page": str(page)})
    elif not args.quiet:
        print(to_text(comparison, shutil.get_terminal_size((WIDTH, 24)).columns))
        print(f"page: {page}")
    return exits.NOT_CLEAN if comparison.bad else exits.OK


def _value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise exits.CommandError(f"--against {text}: expected NAME=VALUE, such as scheme=pif")
    return name, value


COMMAND = Command(
    "compare groups of runs, such as the schemes of a matrix", _arguments, _compare, RUNS, _HELP
)

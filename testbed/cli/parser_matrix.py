"""The words of `cbn run` for analysing and for many runs of one scenario. Imports no command."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_matrix(run: argparse.ArgumentParser) -> None:
    """`--analyze`, and what goes with a scenario that has a matrix."""
    run.add_argument(
        "--analyze",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="analyse when complete (default: if the scenario expects something or has a matrix)",
    )
    many = run.add_argument_group("scenarios with a matrix")
    many.add_argument(
        "--jobs", "-j", type=_at_least_one, default=1, metavar="N", help="so many runs at once (default: 1)"
    )
    many.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="AXIS=VALUE",
        help="just the runs with this value; repeatable",
    )
    many.add_argument("--fail-fast", action="store_true", help="start no further run after one that failed")
    many.add_argument(
        "--resume", type=Path, metavar="DIR", help="go on in DIR: what is complete there is not run again"
    )


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, found {text!r}")
    return int(text)

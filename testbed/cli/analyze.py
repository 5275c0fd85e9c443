"""`cbn analyze`: the verdict over a run, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.expectations import passed
from testbed.cli import exits
from testbed.cli.progress import progress
from testbed.runs.directory import MANIFEST, is_run_directory
from testbed.runs.world import Progress

if TYPE_CHECKING:
    from rich.table import Table

_MEANING = {
    "expected": "pairs of message and subscriber that had to meet",
    "delivered": "pairs that did",
    "missing": "had to arrive and did not",
    "duplicate": "copies beyond the first",
    "spurious": "arrived where nobody had asked",
}


def analyze(args: argparse.Namespace) -> int:
    """Analyse a run directory."""
    if not args.directory.is_dir():
        raise exits.CommandError(f"{args.directory}: no such directory")
    if not is_run_directory(args.directory):
        raise exits.CommandError(f"{args.directory} holds no run: there is no {MANIFEST} of one in it")
    with progress(args.quiet) as shown:
        verdict = analyse(args.directory, shown)
    if args.json:
        print(json.dumps(verdict, indent=1, ensure_ascii=False))
    else:
        print_verdict(args.directory, verdict)
    return exits.OK if passed(verdict) else exits.NOT_CLEAN


def analyse(directory: Path, shown: Progress) -> dict[str, object]:
    """The verdict over the run in `directory`.

    Raises:
        CommandError: the analysis cannot be done here, or this is no run.
    """
    check_analysable()
    from analysis.errors import AnalysisError
    from analysis.pipeline import analyze as run_analysis

    try:
        return run_analysis(directory, progress=shown)
    except AnalysisError as error:
        raise exits.CommandError(str(error), exits.FAILED) from error


def check_analysable() -> None:
    """Find out before any work that this machine cannot analyse.

    Raises:
        CommandError: something is missing; the text says how to get it.
    """
    from analysis.errors import AnalysisError
    from analysis.java import find_java

    missing = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
    if missing:
        raise exits.CommandError(
            f"the analysis needs {' and '.join(missing)}: run `make build`, "
            "or `pip install 'cbn-testbed[analysis]'`; `cbn doctor` shows what else is missing",
            exits.MACHINE,
        )
    try:
        find_java(os.environ)
    except AnalysisError as error:
        raise exits.CommandError(str(error), exits.MACHINE) from error


def print_verdict(directory: Path, verdict: dict[str, object]) -> None:
    """The verdict for people."""
    from rich.console import Console

    console = Console()
    console.print(_table(verdict))
    for text in _expectations(verdict):
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    for problem in verdict["problems"] if isinstance(verdict["problems"], list) else ():
        console.print(f"! {problem}", markup=False, highlight=False)
    # Not through rich, which would break a long path over two lines.
    print(f"report: {directory / 'report.html'}")


def _expectations(verdict: dict[str, object]) -> Iterator[str]:
    """A line each: what was expected, what was measured, and whether it holds."""
    from analysis.expectations import measured_text

    told = verdict.get("expectations")
    for expectation in told if isinstance(told, list) else ():
        so = "holds" if expectation["holds"] else "DOES NOT HOLD"
        why = f" ({expectation['why']})" if expectation["why"] and not expectation["holds"] else ""
        yield f"{so}: {expectation['text']}: measured {measured_text(expectation)}{why}"


def _table(verdict: dict[str, object]) -> Table:
    from rich.table import Table

    clean = bool(verdict["ok"])
    table = Table(title="clean" if clean else "NOT CLEAN", title_style="bold green" if clean else "bold red")
    table.add_column("verdict")
    table.add_column("count", justify="right")
    table.add_column("which are", style="dim")
    for name, meaning in _MEANING.items():
        wrong = name in {"missing", "duplicate", "spurious"} and verdict[name]
        table.add_row(name, f"{verdict[name]:,}", meaning, style="red" if wrong else None)
    return table

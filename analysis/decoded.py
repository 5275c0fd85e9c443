"""Captures that were decoded on the machine where they were made, and came home as rows.

A machine of a cluster calls `python -m analysis.decoded DIR` for its part of a run: what routers have
captured becomes parts of table `packets` in `DIR/captures/decoded`, and the captures are removed. In the run
directory each machine has a folder of that name, and `captures/index.json` says which captures are in it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis import AnalysisError
from analysis.decode import SUFFIX, Piece
from analysis.ingest import ingest_captures
from analysis.kept import Part, parts_in
from analysis.numbered_tasks import in_threads
from analysis.pieces import pieces_in
from analysis.rundir import Run, captures_in
from testbed.plan.recorded import PLAN, RecordedRunError, plan_from_json

FOLDER = "decoded"


@dataclass(frozen=True, slots=True)
class Decoded:
    """What machines have decoded of a run."""

    parts: Sequence[Part] = ()
    problems: Sequence[str] = ()
    unread: Sequence[str] = ()
    """Interfaces whose rows are not there, though the index says so."""


def decoded_of(run: Run) -> Decoded:
    """What the captures of a run are that have no files."""
    wanted = {capture.interface.name: capture.decoded for capture in run.captures if capture.decoded}
    parts: list[Part] = []
    problems: list[str] = []
    for machine in sorted(set(wanted.values())):
        folder = run.path / "captures" / FOLDER / Path(machine).name
        try:
            parts += parts_in(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else "damaged"
            problems.append(f"captures/{FOLDER}/{folder.name}: {why}, though index.json lists it")
    parts, gone = [p for p in parts if p.path.is_file()], [p for p in parts if not p.path.is_file()]
    problems += [f"captures/{FOLDER}/{p.path.parent.name}/{p.path.name}: missing" for p in gone]
    there = {piece.interface for part in parts for piece in part.pieces}
    lost = {piece.interface for part in gone for piece in part.pieces}
    return Decoded(parts, problems, sorted(({*wanted} - there) | lost))


def decode(directory: Path) -> None:
    """Decode what the routers of a machine have captured; if that cannot be done whole, nothing has changed.

    Raises:
        AnalysisError: A capture cannot be read.
    """
    plan = plan_from_json((directory / PLAN).read_text(encoding="utf-8"))
    folder = directory / "captures"
    pieces, target = pieces_in(folder, captures_in(folder / "index.json", plan)), folder / FOLDER
    cores = os.cpu_count() or 1
    work = ingest_captures(pieces, target, in_threads(cores), cores)
    summary = work.summary()
    if summary.problems or summary.unreadable:
        shutil.rmtree(target)
        raise AnalysisError("; ".join([*summary.problems, *sorted(summary.unreadable)]))
    for piece in pieces:
        _remove(piece)


def _remove(piece: Piece) -> None:
    path = Path(piece.path)
    path.unlink()
    path.with_name(path.name + SUFFIX).unlink(missing_ok=True)


def main(arguments: Sequence[str]) -> int:
    """What a machine calls; returns the exit code."""
    try:
        decode(Path(arguments[0]))
    except (AnalysisError, RecordedRunError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

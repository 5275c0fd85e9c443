"""`cbn run` of a scenario with a matrix: all its runs, into one folder, and one table."""

from __future__ import annotations

import argparse
import itertools
import shlex
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from testbed.cli import exits, judging
from testbed.cli.cells import run_in_process
from testbed.cli.cluster import chosen_cluster
from testbed.cli.columns import chosen_columns, print_csv, print_table
from testbed.cli.command import asked_of_spark, emu_options
from testbed.cli.comparison import compare_matrix
from testbed.cli.execution import able, analyse, check_analysable, choose_world
from testbed.cli.folder import (
    MATRIX,
    Planned,
    known_cells,
    new_or_resumed,
    read_note,
    still_to_run,
    write_note,
)
from testbed.cli.output import print_json
from testbed.cli.progress import LineProgress, SilentProgress
from testbed.cli.sweep import Sweep
from testbed.cli.table import Row, flattened, row_of, write_files
from testbed.plan.matrix import Cell
from testbed.plan.model import Plan
from testbed.plan.recorded import VERDICT, VERDICTS, RecordedRunError, read_manifest
from testbed.runs.batch import Batch, Job
from testbed.runs.lock import InUseError, held
from testbed.runs.world import Progress, World
from topologies.quantities import how_many


def run_matrix(
    args: argparse.Namespace, cells: Sequence[tuple[Cell, Plan]], scenario: str, runs: Path
) -> int:
    """Run the cells; returns the exit code.

    Args:
        args: Of `cbn run`.
        cells: All of the matrix.
        scenario: The text that the plans were made of.
        runs: Where folders go that are not named.
    """
    chosen_columns(args.columns)  # what is wrong with it is found out before anything is run
    shown: Progress = SilentProgress() if args.quiet else LineProgress(sys.stderr)
    chosen = _only(cells, args.only)
    to_analyse = any(judging.needs_analysis(args.analyze, plan) for _, plan in chosen)
    if to_analyse or args.on:
        check_analysable(asked_of_spark(args))
    if args.judge and not to_analyse:
        judging.check_judgeable(chosen[0][1])
    worlds = _worlds(args, chosen, shown)
    folder = new_or_resumed(args, chosen, worlds[0].name, runs)
    planned = [
        Planned(cell, plan, scenario, world, folder / cell.name, args.judge and not to_analyse)
        for (cell, plan), world in zip(chosen, worlds, strict=True)
    ]
    with exits.explained(InUseError), held(folder):
        return _run_planned(args, planned, [cell for cell, _ in cells], shown, to_analyse)


def _run_planned(
    args: argparse.Namespace,
    planned: Sequence[Planned],
    cells: Sequence[Cell],
    shown: Progress,
    to_analyse: bool,
) -> int:
    """Run what is not complete yet, then analyse and tell."""
    world, folder = planned[0].world, planned[0].directory.parent
    planned, missing = still_to_run(args, planned, cells, shown)
    write_note(folder, planned[0], cells)
    if not args.quiet:
        done = f", {len(planned) - len(missing)} of them done before" if args.resume else ""
        way = f"as tasks of Spark on {args.on}" if args.on else f"{args.jobs} at once"
        here = f"in the world {world.name}, {way}, into {folder}"
        shown.say(f"{how_many(len(planned), 'run')}{done} {here}")
    stopped = _run_all(args, missing, shown)
    if stopped is None and to_analyse:
        stopped = _analyse_all(planned, shown, args)
    elif stopped is None:
        _judge_kept([run for run in planned if run not in missing], shown)
    rows = [row_of(run.cell.name, run.cell.values, run.directory) for run in planned]
    mine = {run.cell.name for run in planned}
    noted = known_cells(folder) if args.resume else {}
    others = {name: values for name, values in noted.items() if name not in mine}
    about = {"scenario": planned[0].plan.name, "world": world.name, "directory": str(folder)}
    write_files(
        folder, about, [*rows, *(row_of(name, values, folder / name) for name, values in others.items())]
    )
    report(args, folder, about, rows, compare_matrix(folder))
    expected = (args.judge or to_analyse) and any(run.plan.expect for run in planned)
    return _exit_code(rows, stopped, to_be_judged=expected)


def _only(cells: Sequence[tuple[Cell, Plan]], only: Sequence[str]) -> list[tuple[Cell, Plan]]:
    """The cells with the values that `--only` asks for."""
    wanted: dict[str, set[str]] = {}
    for text in only:
        axis, equals, value = text.partition("=")
        if not equals:
            raise exits.CommandError(f"--only {text}: expected AXIS=VALUE, such as --only scheme=pif")
        known = {_text(cell.values[axis]) for cell, _ in cells if axis in cell.values}
        if value not in known:
            axes = list(dict.fromkeys(name for cell, _ in cells for name in cell.values))
            expected = f"one of {', '.join(sorted(known))}" if known else f"an axis: one of {', '.join(axes)}"
            raise exits.CommandError(f"--only {text}: there is no such run; expected {expected}")
        wanted.setdefault(axis, set()).add(value)
    chosen = [
        (cell, plan)
        for cell, plan in cells
        if all(_text(cell.values[axis]) in values for axis, values in wanted.items())
    ]
    if not chosen:
        raise exits.CommandError("no run has all the values that --only asks for")
    return chosen


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _worlds(args: argparse.Namespace, cells: Sequence[tuple[Cell, Plan]], shown: Progress) -> list[World]:
    """One kind of world for all, or their figures could not stand in one table."""
    clusters = [(chosen_cluster(args, plan), plan) for _, plan in cells]
    if clusters[0][0] is not None:
        return [able(world, plan) for world, plan in clusters if world is not None]
    if args.on:
        return [choose_world("sim", plan, shown, emu_options(args)) for _, plan in cells]
    options, first = emu_options(args), choose_world(args.world, cells[0][1], shown, emu_options(args))
    worlds = [first]
    for _, plan in cells[1:]:
        world = choose_world(first.name if args.world != "auto" else "auto", plan, SilentProgress(), options)
        worlds.append(world)
    if len({world.name for world in worlds}) > 1:
        shown.say("world sim for all, because some of the runs cannot be emulated here")
        return [choose_world("sim", plan, shown, options) for _, plan in cells]
    return worlds


def is_complete(directory: Path) -> bool:
    """Whether a run has been there to its end."""
    try:
        return bool(read_manifest(directory)["outcome"] == "complete")
    except RecordedRunError:
        return False


def _run_all(args: argparse.Namespace, planned: Sequence[Planned], shown: Progress) -> str | None:
    """Run them; the name of the signal that ended it, if one did."""
    ended = itertools.count(1)
    commands = {run.cell.name: repeating(args, run) for run in planned}

    def on_end(name: str, code: int) -> bool:
        number = next(ended)
        if code != exits.OK or not args.quiet:
            shown.say(f"[{name}] {_ENDS.get(code, f'ended with {code}')} ({number} of {len(planned)})")
        if code not in (exits.OK, exits.INTERRUPTED):
            shown.say(f"[{name}] again: {commands[name]}")
        return code == exits.OK or not args.fail_fast

    try:
        _runner(args, planned, on_end).run()
    except KeyboardInterrupt as interruption:
        return str(getattr(interruption, "signal_name", signal.SIGINT.name))
    return None


def _runner(
    args: argparse.Namespace, planned: Sequence[Planned], on_end: Callable[[str, int], bool]
) -> Batch | Sweep:
    """Processes of this machine, or Spark tasks."""
    progress = _progress_of(args.quiet)
    if args.on:
        return Sweep(planned, asked_of_spark(args), progress, on_end)
    return Batch(
        [Job(run.cell.name, partial(run_in_process, run)) for run in planned], args.jobs, progress, on_end
    )


def repeating(args: argparse.Namespace, run: Planned) -> str:
    """The command that carries out one run again, by itself."""
    words = ["cbn", "run", str(args.scenario)]
    words += [] if args.seed is None else ["--seed", str(args.seed)]
    words += [word for override in args.overrides for word in ("--set", override)]
    values = [f"{name}={_text(value)}" for name, value in run.cell.values.items()]
    words += [word for value in values for word in ("--only", value)]
    if run.world.name == "cluster":
        put = [f"{router}={machine}" for router, machine in args.put]
        words += ["--hosts", args.hosts, "--place", args.place]
        words += [word for value in put for word in ("--put", value)]
    return shlex.join([*words, "--world", run.world.name, "--out", f"{run.plan.name}-again"])


_ENDS = {
    exits.OK: "complete",
    exits.FAILED: "failed",
    exits.DEFECT: "broke off: a defect of cbn (see above)",
    exits.INTERRUPTED: "interrupted",
}


def _progress_of(quiet: bool) -> Callable[[str], Progress]:
    if quiet:
        return lambda _name: SilentProgress()
    return lambda name: LineProgress(sys.stderr, f"[{name}] ")


def _analyse_all(planned: Sequence[Planned], shown: Progress, args: argparse.Namespace) -> str | None:
    """What is complete and not analysed yet; the name of the signal that ended it, if one did."""
    places = [run.directory for run in planned if not (run.directory / VERDICT).exists()]
    return _analyse_each(places, shown, args)


def _analyse_each(places: Sequence[Path], shown: Progress, args: argparse.Namespace) -> str | None:
    """One after the other in this process, so that Spark is started once.

    The largest comes first: the session is made to fit it.
    """
    for place in sorted(filter(is_complete, places), key=lambda place: -_captured_bytes(place)):
        if not args.quiet:
            shown.say(f"[{place.name}] analysing")
        try:
            analyse(place, SilentProgress(), asked_of_spark(args))
        except exits.CommandError as error:
            shown.say(f"[{place.name}] {error}")
        except KeyboardInterrupt as interruption:
            return str(getattr(interruption, "signal_name", signal.SIGINT.name))
    return None


def _judge_kept(kept: Sequence[Planned], shown: Progress) -> None:
    """Runs that were complete before and have no verdict, or had one before something else was expected."""
    for run in kept:
        if run.judge and not any((run.directory / name).exists() for name in VERDICTS):
            try:
                judging.judge(run.directory, run.plan, SilentProgress())
            except exits.CommandError as error:
                shown.say(f"[{run.cell.name}] {error}")


def _captured_bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in (directory / "captures").glob("*.pcap*"))


def analyse_matrix(args: argparse.Namespace) -> int:
    """Analyse all complete runs in the folder of a matrix, and make its table anew; returns the exit code."""
    check_analysable(asked_of_spark(args))
    folder, shown = args.directory, SilentProgress() if args.quiet else LineProgress(sys.stderr)
    cells = known_cells(folder)
    if not cells:
        raise exits.CommandError(
            f"{folder / MATRIX} names no run; `cbn run SCENARIO --resume {folder}` makes them"
        )
    with exits.explained(InUseError), held(folder):
        stopped = _analyse_each([folder / name for name in cells], shown, args)
        rows = [row_of(name, values, folder / name) for name, values in cells.items()]
        about = about_folder(folder)
        write_files(folder, about, rows)
        page = compare_matrix(folder)
    report(args, folder, about, rows, page)
    return _exit_code([row for row in rows if row.outcome == "complete"], stopped, to_be_judged=True)


def about_folder(folder: Path) -> dict[str, Any]:
    """What the table of a folder is of."""
    note = read_note(folder)
    return {"scenario": note.get("name"), "world": note.get("world"), "directory": str(folder)}


def report(
    args: argparse.Namespace,
    folder: Path,
    about: Mapping[str, Any],
    rows: Sequence[Row],
    page: Path | None = None,
) -> None:
    """Print the table, in the form that is asked for.

    Args:
        args: Of the command.
        folder: Of the matrix.
        about: What the table is of.
        rows: A row a run.
        page: Where the runs are compared, if that was written.
    """
    columns = chosen_columns(args.columns)
    if args.json:
        print_json({**about, "rows": [flattened(row) for row in rows]})
    elif args.csv:
        print_csv(rows, columns)
    else:
        print_table(rows, columns)
        print(f"table: {folder / 'table.csv'}, table.json")
        if page is not None:
            print(f"comparison: {page}")


def _exit_code(rows: Sequence[Row], stopped: str | None, *, to_be_judged: bool) -> int:
    """`to_be_judged`: whether a complete run without a verdict is not as it should be."""
    if stopped is not None:
        return exits.TERMINATED if stopped == signal.SIGTERM.name else exits.INTERRUPTED
    if any(row.outcome != "complete" for row in rows):
        return exits.FAILED
    wrong = (False, None) if to_be_judged else (False,)
    return exits.NOT_CLEAN if any(row.passed in wrong for row in rows) else exits.OK

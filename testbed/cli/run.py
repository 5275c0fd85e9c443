"""`cbn run`: from a scenario to a run directory."""

from __future__ import annotations

import argparse
import json
import signal
from pathlib import Path

from analysis.expectations import passed
from testbed.cli import exits
from testbed.cli.analyze import check_analysable
from testbed.cli.matrix import run_matrix
from testbed.cli.parser_emulation import emu_options
from testbed.cli.plans import load, load_all
from testbed.cli.progress import progress
from testbed.cli.worlds import choose_world
from testbed.plan.model import Plan
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory, RunDirectoryError, new_run_id
from testbed.runs.fidelity import sentences
from testbed.runs.world import Outcome, Progress, World

RUNS = Path("runs")


def run(args: argparse.Namespace) -> int:
    """Run a scenario; the exit code says how it went."""
    cells = load_all(args.scenario, args.seed, args.overrides)
    if cells:
        return run_matrix(args, cells, RUNS)
    _check_options(args)
    plan = load(args.scenario, args.seed, args.overrides)
    analyse = bool(plan.expect) if args.analyze is None else args.analyze
    if analyse:
        check_analysable()
    with progress(args.quiet) as shown:
        world = choose_world(args.world, plan, shown, emu_options(args))
        directory = _directory(args, plan, world)
        if not args.quiet:
            shown.say(f"{plan.name} in the world {world.name}, seed {plan.seed}, into {directory.path}")
        outcome = _conduct(plan, world, directory, shown)
        verdict = _verdict(directory, shown) if analyse and outcome.outcome == "complete" else None
    _report(args.json, directory, world, outcome, verdict)
    return _exit_code(outcome, verdict)


def _check_options(args: argparse.Namespace) -> None:
    """What goes with a matrix alone does not go unnoticed where there is none."""
    given = {"--only": args.only, "--resume": args.resume, "--jobs": args.jobs > 1}
    for option in (name for name, value in given.items() if value):
        raise exits.CommandError(f"{option} goes with a scenario that has a matrix; {args.scenario} has none")


def _directory(args: argparse.Namespace, plan: Plan, world: World) -> RunDirectory:
    run_id = new_run_id(plan.name, world.name)
    try:
        return RunDirectory.create(args.out or RUNS / run_id, run_id, force=args.force)
    except RunDirectoryError as error:
        raise exits.CommandError(str(error), exits.USAGE) from error


def _conduct(plan: Plan, world: World, directory: RunDirectory, shown: Progress) -> Outcome:
    try:
        return conduct(plan, world, directory, shown)
    except RunDirectoryError as error:
        raise exits.CommandError(str(error), exits.USAGE) from error
    except OSError as error:
        place = error.filename or directory.path
        raise exits.CommandError(f"the run broke off: {place}: {error.strerror}", exits.FAILED) from error


def _verdict(directory: RunDirectory, shown: Progress) -> dict[str, object]:
    from testbed.cli.analyze import analyse

    return analyse(directory.path, shown)


def _report(
    as_json: bool,
    directory: RunDirectory,
    world: World,
    outcome: Outcome,
    verdict: dict[str, object] | None,
) -> None:
    if as_json:
        summary = {
            "run_id": directory.run_id,
            "directory": str(directory.path),
            "world": world.name,
            "outcome": outcome.outcome,
            "message": outcome.message,
            "fidelity": outcome.fidelity and outcome.fidelity.to_json(),
            "verdict": verdict,
        }
        print(json.dumps(summary, indent=1, ensure_ascii=False))
        return
    if verdict is not None:
        from testbed.cli.analyze import print_verdict

        print_verdict(directory.path, verdict)
    else:
        print(_sentence(directory, outcome))
    print("\n".join(sentences(outcome.fidelity)))


def _sentence(directory: RunDirectory, outcome: Outcome) -> str:
    match outcome.outcome:
        case "complete":
            return (
                f"{directory.path}: complete, {outcome.capture_packets:,} packets captured\n"
                f"Next: cbn analyze {directory.path}"
            )
        case "failed":
            return f"{directory.path}: failed: {outcome.message}\nWhat was recorded is kept there; see logs/."
        case "interrupted":
            return f"{directory.path}: {outcome.message}; what was recorded is kept there"


def _exit_code(outcome: Outcome, verdict: dict[str, object] | None) -> int:
    if outcome.outcome == "failed":
        return exits.FAILED
    if outcome.outcome == "interrupted":
        terminated = signal.SIGTERM.name in outcome.message
        return exits.TERMINATED if terminated else exits.INTERRUPTED
    return exits.OK if verdict is None or passed(verdict) else exits.NOT_CLEAN

"""`cbn run`: from a scenario to a run directory."""

from __future__ import annotations

import argparse
import json

from testbed.cli import exits
from testbed.cli.analyze import check_analysable
from testbed.cli.carrying_out import (
    RUNS,
    Verdict,
    carry_out,
    directory_for,
    exit_code,
    summary,
    verdict_of,
)
from testbed.cli.matrix import run_matrix
from testbed.cli.parser_emulation import emu_options
from testbed.cli.plans import load, load_all
from testbed.cli.progress import progress
from testbed.cli.worlds import choose_world
from testbed.runs.directory import RunDirectory
from testbed.runs.fidelity import sentences
from testbed.runs.world import Outcome, World


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
        directory = directory_for(plan, world, args.out, args.force)
        if not args.quiet:
            shown.say(f"{plan.name} in the world {world.name}, seed {plan.seed}, into {directory.path}")
        outcome = carry_out(plan, world, directory, shown)
        verdict = verdict_of(directory, outcome, shown) if analyse else None
    _report(args.json, directory, world, outcome, verdict)
    return exit_code(outcome, verdict)


def _check_options(args: argparse.Namespace) -> None:
    """What goes with a matrix alone does not go unnoticed where there is none."""
    given = {"--only": args.only, "--resume": args.resume, "--jobs": args.jobs > 1}
    for option in (name for name, value in given.items() if value):
        raise exits.CommandError(f"{option} goes with a scenario that has a matrix; {args.scenario} has none")


def _report(
    as_json: bool,
    directory: RunDirectory,
    world: World,
    outcome: Outcome,
    verdict: Verdict | None,
) -> None:
    if as_json:
        print(json.dumps(summary(directory, world, outcome, verdict), indent=1, ensure_ascii=False))
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

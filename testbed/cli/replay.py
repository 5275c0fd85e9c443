"""`cbn replay`: a run's plan, run again."""

from __future__ import annotations

import argparse
import json
import signal
from dataclasses import replace
from pathlib import Path

from analysis.expectations import passed
from testbed.cli import exits
from testbed.cli.analyze import check_analysable
from testbed.cli.parser_emulation import emu_options
from testbed.cli.progress import progress
from testbed.cli.worlds import choose_world
from testbed.emu.options import EmuOptions
from testbed.plan import ScenarioError
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory, RunDirectoryError, new_run_id
from testbed.runs.fidelity import sentences
from testbed.runs.replay import NoRunError, Recording, load_recording
from testbed.runs.world import Outcome, Progress, World

RUNS = Path("runs")


def replay(args: argparse.Namespace) -> int:
    """Run a kept plan again; the exit code says how it went."""
    recording = _load(args.directory)
    analyse = bool(args.analyze or recording.plan.expect)
    if analyse:
        check_analysable()
    with progress(args.quiet) as shown:
        for note in recording.notes:
            shown.say(f"{args.directory}: {note}")
        known = recording.world if recording.world in ("sim", "emu") else "auto"
        world = choose_world(args.world or known, recording.plan, shown, _options(args, recording))
        directory = _directory(args, recording, world)
        if not args.quiet:
            shown.say(f"{recording.origin.run_id} again, in the world {world.name}, into {directory.path}")
        outcome = _conduct(recording, world, directory, shown)
        verdict = _verdict(directory.path, shown) if analyse and outcome.outcome == "complete" else None
    _report(args, recording, directory, outcome, verdict)
    return _exit_code(outcome, verdict)


def _load(path: Path) -> Recording:
    try:
        return load_recording(path)
    except NoRunError as error:
        raise exits.CommandError(str(error)) from error
    except ScenarioError as error:
        raise exits.CommandError(f"the plan cannot be run again; nothing was started\n{error}") from error


def _options(args: argparse.Namespace, recording: Recording) -> EmuOptions:
    """As it was emulated before, unless told otherwise."""
    told = emu_options(args)
    return told if args.dilate is not None else replace(told, dilate=recording.dilate)


def _directory(args: argparse.Namespace, recording: Recording, world: World) -> RunDirectory:
    run_id = new_run_id(recording.plan.name, world.name)
    if args.out is not None and args.out.resolve() == args.directory.resolve():
        raise exits.CommandError(
            f"--out {args.out} is the run that is to be repeated; name another directory"
        )
    try:
        return RunDirectory.create(args.out or RUNS / run_id, run_id, force=args.force)
    except RunDirectoryError as error:
        raise exits.CommandError(str(error)) from error


def _conduct(recording: Recording, world: World, directory: RunDirectory, shown: Progress) -> Outcome:
    try:
        return conduct(recording.plan, world, directory, shown, recording.origin)
    except OSError as error:
        place = error.filename or directory.path
        raise exits.CommandError(f"the run broke off: {place}: {error.strerror}", exits.FAILED) from error


def _verdict(directory: Path, shown: Progress) -> dict[str, object]:
    from testbed.cli.analyze import analyse

    return analyse(directory, shown)


def _report(
    args: argparse.Namespace,
    recording: Recording,
    directory: RunDirectory,
    outcome: Outcome,
    verdict: dict[str, object] | None,
) -> None:
    if args.json:
        summary = {
            "run_id": directory.run_id,
            "replay_of": recording.origin.run_id,
            "directory": str(directory.path),
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
    print("\n".join(sentences(outcome.fidelity)))
    ending = outcome.outcome + (f": {outcome.message}" if outcome.message else "")
    print(f"{directory.path}: {ending}\nNext: cbn diff {args.directory} {directory.path}")


def _exit_code(outcome: Outcome, verdict: dict[str, object] | None) -> int:
    if outcome.outcome == "failed":
        return exits.FAILED
    if outcome.outcome == "interrupted":
        terminated = signal.SIGTERM.name in outcome.message
        return exits.TERMINATED if terminated else exits.INTERRUPTED
    return exits.OK if verdict is None or passed(verdict) else exits.NOT_CLEAN

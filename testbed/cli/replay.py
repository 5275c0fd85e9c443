"""`cbn replay`: a run's plan, run again."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from testbed.cli import exits
from testbed.cli.analyze import check_analysable
from testbed.cli.carrying_out import Verdict, carry_out, directory_for, exit_code, summary, verdict_of
from testbed.cli.parser_emulation import emu_options
from testbed.cli.progress import progress
from testbed.cli.worlds import choose_world
from testbed.emu.options import EmuOptions
from testbed.plan import ScenarioError
from testbed.runs.directory import RunDirectory
from testbed.runs.fidelity import sentences
from testbed.runs.replay import NoRunError, Recording, load_recording
from testbed.runs.world import Outcome


def replay(args: argparse.Namespace) -> int:
    """Run a kept plan again; the exit code says how it went."""
    _check_out(args)
    recording = _load(args.directory)
    analyse = bool(args.analyze or recording.plan.expect)
    if analyse:
        check_analysable()
    with progress(args.quiet) as shown:
        for note in recording.notes:
            shown.say(f"{args.directory}: {note}")
        known = recording.world if recording.world in ("sim", "emu") else "auto"
        world = choose_world(args.world or known, recording.plan, shown, _options(args, recording))
        directory = directory_for(recording.plan, world, args.out, args.force)
        if not args.quiet:
            shown.say(f"{recording.origin.run_id} again, in the world {world.name}, into {directory.path}")
        outcome = carry_out(recording.plan, world, directory, shown, recording.origin)
        verdict = verdict_of(directory, outcome, shown) if analyse else None
    if args.json:
        told = {**summary(directory, world, outcome, verdict), "replay_of": recording.origin.run_id}
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        _report(directory, args.directory, outcome, verdict)
    return exit_code(outcome, verdict)


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


def _check_out(args: argparse.Namespace) -> None:
    if args.out is not None and args.out.resolve() == args.directory.resolve():
        raise exits.CommandError(
            f"--out {args.out} is the run that is to be repeated; name another directory"
        )


def _report(directory: RunDirectory, before: Path, outcome: Outcome, verdict: Verdict | None) -> None:
    if verdict is not None:
        from testbed.cli.analyze import print_verdict

        print_verdict(directory.path, verdict)
    print("\n".join(sentences(outcome.fidelity)))
    ending = outcome.outcome + (f": {outcome.message}" if outcome.message else "")
    print(f"{directory.path}: {ending}\nNext: cbn diff {before} {directory.path}")

"""`cbn replay`: a run's plan, run again."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.command import RUNS, Command, add_emulation, add_json, add_out, add_quiet, emu_options
from testbed.cli.output import print_json
from testbed.cli.progress import progress

if TYPE_CHECKING:
    from testbed.emu.options import EmuOptions
    from testbed.runs.directory import RunDirectory
    from testbed.runs.replay import Recording
    from testbed.runs.world import Outcome

_HELP = """\
examples:
  cbn replay runs/quickstart-emu-20260101T120000Z-1a2b
      the same plan, in the same world
  cbn replay DIR --world sim --out /tmp/again --analyze
      in the simulator, then the verdict
  cbn replay DIR --out again && cbn diff DIR again
      run it again and see whether anything is different

What is run is DIR/plan.json, to the letter; the scenario file is not needed. Of a
simulated run, events.jsonl and the captures come out byte for byte as they were.
The manifest of the new run names the old one as replay_of.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the run directory of the earlier run")
    parser.add_argument(
        "--world", choices=("sim", "emu", "auto"), help="where (default: where the earlier run was)"
    )
    add_out(parser)
    parser.add_argument("--analyze", action="store_true", help="analyse the run when it is complete")
    add_emulation(parser)
    parser.set_defaults(dilate=None)
    add_json(parser)
    add_quiet(parser)


def _replay(args: argparse.Namespace) -> int:
    """Run a kept plan again; the exit code says how it went."""
    from testbed.cli import execution

    _check_out(args)
    recording = _load(args.directory)
    analyse = bool(args.analyze or recording.plan.expect)
    if analyse:
        execution.check_analysable()
    with progress(args.quiet) as shown:
        for note in recording.notes:
            shown.say(f"{args.directory}: {note}")
        known = recording.world if recording.world in ("sim", "emu") else "auto"
        options = _options(args, recording)
        world = execution.choose_world(args.world or known, recording.plan, shown, options)
        directory = execution.directory_for(recording.plan, world, args.out, args.force)
        if not args.quiet:
            shown.say(f"{recording.run_id} again, in the world {world.name}, into {directory.path}")
        outcome = execution.execute(
            recording.plan,
            world,
            directory,
            shown,
            scenario=recording.scenario,
            replay_of=recording.run_id,
        )
        verdict = execution.verdict_of(directory, outcome, shown) if analyse else None
    if args.json:
        summary = execution.summary(directory, world, outcome, verdict)
        print_json({**summary, "replay_of": recording.run_id})
    else:
        _report(directory, args.directory, outcome, verdict)
    return execution.exit_code(outcome, verdict)


def _load(path: Path) -> Recording:
    from testbed.plan.recorded import RecordedRunError
    from testbed.runs.replay import load_recording

    try:
        return load_recording(path)
    except RecordedRunError as error:
        raise exits.CommandError(f"the run cannot be repeated; nothing was started\n{error}") from error


def _options(args: argparse.Namespace, recording: Recording) -> EmuOptions:
    """As it was emulated before, where the command line has nothing else."""
    options = emu_options(args)
    return options if args.dilate is not None else replace(options, dilate=recording.dilate)


def _check_out(args: argparse.Namespace) -> None:
    if args.out is not None and args.out.resolve() == args.directory.resolve():
        raise exits.CommandError(
            f"--out {args.out} is the run that is to be repeated; name another directory"
        )


def _report(
    directory: RunDirectory, before: Path, outcome: Outcome, verdict: dict[str, object] | None
) -> None:
    from testbed.cli.execution import print_verdict
    from testbed.runs.fidelity import sentences

    if verdict is not None:
        print_verdict(directory.path, verdict)
    print("\n".join(sentences(outcome.fidelity)))
    ending = outcome.outcome + (f": {outcome.message}" if outcome.message else "")
    print(f"{directory.path}: {ending}\nNext: cbn diff {before} {directory.path}")


COMMAND = Command("run the plan of an earlier run again", _arguments, _replay, RUNS, _HELP)

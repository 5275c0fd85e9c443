"""`cbn replay`: a run's plan, run again."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.command import (
    RUNS,
    Command,
    add_emulation,
    add_json,
    add_judge,
    add_out,
    add_quiet,
    add_spark,
    emu_options,
)
from testbed.cli.output import print_json
from testbed.cli.progress import progress

if TYPE_CHECKING:
    from testbed.cli.execution import Executed
    from testbed.emu.options import EmuOptions
    from testbed.runs.replay import Recording

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
    parser.add_argument("--analyze", action="store_true", help="make tables and a report when complete")
    add_judge(parser)
    add_spark(parser.add_argument_group("Spark, for --analyze"))
    add_emulation(parser)
    parser.set_defaults(dilate=None)
    add_json(parser)
    add_quiet(parser)


def _replay(args: argparse.Namespace) -> int:
    """Run a recorded plan again; returns the exit code."""
    from testbed.cli import execution
    from testbed.cli.judging import needs_analysis

    _check_out(args)
    recording = _load(args.directory)
    with progress(args.quiet) as shown:
        for note in recording.notes:
            shown.say(f"{args.directory}: {note}")
    done = execution.execute(
        args,
        recording.plan,
        scenario=recording.scenario,
        world=args.world or (recording.world if recording.world in ("sim", "emu") else "auto"),
        options=_options(args, recording),
        to_analyse=needs_analysis(args.analyze or None, recording.plan),
        replay_of=recording.run_id,
    )
    if args.json:
        print_json({**done.summary(), "replay_of": recording.run_id})
    else:
        _report(done, args.directory)
    return done.exit_code


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


def _report(done: Executed, before: Path) -> None:
    from testbed.cli.execution import print_verdict
    from testbed.cli.judging import print_judged
    from testbed.runs.fidelity import sentences

    path, outcome = done.directory.path, done.outcome
    if done.verdict is not None and done.analysed:
        print_verdict(path, done.verdict)
    elif done.verdict is not None:
        print_judged(done.verdict)
    print("\n".join(sentences(outcome.fidelity)))
    ending = outcome.outcome + (f": {outcome.message}" if outcome.message else "")
    print(f"{path}: {ending}\nNext: cbn diff {before} {path}")


COMMAND = Command("run the plan of an earlier run again", _arguments, _replay, RUNS, _HELP)

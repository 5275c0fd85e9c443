"""`cbn run`: from a scenario to a run directory."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli import exits
from testbed.cli.command import (
    RUNS,
    Command,
    add_captures,
    add_emulation,
    add_json,
    add_judge,
    add_out,
    add_placement,
    add_quiet,
    add_scenario,
    add_spark,
    add_table,
    count,
    emu_options,
)
from testbed.cli.output import print_json
from topologies.quantities import how_many

if TYPE_CHECKING:
    from testbed.cli.execution import Executed
    from testbed.plan.model import Plan
    from testbed.runs.world import Outcome, World

_HELP = """\
examples:
  cbn run quickstart
      in the best world this machine has; prints which and why, and ends with the verdict
  cbn run quickstart --world sim --seed 7 --analyze
      in the simulator, with another seed, then tables and a report, too
  cbn run my.yaml --set scheme=pif --set timing.hop_delay=2ms
      override scalars of the file; the key is the path to them, with dots
  cbn run my.yaml --out /tmp/here --force --json
      replace the run in /tmp/here; one JSON object on standard output
  cbn run outage
      a scenario that expects something is a test: the exit code is 1 if that does not hold
  cbn run schemes --jobs 2 --only size=10
      a scenario with a matrix is many runs, in one folder with one table

worlds:
  sim      one process, simulated time: deterministic, needs neither root nor Mininet
  emu      Mininet hosts joined by veth links, real processes, real time: needs root
  cluster  the machines of --hosts, reached over SSH; each takes some of the nodes
  auto     emu where it works, else sim (the default)

Ctrl-C ends a run in order: everything it made is removed, its directory is kept
and its manifest has the outcome `interrupted`. After kill -9, `cbn clean` removes
what was left behind.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument(
        "--world", choices=("sim", "emu", "cluster", "auto"), default="auto", help="where (default: auto)"
    )
    cluster = parser.add_argument_group("--world cluster")
    add_placement(cluster)
    add_captures(cluster)
    add_out(parser)
    parser.add_argument(
        "--analyze",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="make tables and a report when complete (default: if something expected needs them)",
    )
    add_judge(parser)
    _matrix_arguments(parser.add_argument_group("scenarios with a matrix"))
    add_spark(parser.add_argument_group("Spark, for --analyze and --on"))
    add_emulation(parser, auto=True)
    add_json(parser)
    add_quiet(parser)


def _matrix_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--jobs", "-j", type=count, default=1, metavar="N", help="so many runs at once (default: 1)"
    )
    group.add_argument(
        "--on",
        metavar="MASTER",
        help="run them as tasks of Spark, in the simulator: local[2], local[*] or spark://HOST:PORT",
    )
    group.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="AXIS=VALUE",
        help="just the runs with this value; repeatable",
    )
    add_table(group)
    group.add_argument("--fail-fast", action="store_true", help="start no further run after one that failed")
    group.add_argument(
        "--resume",
        type=Path,
        metavar="DIR",
        help="go on in DIR: what is complete there is kept, what is new is run",
    )


def _run(args: argparse.Namespace) -> int:
    from testbed.cli import execution, matrix
    from testbed.cli.judging import needs_analysis
    from testbed.cli.scenario import complaints, read, tell_notes

    _check_on(args)
    scenario = read(args)
    if scenario.cells:
        with complaints():
            cells = scenario.plans()
        tell_notes(scenario)
        return matrix.run_matrix(args, cells, scenario.text, execution.RUNS)
    _check_options(args)
    with complaints():
        plan = scenario.plan()
    tell_notes(scenario)
    cluster = _cluster(args, plan)
    done = execution.execute(
        args,
        plan,
        scenario=scenario.text,
        world=args.world,
        options=emu_options(args),
        cluster=cluster,
        to_analyse=needs_analysis(args.analyze, plan),
    )
    if args.json:
        print_json(done.summary())
    else:
        _report(done)
    return done.exit_code


def _cluster(args: argparse.Namespace, plan: Plan) -> World | None:
    """The world of `--hosts`, if the run is to be there."""
    from testbed.cli.cluster import chosen_cluster

    return chosen_cluster(args, plan)


def _check_on(args: argparse.Namespace) -> None:
    """What does not go together with `--on`."""
    if args.on and args.master:
        raise exits.CommandError("--on and --master: one of them; runs are analysed where they have run")
    args.master = args.on or args.master
    if args.world == "cluster" and (args.on or args.jobs > 1):
        raise exits.CommandError("machines of a cluster take one run at a time: leave --jobs and --on out")
    if args.on and args.world == "emu":
        raise exits.CommandError("--on is for the simulator; emulated networks are made with --jobs")
    if args.on and args.jobs > 1:
        raise exits.CommandError("--jobs and --on: one of them; the master says how many tasks run at once")
    if args.on and args.on.startswith("sc://"):
        raise exits.CommandError(
            f"--on {args.on}: Spark Connect cannot hand out runs; name the master: spark://HOST:PORT"
        )


def _check_options(args: argparse.Namespace) -> None:
    """An option that only a matrix has use for is not ignored where there is none."""
    given = {"--only": args.only, "--resume": args.resume, "--jobs": args.jobs > 1, "--on": args.on}
    given |= {"--columns": args.columns, "--csv": args.csv}
    for option in (name for name, value in given.items() if value):
        raise exits.CommandError(f"{option} goes with a scenario that has a matrix; {args.scenario} has none")


def _report(done: Executed) -> None:
    from testbed.cli.execution import print_verdict
    from testbed.cli.judging import print_judged
    from testbed.runs.fidelity import sentences

    if done.verdict is not None and done.analysed:
        print_verdict(done.directory.path, done.verdict)
    else:
        print(_sentence(done.directory.path, done.outcome))
        if done.verdict is not None:
            print_judged(done.verdict)
    print("\n".join(sentences(done.outcome.fidelity)))
    if done.outcome.outcome == "complete" and not done.analysed:
        print(f"Next: cbn analyze {done.directory.path}")


def _sentence(path: Path, outcome: Outcome) -> str:
    match outcome.outcome:
        case "complete":
            return f"{path}: complete, {how_many(outcome.captured_frames, 'frame')} captured"
        case "failed":
            return f"{path}: failed: {outcome.message}\nWhat was recorded is kept there; see logs/."
        case "interrupted":
            return f"{path}: {outcome.message}; what was recorded is kept there"


COMMAND = Command("run a scenario", _arguments, _run, RUNS, _HELP)

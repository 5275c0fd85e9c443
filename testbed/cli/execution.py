"""Executes one plan and reports the result, for every command that runs something.

Here: the world, the directory, the run, its verdict, the exit code. Not here:
many runs of one scenario (`matrix`).
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.expectations import passed
from testbed.cli import exits, judging
from testbed.cli.command import asked_of_spark
from testbed.cli.progress import progress
from testbed.emu.options import EmuOptions
from testbed.plan.model import Plan
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory, RunDirectoryError, new_run_id
from testbed.runs.lock import InUseError, held
from testbed.runs.world import Outcome, Progress, World

if TYPE_CHECKING:
    from rich.table import Table

    from analysis.settings import Asked

RUNS = Path("runs")
Verdict = dict[str, object]

_MEANING = {
    "wanted": "pairs of message and subscriber that match",
    "owed": "of these, had to arrive",
    "delivered": "arrived, owed or allowed",
    "missing": "had to arrive and did not",
    "duplicate": "copies too many",
    "spurious": "arrived where nobody had asked",
    "lost": "wanted and not owed, and did not arrive",
    "unknown": "had to arrive, and the captures do not show whether",
}


@dataclass(frozen=True, slots=True)
class Executed:
    """A run that has ended."""

    directory: RunDirectory
    world: str
    outcome: Outcome
    verdict: Verdict | None
    """None: it was not to be judged, could not be, or is not complete."""
    analysed: bool = False
    """Whether the verdict is that of the analysis."""

    def summary(self) -> Verdict:
        """What `--json` prints."""
        return {
            "run_id": self.directory.run_id,
            "directory": str(self.directory.path),
            "world": self.world,
            "outcome": self.outcome.outcome,
            "message": self.outcome.message,
            "fidelity": self.outcome.fidelity and self.outcome.fidelity.to_json(),
            "verdict": self.verdict,
        }

    @property
    def exit_code(self) -> int:
        """How it went, for scripts."""
        if self.outcome.outcome == "failed":
            return exits.FAILED
        if self.outcome.outcome == "interrupted":
            terminated = signal.SIGTERM.name in self.outcome.message
            return exits.TERMINATED if terminated else exits.INTERRUPTED
        return exits.OK if self.verdict is None or passed(self.verdict) else exits.NOT_CLEAN


def execute(
    args: argparse.Namespace,
    plan: Plan,
    *,
    scenario: str | None,
    world: str,
    options: EmuOptions,
    to_analyse: bool,
    cluster: World | None = None,
    replay_of: str = "",
) -> Executed:
    """Run a plan, and judge the run: by analysing it if that is asked for, else quickly.

    Args:
        args: With `out`, `force`, `quiet` and `judge`.
        plan: What to run.
        scenario: The text that it was made of, if known.
        world: Its name, or `auto`.
        options: How to emulate.
        to_analyse: Whether the run is analysed when it is complete.
        cluster: The world, if it is that of some machines.
        replay_of: The id of the run that is repeated, if one is.

    Raises:
        CommandError: it cannot be done on this machine, or there.
    """
    asked = asked_of_spark(args) if to_analyse else None
    if asked is not None:
        check_analysable(asked)
    elif args.judge:
        judging.check_judgeable(plan)
    with progress(args.quiet) as shown:
        chosen = able(cluster, plan) if cluster else choose_world(world, plan, shown, options)
        directory = directory_for(plan.name, chosen.name, args.out, args.force)
        if not args.quiet:
            what = f"{replay_of} again," if replay_of else plan.name
            shown.say(f"{what} in the world {chosen.name}, seed {plan.seed}, into {directory.path}")
        try:
            outcome = conduct(plan, chosen, directory, shown, scenario=scenario, replay_of=replay_of)
        except OSError as error:
            why = f"{error.filename or directory.path}: {error.strerror}"
            hint = "; make room, or name another place with --out" if error.errno == errno.ENOSPC else ""
            raise exits.CommandError(f"the run broke off: {why}{hint}", exits.FAILED) from error
        verdict = None
        if outcome.outcome == "complete" and asked is not None:
            verdict = analyse(directory.path, shown, asked)
        elif outcome.outcome == "complete" and args.judge:
            verdict = judging.judge(directory.path, plan, shown)
    return Executed(directory, chosen.name, outcome, verdict, to_analyse)


def choose_world(name: str, plan: Plan, shown: Progress, options: EmuOptions) -> World:
    """The world of that name, or for `auto` the best one that can run the plan here; never chosen silently.

    Raises:
        CommandError: the plan cannot run there on this machine.
    """
    world = _world("emu" if name == "auto" else name, options)
    problems = world.problems(plan)
    if name == "auto" and problems:
        shown.say("\n  ".join(["world sim, because this plan cannot be emulated here:", *problems]))
        return choose_world("sim", plan, shown, options)
    if name == "auto":
        shown.say("world emu: this machine can emulate (--world sim simulates instead)")
    if name == "sim" and options != EmuOptions():
        shown.say("the simulator keeps its own time and links: --dilate and --links mean nothing to it")
    return able(world, plan)


def able(world: World, plan: Plan) -> World:
    """The world itself.

    Raises:
        CommandError: the plan cannot run there.
    """
    if problems := world.problems(plan):
        lines = [f"this cannot run in the world {world.name} on this machine:", *problems]
        raise exits.CommandError("\n  ".join(lines), exits.MACHINE)
    return world


def _world(name: str, options: EmuOptions) -> World:
    if name == "emu":
        from testbed.emu.world import EmulatedWorld

        return EmulatedWorld(options)
    from testbed.sim.world import SimulatedWorld

    return SimulatedWorld()


def directory_for(name: str, world: str, out: Path | None, force: bool) -> RunDirectory:
    """The directory of a new run: `out`, or a place of its own under `runs`."""
    run_id = new_run_id(name, world)
    with exits.explained(RunDirectoryError):
        return RunDirectory.create(out or RUNS / run_id, run_id, force=force)


def analyse(directory: Path, shown: Progress, asked: Asked) -> dict[str, object]:
    """The verdict over the run in `directory`.

    Raises:
        CommandError: the analysis cannot be done here, or this is no run.
    """
    check_analysable(asked)
    from analysis import AnalysisError
    from analysis.pipeline import analyze as run_analysis

    try:
        with held(directory):
            return run_analysis(directory, progress=shown, asked=asked)
    except (AnalysisError, InUseError) as error:
        raise exits.CommandError(str(error), exits.FAILED) from error
    except OSError as error:
        raise exits.CommandError(f"{error.filename}: {error.strerror}", exits.FAILED) from error


def check_analysable(asked: Asked | None = None) -> None:
    """Find out before any work that this machine cannot analyse.

    Args:
        asked: What a person asks of Spark; with Spark Connect, there is no Java here.

    Raises:
        CommandError: something is missing; the text names how to get it.
    """
    check_installed()
    from analysis import AnalysisError
    from analysis.java import find_java

    if asked is None or not asked.connects:
        with exits.explained(AnalysisError, code=exits.MACHINE):
            find_java(os.environ)


def check_installed() -> None:
    """Find out before any work whether the packages of the analysis are there.

    Raises:
        CommandError: one is missing; the text names how to get it.
    """
    missing = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
    if missing:
        raise exits.CommandError(
            f"the analysis needs {' and '.join(missing)}: run `make build`, "
            "or `pip install 'cbn-testbed[analysis]'`; `cbn doctor` shows what else is missing",
            exits.MACHINE,
        )


def print_verdict(directory: Path, verdict: dict[str, object]) -> None:
    """The verdict for people."""
    from rich.console import Console

    console = Console()
    console.print(_table(verdict))
    for sentence in (verdict["headline"], *_texts(verdict["notes"])):
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    for text in judging.expectation_lines(verdict):
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    for problem in _texts(verdict["problems"]):
        console.print(f"! {problem}", markup=False, highlight=False)
    # Not through rich, which would break a long path over two lines.
    print(f"report: {directory / 'report.html'}")


def _texts(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _table(verdict: dict[str, object]) -> Table:
    from rich.table import Table

    ok = bool(verdict["ok"])
    title = str(verdict["verdict"])
    table = Table(title=title if ok else title.upper(), title_style="bold green" if ok else "bold red")
    table.add_column("verdict")
    table.add_column("count", justify="right")
    table.add_column("which are", style="dim")
    for name, meaning in _MEANING.items():
        wrong = name in {"missing", "duplicate", "spurious"} and verdict[name]
        table.add_row(name, f"{verdict[name]:,}", meaning, style="red" if wrong else None)
    return table

"""One plan executed, and what a person or a script is told of it: for every command that runs something.

Here: the world, the directory, the run, its verdict, the exit code. Not here:
many runs of one scenario (`matrix`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.expectations import measured_text, passed
from testbed.cli import exits
from testbed.emu.options import EmuOptions
from testbed.plan.model import Plan
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory, RunDirectoryError, new_run_id
from testbed.runs.world import Outcome, Progress, World

if TYPE_CHECKING:
    from rich.table import Table

RUNS = Path("runs")
Verdict = dict[str, object]

_MEANING = {
    "expected": "pairs of message and subscriber that had to meet",
    "delivered": "pairs that did",
    "missing": "had to arrive and did not",
    "duplicate": "copies beyond the first",
    "spurious": "arrived where nobody had asked",
}


def choose_world(name: str, plan: Plan, progress: Progress, options: EmuOptions | None = None) -> World:
    """The world of that name, or for `auto` the best one that can run the plan here; never chosen silently.

    Args:
        name: `sim`, `emu` or `auto`.
        plan: what is to run.
        progress: is told which was chosen and why.
        options: how to emulate; the simulator needs none.

    Raises:
        CommandError: the plan cannot run there on this machine.
    """
    if name == "auto":
        return _best(plan, progress, options)
    world = _world(name, options)
    if name == "sim" and options not in (None, EmuOptions()):
        progress.say("the simulator keeps its own time and links: --dilate and --links mean nothing to it")
    problems = world.problems(plan)
    if problems:
        raise exits.CommandError(_cannot(name, problems), exits.MACHINE)
    return world


def _best(plan: Plan, progress: Progress, options: EmuOptions | None) -> World:
    emulated = _world("emu", options)
    problems = emulated.problems(plan)
    if not problems:
        progress.say("world emu: this machine can emulate (--world sim simulates instead)")
        return emulated
    progress.say("world sim, because this plan cannot be emulated here:")
    for problem in problems:
        progress.say(f"  {problem}")
    return choose_world("sim", plan, progress, options)


def _world(name: str, options: EmuOptions | None) -> World:
    if name == "emu":
        from testbed.emu.world import EmulatedWorld

        return EmulatedWorld(options)
    from testbed.sim.world import SimulatedWorld

    return SimulatedWorld()


def _cannot(name: str, problems: list[str]) -> str:
    return "\n".join([f"this cannot run in the world {name} on this machine:", *(f"  {p}" for p in problems)])


def directory_for(plan: Plan, world: World, out: Path | None, force: bool) -> RunDirectory:
    """The new run's directory: `out`, or a place of its own under `runs`."""
    run_id = new_run_id(plan.name, world.name)
    try:
        return RunDirectory.create(out or RUNS / run_id, run_id, force=force)
    except RunDirectoryError as error:
        raise exits.CommandError(str(error), exits.USAGE) from error


def execute(
    plan: Plan,
    world: World,
    directory: RunDirectory,
    shown: Progress,
    *,
    scenario: str | None,
    replay_of: str = "",
) -> Outcome:
    """The run; see `conduct`."""
    try:
        return conduct(plan, world, directory, shown, scenario=scenario, replay_of=replay_of)
    except RunDirectoryError as error:
        raise exits.CommandError(str(error), exits.USAGE) from error
    except OSError as error:
        place = error.filename or directory.path
        raise exits.CommandError(f"the run broke off: {place}: {error.strerror}", exits.FAILED) from error


def verdict_of(directory: RunDirectory, outcome: Outcome, shown: Progress) -> Verdict | None:
    """The analysis of a run that is complete."""
    if outcome.outcome != "complete":
        return None
    return analyse(directory.path, shown)


def summary(directory: RunDirectory, world: World, outcome: Outcome, verdict: Verdict | None) -> Verdict:
    """What `--json` prints."""
    return {
        "run_id": directory.run_id,
        "directory": str(directory.path),
        "world": world.name,
        "outcome": outcome.outcome,
        "message": outcome.message,
        "fidelity": outcome.fidelity and outcome.fidelity.to_json(),
        "verdict": verdict,
    }


def exit_code(outcome: Outcome, verdict: Verdict | None) -> int:
    """How it went, for scripts."""
    if outcome.outcome == "failed":
        return exits.FAILED
    if outcome.outcome == "interrupted":
        terminated = signal.SIGTERM.name in outcome.message
        return exits.TERMINATED if terminated else exits.INTERRUPTED
    return exits.OK if verdict is None or passed(verdict) else exits.NOT_CLEAN


def analyse(directory: Path, shown: Progress) -> dict[str, object]:
    """The verdict over the run in `directory`.

    Raises:
        CommandError: the analysis cannot be done here, or this is no run.
    """
    check_analysable()
    from analysis.errors import AnalysisError
    from analysis.pipeline import analyze as run_analysis

    try:
        return run_analysis(directory, progress=shown)
    except AnalysisError as error:
        raise exits.CommandError(str(error), exits.FAILED) from error


def check_analysable() -> None:
    """Find out before any work that this machine cannot analyse.

    Raises:
        CommandError: something is missing; the text says how to get it.
    """
    from analysis.errors import AnalysisError
    from analysis.java import find_java

    missing = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
    if missing:
        raise exits.CommandError(
            f"the analysis needs {' and '.join(missing)}: run `make build`, "
            "or `pip install 'cbn-testbed[analysis]'`; `cbn doctor` shows what else is missing",
            exits.MACHINE,
        )
    try:
        find_java(os.environ)
    except AnalysisError as error:
        raise exits.CommandError(str(error), exits.MACHINE) from error


def print_verdict(directory: Path, verdict: dict[str, object]) -> None:
    """The verdict for people."""
    from rich.console import Console

    console = Console()
    console.print(_table(verdict))
    for text in _expectations(verdict):
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    for problem in verdict["problems"] if isinstance(verdict["problems"], list) else ():
        console.print(f"! {problem}", markup=False, highlight=False)
    # Not through rich, which would break a long path over two lines.
    print(f"report: {directory / 'report.html'}")


def _expectations(verdict: dict[str, object]) -> Iterator[str]:
    """A line each: what was expected, what was measured, and whether it holds."""
    expectations = verdict.get("expectations")
    for expectation in expectations if isinstance(expectations, list) else ():
        so = "holds" if expectation["holds"] else "DOES NOT HOLD"
        why = f" ({expectation['why']})" if expectation["why"] and not expectation["holds"] else ""
        yield f"{so}: {expectation['text']}: measured {measured_text(expectation)}{why}"


def _table(verdict: dict[str, object]) -> Table:
    from rich.table import Table

    clean = bool(verdict["ok"])
    table = Table(title="clean" if clean else "NOT CLEAN", title_style="bold green" if clean else "bold red")
    table.add_column("verdict")
    table.add_column("count", justify="right")
    table.add_column("which are", style="dim")
    for name, meaning in _MEANING.items():
        wrong = name in {"missing", "duplicate", "spurious"} and verdict[name]
        table.add_row(name, f"{verdict[name]:,}", meaning, style="red" if wrong else None)
    return table

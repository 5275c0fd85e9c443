"""What commands that carry out one plan have in common: directory, run, summary, exit code."""

from __future__ import annotations

import signal
from pathlib import Path

from analysis.expectations import passed
from testbed.cli import exits
from testbed.plan.model import Plan
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory, RunDirectoryError, new_run_id
from testbed.runs.replay import Origin
from testbed.runs.world import Outcome, Progress, World

RUNS = Path("runs")
Verdict = dict[str, object]


def directory_for(plan: Plan, world: World, out: Path | None, force: bool) -> RunDirectory:
    """The new run's directory: `out`, or a place of its own under `runs`."""
    run_id = new_run_id(plan.name, world.name)
    try:
        return RunDirectory.create(out or RUNS / run_id, run_id, force=force)
    except RunDirectoryError as error:
        raise exits.CommandError(str(error), exits.USAGE) from error


def carry_out(
    plan: Plan, world: World, directory: RunDirectory, shown: Progress, origin: Origin | None = None
) -> Outcome:
    """The run; an `origin` stands in the manifest of one that repeats another."""
    try:
        return conduct(plan, world, directory, shown, origin)
    except RunDirectoryError as error:
        raise exits.CommandError(str(error), exits.USAGE) from error
    except OSError as error:
        place = error.filename or directory.path
        raise exits.CommandError(f"the run broke off: {place}: {error.strerror}", exits.FAILED) from error


def verdict_of(directory: RunDirectory, outcome: Outcome, shown: Progress) -> Verdict | None:
    """The analysis of a run that is complete."""
    if outcome.outcome != "complete":
        return None
    from testbed.cli.analyze import analyse

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

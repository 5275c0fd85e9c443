"""Conducts a run: keeps what it was told, lets the world run, says how it ended."""

from __future__ import annotations

import time
from pathlib import Path

from testbed.plan import plan_to_yaml
from testbed.plan.model import Plan
from testbed.runs.directory import MANIFEST, RunDirectory
from testbed.runs.manifest import manifest
from testbed.runs.world import Outcome, Progress, World

_UNFINISHED = Outcome(
    "interrupted", "the run was killed before it could end; `cbn clean` removes what it left"
)


def conduct(plan: Plan, world: World, directory: RunDirectory, progress: Progress) -> Outcome:
    """Run `plan` in `world` and leave a complete run directory.

    The manifest is written before the run too, so that the directory of a run
    that is killed is known for what it is.
    """
    directory.write_text("plan.yaml", plan_to_yaml(plan))
    directory.write_text("scenario.yaml", Path(plan.scenario_path).read_text(encoding="utf-8"))
    directory.write_json(MANIFEST, manifest(plan, directory.run_id, world.name, _UNFINISHED))
    started = time.monotonic()
    try:
        outcome = world.run(plan, directory, progress)
    except Exception as defect:
        _write_manifest(plan, world, directory, Outcome("failed", f"a defect: {defect!r}"), started)
        raise
    _write_manifest(plan, world, directory, outcome, started)
    return outcome


def _write_manifest(
    plan: Plan, world: World, directory: RunDirectory, outcome: Outcome, started: float
) -> None:
    document = manifest(plan, directory.run_id, world.name, outcome)
    directory.write_json(MANIFEST, {**document, "wall_s": round(time.monotonic() - started, 3)})

"""Conducts a run: records the plan, lets the world run it, records how it ended."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from testbed.plan.model import Plan
from testbed.plan.recorded import MANIFEST, PLAN, plan_digest, plan_to_json
from testbed.runs.directory import RunDirectory, RunDirectoryError
from testbed.runs.manifest import manifest
from testbed.runs.replay import Origin
from testbed.runs.world import Outcome, Progress, World

_UNFINISHED = Outcome(
    "interrupted", "the run was killed before it could end; `cbn clean` removes what it left"
)


def conduct(
    plan: Plan, world: World, directory: RunDirectory, progress: Progress, origin: Origin | None = None
) -> Outcome:
    """Run `plan` in `world` and leave a complete run directory.

    The manifest is written before the run too, so that the directory of a run
    that is killed is known for what it is.

    Args:
        plan: What to run.
        world: Where.
        directory: What is left of it goes there.
        progress: Is told how far it is.
        origin: Of a plan that comes from an earlier run; else it comes from the file that it names.

    Raises:
        RunDirectoryError: the scenario is not any more what the plan was made of.
    """
    scenario = _reread(plan) if origin is None else origin.scenario
    text = plan_to_json(plan)
    directory.write_text(PLAN, text)
    if scenario is not None:
        directory.write_text("scenario.yaml", scenario)
    repeats = {} if origin is None else {"replay_of": origin.run_id}
    about = {"plan_sha256": plan_digest(text), **repeats}

    def write_manifest(outcome: Outcome, **more: object) -> None:
        document = manifest(plan, directory.run_id, world.name, outcome)
        directory.write_json(MANIFEST, {**document, **about, **more})

    write_manifest(_UNFINISHED)
    started = time.monotonic()
    try:
        outcome = world.run(plan, directory, progress)
    except Exception as defect:
        write_manifest(Outcome("failed", f"a defect: {defect!r}"), wall_s=_since(started))
        raise
    write_manifest(outcome, wall_s=_since(started))
    return outcome


def _reread(plan: Plan) -> str:
    """The scenario as it was when the plan was made."""
    content = Path(plan.scenario_path).read_bytes()
    if hashlib.sha256(content).hexdigest() != plan.scenario_sha256:
        raise RunDirectoryError(
            f"{plan.scenario_path} changed while it was read (or is not a file); run it again"
        )
    return content.decode()


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)

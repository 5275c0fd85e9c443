"""Conducts a run: records the plan, lets the world run it, records how it ended."""

from __future__ import annotations

import time

from testbed.plan.model import Plan
from testbed.plan.recorded import MANIFEST, PLAN, plan_digest, plan_to_json
from testbed.runs.directory import RunDirectory
from testbed.runs.manifest import manifest
from testbed.runs.world import Outcome, Progress, World

_UNFINISHED = Outcome(
    "interrupted", "the run was killed before it could end; `cbn clean` removes what it left"
)


def conduct(
    plan: Plan,
    world: World,
    directory: RunDirectory,
    progress: Progress,
    *,
    scenario: str | None,
    replay_of: str = "",
) -> Outcome:
    """Run `plan` in `world` and leave a complete run directory.

    The manifest is written before the run too, so that the directory of a run
    that is killed is known for what it is.

    Args:
        plan: What to run.
        world: Where.
        directory: What is left of it goes there.
        progress: Shows how far it is.
        scenario: The text that the plan was made of; None where it is not known any more.
        replay_of: The id of the run that is repeated, if one is.
    """
    text = plan_to_json(plan)
    directory.write_text(PLAN, text)
    if scenario is not None:
        directory.write_text("scenario.yaml", scenario)
    repeats = {"replay_of": replay_of} if replay_of else {}
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


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)

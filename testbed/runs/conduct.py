"""Conducts a run: records the plan, lets the world run it, records how it ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path

from testbed.plan.model import Plan
from testbed.plan.recorded import (
    MANIFEST,
    PLAN,
    VERDICTS,
    plan_digest,
    plan_entries,
    plan_text,
    read_manifest,
    work_digest,
)
from testbed.runs.directory import RunDirectory
from testbed.runs.lock import held
from testbed.runs.manifest import about_plan, manifest
from testbed.runs.world import Outcome, Progress, World

_UNFINISHED = Outcome(
    "interrupted",
    "the run was killed, or had no room to write, before it could end; `cbn clean` removes what it left",
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
    that is killed is known for what it is; not of one apart, which nobody finds then.

    Args:
        plan: What to run.
        world: Where.
        directory: What is left of it goes there.
        progress: Shows how far it is.
        scenario: The text that the plan was made of; None where it is not known any more.
        replay_of: The id of the run that is repeated, if one is.

    Raises:
        InUseError: Another process is at work in the directory.
    """
    repeats = {"replay_of": replay_of} if replay_of else {}
    with nullcontext() if directory.apart else held(directory.path):
        about = {**_record(plan, directory, scenario), **repeats}
        return _conduct(plan, world, directory, progress, about)


def _conduct(
    plan: Plan, world: World, directory: RunDirectory, progress: Progress, about: Mapping[str, object]
) -> Outcome:

    def write_manifest(outcome: Outcome, **more: object) -> None:
        document = manifest(plan, directory.run_id, world.name, outcome)
        directory.write_json(MANIFEST, {**document, **about, **more})

    if not directory.apart:
        write_manifest(_UNFINISHED)
    started = time.monotonic()
    try:
        outcome = world.run(plan, directory, progress)
    except Exception as error:
        with suppress(OSError):  # where nothing can be written, what was written before the run stays
            write_manifest(Outcome("failed", _reason(error, directory)), wall_s=_since(started))
        raise
    write_manifest(outcome, wall_s=_since(started))
    return outcome


def _reason(error: Exception, directory: RunDirectory) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or directory.path}: {error.strerror}"
    return f"a defect: {error!r}"


def record_anew(plan: Plan, path: Path, scenario: str) -> None:
    """Give a complete run of the same work this plan, which expects something else of it."""
    before = read_manifest(path)
    directory = RunDirectory(path, str(before["run_id"]))
    for verdict in VERDICTS:
        (path / verdict).unlink(missing_ok=True)
    directory.write_json(MANIFEST, {**before, **about_plan(plan), **_record(plan, directory, scenario)})


def _record(plan: Plan, directory: RunDirectory, scenario: str | None) -> dict[str, object]:
    """Keep the plan and its text; returns what the manifest has of them."""
    entries = plan_entries(plan)
    text = plan_text(entries)
    directory.write_text(PLAN, text)
    if scenario is not None:
        directory.write_text("scenario.yaml", scenario)
    return {"plan_sha256": plan_digest(text), "work_sha256": work_digest(entries)}


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)

"""A recorded run, to be run again: its plan, and the text of its scenario."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from testbed.plan.model import Plan
from testbed.plan.recorded import read_manifest, read_plan


@dataclass(frozen=True, slots=True)
class Recording:
    """A run as it can be repeated."""

    run_id: str
    plan: Plan
    scenario: str | None
    """The text of the scenario; None where it is not known any more."""
    world: str
    dilate: int = 1
    """How many times slower than real time it went."""
    notes: tuple[str, ...] = ()
    """What a person should know."""


def load_recording(path: Path) -> Recording:
    """The run of a directory.

    Raises:
        RecordedRunError: There is no run in it that can be repeated.
    """
    manifest = read_manifest(path)
    plan = read_plan(path, manifest)
    scenario = _scenario(path / "scenario.yaml", plan.scenario_sha256)
    notes = () if scenario is not None else ("its scenario.yaml is not what the plan was made of: left out",)
    dilate = max(manifest["dilate"], 1)
    return Recording(manifest["run_id"], plan, scenario, manifest["world"], dilate, notes)


def _scenario(path: Path, sha256: str) -> str | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None  # the plan is enough; that the text is missing is noted
    return content.decode() if hashlib.sha256(content).hexdigest() == sha256 else None

"""A run that was kept, taken up to be run again: its plan, and the text it came from.

Here: reading what a run directory keeps for that. Not here: running (`conduct`).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from testbed.plan import load_recorded
from testbed.plan.model import Plan
from testbed.runs.directory import MANIFEST, is_run_directory


class NoRunError(Exception):
    """There is no run to repeat; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a plan comes from, if not from the scenario file that it names."""

    run_id: str
    """Of the run that is repeated."""
    scenario: str | None
    """The text of the scenario; None where it is not known any more."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A run as it can be repeated."""

    plan: Plan
    world: str
    origin: Origin
    dilate: int = 1
    """How many times slower than real time it went."""
    notes: tuple[str, ...] = ()
    """What a person should know."""


def load_recording(path: Path) -> Recording:
    """The run of a directory.

    Raises:
        NoRunError: It is not a run directory.
        ScenarioError: Its plan is damaged, or was changed into what no world could carry out.
    """
    if not path.is_dir():
        raise NoRunError(f"{path}: there is no such directory; name one that `cbn run` has written")
    if not is_run_directory(path):
        raise NoRunError(f"{path} holds no run: there is no {MANIFEST} of one in it")
    manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    plan = load_recorded(path / "plan.yaml")
    scenario = _scenario(path / "scenario.yaml", plan.scenario_sha256)
    notes = () if scenario is not None else ("its scenario.yaml is not what the plan was made of: left out",)
    origin = Origin(str(manifest["run_id"]), scenario)
    return Recording(plan, str(manifest.get("world", "")), origin, _dilation(manifest.get("dilate")), notes)


def _dilation(told: object) -> int:
    """Runs of before there was any have none."""
    return told if isinstance(told, int) and told >= 1 else 1


def _scenario(path: Path, sha256: str) -> str | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None  # the plan is enough; that the text is missing is noted
    return content.decode() if hashlib.sha256(content).hexdigest() == sha256 else None

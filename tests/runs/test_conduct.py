"""A run directory is complete however its world ends."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.plan.load import load_plan, read_scenario
from testbed.plan.model import Plan
from testbed.plan.recorded import plan_from_json
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.runs.interruption import Interruption
from testbed.runs.manifest import git_revision
from testbed.runs.world import Outcome, Progress

SCENARIO = Path(__file__).parents[2] / "topologies" / "scenarios" / "single-router.yaml"


class Silence:
    def phase(self, name: str, total: int | None = None) -> None: ...

    def advance(self, done: int) -> None: ...

    def say(self, text: str) -> None: ...


class World:
    """A world that ends as it is told."""

    name = "sim"

    def __init__(self, ending: Outcome | BaseException) -> None:
        self.ending = ending
        self.manifest_before: dict[str, object] = {}

    def problems(self, plan: Plan) -> list[str]:
        return []

    def run(self, plan: Plan, directory: RunDirectory, progress: Progress) -> Outcome:
        self.manifest_before = json.loads((directory.path / "manifest.json").read_text())
        if isinstance(self.ending, BaseException):
            raise self.ending
        return self.ending


def manifest_after(world: World, path: Path) -> dict[str, object]:
    scenario = read_scenario(SCENARIO)
    directory = RunDirectory.create(path, "x")
    conduct(scenario.plan(), world, directory, Silence(), scenario=scenario.text)
    return json.loads((path / "manifest.json").read_text())


def test_the_outcome_stands_in_the_manifest(tmp_path: Path) -> None:
    outcome = Outcome("complete", start_ns=5, end_ns=9, phases={"ready_s": 1.5}, captured_frames=3)
    manifest = manifest_after(World(outcome), tmp_path)
    assert manifest["outcome"] == "complete"
    assert (manifest["start_ns"], manifest["end_ns"]) == (5, 9)
    assert manifest["phases"] == {"ready_s": 1.5}
    assert manifest["captures"] == {"frames": 3, "drops": 0}
    assert manifest["wall_s"] >= 0


def test_the_plan_and_the_scenario_are_kept_as_they_were(tmp_path: Path) -> None:
    manifest_after(World(Outcome("complete")), tmp_path)
    assert (tmp_path / "scenario.yaml").read_bytes() == SCENARIO.read_bytes()
    assert plan_from_json((tmp_path / "plan.json").read_text()) == load_plan(SCENARIO)


def test_a_scenario_that_changes_meanwhile_is_kept_as_it_was_when_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(SCENARIO.read_bytes())
    scenario = read_scenario(path)
    path.write_text("name: other\n")
    plan = scenario.plan()
    directory = RunDirectory.create(tmp_path / "run", "x")
    conduct(plan, World(Outcome("complete")), directory, Silence(), scenario=scenario.text)
    assert (tmp_path / "run" / "scenario.yaml").read_bytes() == SCENARIO.read_bytes()
    assert plan == replace(load_plan(SCENARIO), scenario_path=str(path))
    assert hashlib.sha256(SCENARIO.read_bytes()).hexdigest() == plan.scenario_sha256


def test_during_a_run_the_manifest_says_what_a_kill_would_leave(tmp_path: Path) -> None:
    world = World(Outcome("complete"))
    manifest_after(world, tmp_path)
    assert world.manifest_before["outcome"] == "interrupted"
    assert "killed" in str(world.manifest_before["message"])


def test_a_defect_of_a_world_is_in_the_manifest_and_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        manifest_after(World(ZeroDivisionError("oops")), tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["outcome"] == "failed"
    assert "ZeroDivisionError" in manifest["message"]


def test_an_interruption_passes_whoever_catches_exceptions() -> None:
    assert not issubclass(Interruption, Exception)
    assert str(Interruption("SIGTERM")) == "interrupted by SIGTERM"


def test_the_git_revision_says_if_the_tree_was_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    assert git_revision(tmp_path) is None
    git("init")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-m", "first")
    clean = git_revision(tmp_path)
    assert clean is not None
    assert len(clean) == 40
    (tmp_path / "a").write_text("2")
    assert git_revision(tmp_path) == clean + "-dirty"

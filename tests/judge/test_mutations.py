"""Defects planted in a copy of a real run directory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from analysis.quick.judge import judge as judge_quickly
from tests.judge.editing import Edited
from tests.judge.judging.verdict import judge
from tests.judge.mutations import DEFECTS, SCENARIO, UNKNOWN
from tests.judge.runs import carry_out


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return carry_out(SCENARIO, tmp_path_factory.mktemp("planted"))


def planted(run: Path, folder: Path, name: str) -> Path:
    """A copy of a run with a defect in it."""
    copy = Path(shutil.copytree(run, folder / "run"))
    DEFECTS[name].plant(Edited(copy))
    return copy


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@pytest.mark.sim
@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_changes_the_run(simulated: Path, tmp_path: Path, name: str) -> None:
    copy = planted(simulated, tmp_path, name)
    files = [path.relative_to(simulated) for path in simulated.rglob("*") if path.is_file()]
    changed = [f for f in files if _content(copy / f) != _content(simulated / f)]
    assert changed


@pytest.mark.sim
@pytest.mark.parametrize("name", DEFECTS)
def test_the_quick_verdict_names_a_defect_or_says_that_it_does_not_look_for_it(
    simulated: Path, tmp_path: Path, name: str
) -> None:
    assert judge_quickly(simulated)["verdict"] == "clean"
    verdict, defect = judge_quickly(planted(simulated, tmp_path, name)), DEFECTS[name]
    if defect.key in verdict["unchecked"]:
        assert defect.key not in verdict["checks"]
        return
    found, problems = verdict["checks"][defect.key], verdict["problems"]
    assert found == defect.count if defect.count is not None else found, (verdict["checks"], problems)
    assert any(all(word in problem for word in defect.named) for problem in problems), problems
    assert verdict["missing"] == 0
    assert not verdict["ok"]


@pytest.mark.sim
@pytest.mark.parametrize("name", UNKNOWN)
def test_without_a_capture_a_delivery_is_unknown_and_not_missing(
    simulated: Path, tmp_path: Path, name: str
) -> None:
    whole, _ = judge(simulated)
    counts, _ = judge(planted(simulated, tmp_path, name))
    assert whole["owed"] == whole["delivered"] > 0
    assert counts["missing"] == 0
    assert counts["unknown"] == counts["owed"] - counts["delivered"] > 0

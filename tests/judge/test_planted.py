"""What the analysis says of a run directory that was changed by hand: the defect, named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from analysis.pipeline import analyze
from tests.judge.editing import Edited
from tests.judge.mutations import DEFECTS, SCENARIO, UNKNOWN
from tests.judge.runs import carry_out

pytestmark = [pytest.mark.sim, pytest.mark.spark]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return carry_out(SCENARIO, tmp_path_factory.mktemp("planted"))


def test_a_run_without_a_defect_passes_every_check(simulated: Path, tmp_path: Path) -> None:
    verdict = analyze(Path(shutil.copytree(simulated, tmp_path / "run")))
    assert not any(verdict["checks"].values()), verdict["checks"]
    assert verdict["verdict"] == "clean", verdict["problems"]


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_found_and_named(simulated: Path, tmp_path: Path, name: str) -> None:
    assert_found(simulated, tmp_path, name)


def assert_found(run: Path, folder: Path, name: str) -> None:
    """The check that is to find it has, a problem has the names, and no delivery is called missing.

    A clock that could be corrected is no problem: a note has its name.
    """
    defect, copy = DEFECTS[name], Path(shutil.copytree(run, folder / "run"))
    defect.plant(Edited(copy))
    verdict = analyze(copy)
    found, problems = verdict["checks"][defect.key], verdict["problems"]
    assert found == defect.count if defect.count is not None else found, (verdict["checks"], problems)
    said = verdict["notes"] if defect.key == "clock_offsets" else problems
    assert any(all(word in text for word in defect.named) for text in said), said
    if name in UNKNOWN:
        assert verdict["missing"] == 0
        assert verdict["unknown"] > 0

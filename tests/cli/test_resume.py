"""`cbn run --resume`: what is complete is kept, what is new is run, and nothing is replaced unasked."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sim

FEW = """\
name: few
parameters: {size: 3}
matrix:
  scheme: [pif, psf]
topology: {generate: ring, size: "${size}"}
populations:
  sub: {count: 2, subscribe: [all]}
  pub: {count: 1, publish: [{message: x = 1, every: 1ms, count: 3}]}
"""
QUIETLY = ("--world", "sim", "--no-analyze", "--quiet")


@pytest.fixture
def few(tmp_path: Path, cbn: Any) -> Path:
    """A scenario whose two runs are complete, in `out`."""
    path = tmp_path / "few.yaml"
    path.write_text(FEW)
    assert cbn("run", path, *QUIETLY, "--out", "out").returncode == 0
    return path


def run_ids(folder: Path) -> dict[str, str]:
    """Of each run in a folder, the id: another one means that it was run again."""
    return {p.parent.name: json.loads(p.read_text())["run_id"] for p in folder.glob("*/manifest.json")}


def cells(folder: Path) -> set[str]:
    """Those in the table."""
    with (folder / "table.csv").open(encoding="utf-8", newline="") as table:
        return {row["cell"] for row in csv.DictReader(table)}


@pytest.mark.parametrize("other", [("--seed", "5"), ("--set", "parameters.size=4")])
def test_a_complete_run_is_not_replaced_unless_that_is_asked_for(
    cbn: Any, few: Path, tmp_path: Path, other: tuple[str, str]
) -> None:
    before = run_ids(tmp_path / "out")
    refused = cbn("run", few, *QUIETLY, "--resume", "out", *other)
    assert refused.returncode == 2
    assert "2 runs there would be replaced; nothing was touched" in refused.stderr
    assert "scheme=pif: complete; " in refused.stderr
    assert run_ids(tmp_path / "out") == before
    forced = cbn("run", few, *QUIETLY, "--resume", "out", *other, "--force")
    assert forced.returncode == 0
    assert "replaced: 2 runs\n  scheme=pif: complete; " in forced.stderr
    assert not set(run_ids(tmp_path / "out").values()) & set(before.values())


def test_a_changed_comment_changes_nothing(cbn: Any, few: Path, tmp_path: Path) -> None:
    before = run_ids(tmp_path / "out")
    few.write_text(
        "# what this is for\n" + FEW.replace("name: few\n", "name: few\ndescription: other words\n")
    )
    (tmp_path / "elsewhere.yaml").write_text(few.read_text())
    for path in (few, tmp_path / "elsewhere.yaml"):
        assert cbn("run", path, *QUIETLY, "--resume", "out").returncode == 0
        assert run_ids(tmp_path / "out") == before


def test_added_values_and_axes_are_run_and_what_is_complete_is_kept(
    cbn: Any, few: Path, tmp_path: Path
) -> None:
    before = run_ids(tmp_path / "out")
    few.write_text(FEW.replace("[pif, psf]", "[pif, psf, flood]").replace("matrix:", "matrix:\n  repeat: 2"))
    done = cbn("run", few, *QUIETLY, "--resume", "out")
    assert done.returncode == 0, done.stderr
    after = run_ids(tmp_path / "out")
    assert set(after) == {f"scheme={s},seed={n}" for s in ("pif", "psf", "flood") for n in (1, 2)}
    assert {after[f"{name},seed=1"] for name in before} == set(before.values())
    assert len(set(after.values())) == 6


def test_other_seeds_stand_in_the_table_beside_those_that_are_there(
    cbn: Any, few: Path, tmp_path: Path
) -> None:
    few.write_text(FEW.replace("matrix:", "matrix:\n  repeat: 2"))
    cbn("run", few, *QUIETLY, "--resume", "out")
    assert cbn("run", few, *QUIETLY, "--resume", "out", "--seed", "7").returncode == 0
    assert cells(tmp_path / "out") == {f"scheme={s},seed={n}" for s in ("pif", "psf") for n in (1, 2, 7, 8)}
    assert cells(tmp_path / "out") == set(run_ids(tmp_path / "out"))


def test_an_interrupted_run_of_the_same_work_is_done_again_and_one_of_other_work_is_not(
    cbn: Any, few: Path, tmp_path: Path
) -> None:
    path = tmp_path / "out" / "scheme=pif" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "outcome": "interrupted"}))
    before = run_ids(tmp_path / "out")
    assert cbn("run", few, *QUIETLY, "--resume", "out", "--seed", "5").returncode == 2
    assert run_ids(tmp_path / "out") == before
    assert cbn("run", few, *QUIETLY, "--resume", "out").returncode == 0
    after = run_ids(tmp_path / "out")
    assert after["scheme=psf"] == before["scheme=psf"]
    assert after["scheme=pif"] != before["scheme=pif"]


def test_what_is_no_run_is_named_and_stays(cbn: Any, few: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "scheme=pif" / "manifest.json").write_text("{")
    for more in ((), ("--force",)):
        done = cbn("run", few, *QUIETLY, "--resume", "out", *more)
        assert done.returncode == 2
        assert "scheme=pif: corrupt, or no run at all; move it away" in done.stderr


def test_a_run_that_was_recorded_without_the_digest_of_its_work_is_known_by_its_plan(
    cbn: Any, few: Path, tmp_path: Path
) -> None:
    for path in (tmp_path / "out").glob("*/manifest.json"):
        manifest = json.loads(path.read_text())
        del manifest["work_sha256"]
        path.write_text(json.dumps(manifest))
    before = run_ids(tmp_path / "out")
    assert cbn("run", few, *QUIETLY, "--resume", "out").returncode == 0
    assert run_ids(tmp_path / "out") == before


def test_added_expectations_judge_complete_runs_again(cbn: Any, tmp_path: Path) -> None:
    path = tmp_path / "few.yaml"
    path.write_text(FEW)
    assert cbn("run", path, "--world", "sim", "--quiet", "--out", "out").returncode == 0
    before = run_ids(tmp_path / "out")
    path.write_text(FEW + "expect: [delivered == 0, missing == 0]\n")
    done = cbn("run", path, "--world", "sim", "--quiet", "--resume", "out")
    assert done.returncode == 1
    assert run_ids(tmp_path / "out") == before
    for name in before:
        verdict = json.loads((tmp_path / "out" / name / "judged.json").read_text())
        assert [each["holds"] for each in verdict["expectations"]] == [False, True]
    again = cbn("replay", "out/scheme=pif", "--out", "again", "--quiet")
    assert "DOES NOT HOLD: delivered == 0" in again.stdout

"""Shipped scenarios as the tests they are, at a small size: what they expect decides the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sim


@pytest.mark.spark
def test_the_network_recovers_from_an_outage_as_expected(cbn_with_spark: Any, tmp_path: Path) -> None:
    done = cbn_with_spark("run", "outage", "--world", "sim", "--out", "out", "--analyze")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "holds: missing == 0 after recovery: measured 0" in done.stdout
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert [phase["name"] for phase in verdict["phases"]] == ["calm", "storm", "after"]
    assert verdict["recovery"]["owed"] > 50
    assert verdict["recovery"]["publications"] < verdict["publications"]


@pytest.mark.spark
def test_an_expectation_that_does_not_hold_is_exit_code_1_even_of_a_clean_run(
    cbn_with_spark: Any, tiny: Path, tmp_path: Path
) -> None:
    tiny.write_text(tiny.read_text() + "expect: [missing == 0, delivered > 1000, latency.max < 1s]\n")
    done = cbn_with_spark("run", tiny, "--world", "sim", "--out", "out", "--analyze")
    assert done.returncode == 1, done.stderr
    assert "DOES NOT HOLD: delivered > 1000: measured " in done.stdout
    assert "does not hold" in (tmp_path / "out" / "report.html").read_text()


def test_expected_losses_are_exit_code_0(cbn: Any, tiny: Path) -> None:
    tiny.write_text(tiny.read_text() + "expect: [missing > 0]\n")
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--set", "topology.link_defaults.loss=0.4")
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_expected_is_judged_without_the_analysis(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    tiny.write_text(tiny.read_text() + "expect: [missing == 0, delivered > 1000, latency.max < 1s]\n")
    done = cbn("run", tiny, "--world", "sim", "--out", "out", JAVA_HOME="/nonexistent")
    assert done.returncode == 1, done.stderr
    assert "holds: missing == 0: measured 0" in done.stdout
    assert "DOES NOT HOLD: delivered > 1000: measured " in done.stdout
    assert not (tmp_path / "out" / "verdict.json").exists()


def test_a_run_of_a_matrix_that_cannot_be_judged_is_exit_code_1_if_something_is_expected(
    cbn: Any, tiny: Path, tmp_path: Path
) -> None:
    tiny.write_text(tiny.read_text() + "expect: [missing == 0]\nmatrix: {scheme: [pif, flood]}\n")
    assert cbn("run", tiny, "--world", "sim", "--out", "out").returncode == 0
    (tmp_path / "out" / "scheme=pif" / "judged.json").unlink()
    (tmp_path / "out" / "scheme=pif" / "captures" / "index.json").write_text("nonsense")
    done = cbn("run", tiny, "--world", "sim", "--resume", "out")
    assert done.returncode == 1, done.stderr
    assert "[scheme=pif] what the scenario expects cannot be judged" in done.stderr


def test_what_only_tables_show_is_analysed_if_it_is_expected(cbn: Any, tiny: Path) -> None:
    tiny.write_text(tiny.read_text() + "expect: [trees.ratio == 1]\n")
    done = cbn("run", tiny, "--world", "sim", "--out", "out", JAVA_HOME="/nonexistent")
    assert done.returncode == 3, "Java is needed, and not there"
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--no-analyze")
    assert done.returncode == 1
    assert "`cbn analyze` measures this" in done.stdout


def test_without_a_verdict_nothing_is_expected(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    tiny.write_text(tiny.read_text() + "expect: [delivered > 1000]\n")
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--no-analyze", "--no-judge")
    assert done.returncode == 0
    assert not (tmp_path / "out" / "verdict.json").exists()


def test_a_thousand_clients_are_twenty_lines_and_a_few_of_them_a_test(cbn: Any) -> None:
    from topologies.library import SCENARIOS

    lines = (SCENARIOS / "thousand.yaml").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 22
    small = [
        f"parameters.{name}={value}"
        for name, value in (("routers", 8), ("subscribers", 20), ("publishers", 4))
    ]
    done = cbn("run", "thousand", "--world", "sim", "--out", "out", *(f"--set={one}" for one in small))
    assert done.returncode == 0, done.stdout + done.stderr


SCHEMES = (
    "run", "schemes", "--world", "sim", "--out", "out", "--jobs", "2", "--set", "parameters.clients=8",
    "--only", "size=10", "--only", "scheme=pif", "--only", "scheme=flood",
)  # fmt: skip


def rows_of(done: Any, folder: Path) -> list[dict[str, Any]]:
    """Of the table of a matrix of two runs that pass."""
    assert done.returncode == 0, done.stdout + done.stderr
    rows: list[dict[str, Any]] = json.loads((folder / "out" / "table.json").read_text())["rows"]
    assert [row["passed"] for row in rows] == [True, True]
    assert rows[0]["counts"] == rows[1]["counts"]
    assert "3 of 3" in done.stdout
    return rows


def test_a_matrix_is_judged_run_by_run_and_shown_in_one_table(cbn: Any, tmp_path: Path) -> None:
    rows_of(cbn(*SCHEMES, JAVA_HOME="/nonexistent"), tmp_path)


@pytest.mark.spark
def test_a_matrix_that_is_analysed_has_the_same_table(cbn_with_spark: Any, tmp_path: Path) -> None:
    analysed = rows_of(cbn_with_spark(*SCHEMES, "--analyze"), tmp_path)
    assert (tmp_path / "out" / analysed[0]["cell"] / "report.html").exists()
    judged = rows_of(cbn_with_spark(*SCHEMES, "--force"), tmp_path)
    for quick, whole in zip(judged, analysed, strict=True):
        known = {name: cost for name, cost in quick["costs"].items() if cost is not None}
        assert known.keys() < whole["costs"].keys(), "some costs take tables"
        assert {**quick, "costs": {**whole["costs"], **known}} == whole

"""Shipped scenarios as the tests they are, at a small size: what they expect decides the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.sim, pytest.mark.spark]


def test_the_network_recovers_from_an_outage_as_expected(cbn_with_spark: Any, tmp_path: Path) -> None:
    done = cbn_with_spark("run", "outage", "--world", "sim", "--out", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "holds: missing == 0 after recovery: measured 0" in done.stdout
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert [phase["name"] for phase in verdict["phases"]] == ["calm", "storm", "after"]
    assert verdict["recovery"]["owed"] > 50
    assert verdict["recovery"]["publications"] < verdict["publications"]


def test_an_expectation_that_does_not_hold_is_exit_code_1_even_of_a_clean_run(
    cbn_with_spark: Any, tiny: Path, tmp_path: Path
) -> None:
    tiny.write_text(tiny.read_text() + "expect: [missing == 0, delivered > 1000, latency.max < 1s]\n")
    done = cbn_with_spark("run", tiny, "--world", "sim", "--out", "out")
    assert done.returncode == 1, done.stderr
    assert "DOES NOT HOLD: delivered > 1000: measured " in done.stdout
    assert "does not hold" in (tmp_path / "out" / "report.html").read_text()


def test_expected_losses_are_exit_code_0(cbn_with_spark: Any, tiny: Path) -> None:
    tiny.write_text(tiny.read_text() + "expect: [missing > 0]\n")
    done = cbn_with_spark(
        "run", tiny, "--world", "sim", "--out", "out", "--set", "topology.link_defaults.loss=0.4"
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_analysis_nothing_is_expected(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    tiny.write_text(tiny.read_text() + "expect: [delivered > 1000]\n")
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--no-analyze")
    assert done.returncode == 0
    assert not (tmp_path / "out" / "verdict.json").exists()


def test_a_thousand_clients_are_twenty_lines_and_a_few_of_them_a_test(cbn_with_spark: Any) -> None:
    from topologies.library import SCENARIOS

    lines = (SCENARIOS / "thousand.yaml").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 22
    small = [
        f"parameters.{name}={value}"
        for name, value in (("routers", 8), ("subscribers", 20), ("publishers", 4))
    ]
    done = cbn_with_spark(
        "run", "thousand", "--world", "sim", "--out", "out", *(f"--set={one}" for one in small)
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_matrix_is_analysed_run_by_run_and_shown_in_one_table(cbn_with_spark: Any, tmp_path: Path) -> None:
    done = cbn_with_spark(
        "run", "schemes", "--world", "sim", "--out", "out", "--jobs", "2", "--set", "parameters.clients=8",
        "--only", "size=10", "--only", "scheme=pif", "--only", "scheme=flood",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    table = json.loads((tmp_path / "out" / "table.json").read_text())
    assert [row["passed"] for row in table["rows"]] == [True, True]
    pif, flood = table["rows"]
    assert pif["counts"] == flood["counts"]
    assert "3 of 3" in done.stdout

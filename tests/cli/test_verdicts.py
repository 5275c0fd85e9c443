"""`cbn run --analyze` and `cbn analyze`: from a scenario to a verdict, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.counts import Counts
from testbed.cli.execution import print_verdict


@pytest.mark.sim
@pytest.mark.spark
def test_a_clean_run_is_exit_code_0_with_table_and_report(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--analyze")
    assert done.returncode == 0, done.stderr
    assert "clean" in done.stdout
    assert "report: out/report.html" in done.stdout
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert (verdict["missing"], verdict["duplicate"], verdict["spurious"]) == (0, 0, 0)
    assert verdict["delivered"] == verdict["owed"] > 0


@pytest.mark.sim
@pytest.mark.spark
def test_lost_messages_are_exit_code_1_and_a_verdict_that_counts_them(
    cbn_with_spark: Any, tiny: Path, tmp_path: Path
) -> None:
    done = cbn_with_spark(
        "run", tiny, "--world", "sim", "--out", "out", "--analyze", "--json",
        "--set", "topology.link_defaults.loss=0.4",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    verdict = json.loads(done.stdout)["verdict"]
    assert verdict["missing"] > 0


@pytest.mark.parametrize(("missing", "title"), [(0, "clean"), (3, "WRONG")])
def test_the_table_has_the_verdict_in_a_word_at_its_head_and_the_sentences_below(
    missing: int, title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = Counts(wanted=1200, owed=1200, delivered=1200 - missing, missing=missing).as_verdict()
    words = {"verdict": "wrong" if missing else "clean", "headline": "How it was.", "notes": ["a [note]"]}
    print_verdict(Path("somewhere"), {**counts, **words, "ok": not missing, "problems": ["a [problem]"]})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == title
    assert lines[-4:-2] == ["How it was.", "a [note]"]
    assert any("1,200" in line for line in lines)
    assert lines[-2:] == ["! a [problem]", "report: somewhere/report.html"]


def test_without_java_the_analysis_says_how_to_get_it(cbn: Any, tiny: Path) -> None:
    assert cbn("run", tiny, "--world", "sim", "--out", "out").returncode == 0
    done = cbn("analyze", "out", JAVA_HOME="/nonexistent")
    assert done.returncode == 3
    assert "apt-get install openjdk-17" in done.stderr

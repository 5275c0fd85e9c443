"""The table of many runs: its columns, means over seeds, and its form for programs."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import pytest

from analysis.spread import spread, student_t
from testbed.cli.columns import lines_of, print_table
from testbed.cli.table import NUMBERS, Row

pytestmark = pytest.mark.sim

SEEDS = """\
name: seeds
matrix: {scheme: [pif, flood], repeat: 3}
topology: {generate: ring, size: 5}
populations:
  sub: {count: 4, subscribe: [x < 50]}
  pub: {count: 1, publish: [{every: 10ms, count: 20, message: {x: {uniform: [0, 99]}}}]}
"""


@pytest.mark.parametrize(
    ("freedom", "bound"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (30, 2.0423), (1000, 1.9623)],
)
def test_student_t_is_that_of_the_books(freedom: int, bound: float) -> None:
    assert student_t(freedom) == pytest.approx(bound, abs=5e-5)


def test_a_mean_has_the_interval_of_its_sample() -> None:
    found = spread([10, 12, 14])
    assert found is not None
    assert (found.count, found.mean) == (3, 12)
    assert found.half == pytest.approx(4.3027 * 2 / math.sqrt(3), abs=1e-3)
    alone = spread([5])
    assert alone is not None
    assert alone.half is None
    assert spread([]) is None


def row(scheme: str, seed: int, missing: int = 0, **more: Any) -> Row:
    counts = dict.fromkeys(("wanted", "owed", "delivered", "duplicate", "spurious", "lost", "unknown"), 10**6)
    return Row(
        f"scheme={scheme},seed={seed}",
        {"scheme": scheme, "seed": seed},
        "complete",
        verdict="clean" if not missing else "wrong",
        counts=counts | {"missing": missing},
        ratios={"delivery_ratio": 1.0, "judged": 1.0},
        latency_ns={"p50": 123_456_789 + seed, "p99": 999_999_999},
        costs={"control_bytes": 1e9, "message_bytes": 1e9 + seed, "crossings": 1e6, "wasted": 1e6},
        passed=not missing,
        **more,
    )


def test_runs_that_differ_in_the_seed_alone_are_one_line() -> None:
    first, second = lines_of([row("pif", 1), row("psf", 1), row("pif", 2, missing=4), row("psf", 2)])
    assert (first.values, first.judged, first.passed) == ({"scheme": "pif"}, 2, False)
    assert (second.values, second.judged, second.passed) == ({"scheme": "psf"}, 2, True)
    missing = first.numbers["missing"]
    assert missing is not None
    assert (missing.mean, missing.count) == (2, 2)


def test_without_other_seeds_each_run_is_a_line_with_its_seed() -> None:
    lines = lines_of([row("pif", 1), row("psf", 1)])
    assert [line.values for line in lines] == [{"scheme": "pif", "seed": 1}, {"scheme": "psf", "seed": 1}]


def test_the_table_fits_a_hundred_columns_and_names_what_it_leaves_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table([row(scheme, seed, fidelity="exact") for scheme in ("pif", "psf") for seed in (1, 2, 3)])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, map(str.rstrip, lines))) <= 100
    heads = lines[0].split()
    assert heads[:3] == ["scheme", "n", "owed"]
    told = " ".join(lines)
    assert all(name in told for name in ("owed", "missing", "lost", "p50", "control_bytes", "wasted"))


def test_columns_are_chosen_and_mistyped_ones_refused_before_anything_is_run(
    cbn: Any, tmp_path: Path
) -> None:
    (tmp_path / "seeds.yaml").write_text(SEEDS)
    refused = cbn("run", "seeds.yaml", "--world", "sim", "--out", "out", "--columns", "control_byte")
    assert refused.returncode == 2
    assert "there is no column control_byte; did you mean control_bytes?" in refused.stderr
    assert not (tmp_path / "out").exists()
    done = cbn(
        "run", "seeds.yaml", "--world", "sim", "--out", "out", "--quiet", "--columns", "p99,control_bytes"
    )
    assert done.stdout.splitlines()[0].split() == ["scheme", "n", "p99", "control_bytes"]
    printed = cbn("table", "out", "--csv").stdout
    first, second = csv.DictReader(io.StringIO(printed))
    assert (first["scheme"], first["n"], first["missing"]) == ("pif", "3", "0")
    assert set(NUMBERS) < set(first)
    assert float(first["control_bytes_ci95"]) >= 0
    assert second["scheme"] == "flood"


def test_where_patterns_are_sought_the_table_shows_the_matches_that_were_owed(
    cbn: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    cbn("run", "factored", "--world", "sim", "--quiet", "--out", out)
    owed = [
        int(each["matches_owed"]) for each in csv.DictReader(io.StringIO(cbn("table", out, "--csv").stdout))
    ]
    assert len(owed) == 2
    assert min(owed) > 30
    assert "matches_owed" in cbn("table", out).stdout

"""Fig. 5: unions of predicates that are sets of messages (D1, E13)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.parquet as pq
import pytest

from testbed.cli.main import main
from testbed.experiments.alpha_general.measure import (
    DRAWS,
    SETS,
    UNIFORM,
    ZIPF,
    Row,
    Urn,
    alphas,
    expected_alpha,
    zipf,
)
from testbed.experiments.results import from_json


def mean_alpha(universe: int, distribution: str, reading: str, number: int, size: int, repeat: int) -> float:
    urns = [Urn(universe, distribution, f"test/{i}") for i in range(repeat)]
    return sum(next(alphas(urn, reading, size, [number])) for urn in urns) / repeat


@pytest.mark.parametrize("number", [1, 5, 50, 300])
def test_D1_uniform_unions_are_as_large_as_the_formula_says(number: int) -> None:
    found = mean_alpha(10_000, UNIFORM, SETS, number, 100, repeat=5)
    assert found == pytest.approx(expected_alpha(10_000, 100, number), abs=0.01)


def test_D1_the_formula_is_that_of_all_unions_of_a_small_universe() -> None:
    """Two predicates of one message out of four: they are the same one time in four."""
    assert expected_alpha(4, 1, 2) == pytest.approx((3 / 4 * 2 + 1 / 4 * 1) / 2)


def expected_of_draws(universe: int, size: int, number: int) -> float:
    """For predicates that are draws under Zipf's law: sum of 1 - (1 - p_i)^(nk), over nk."""
    draws = number * size
    return float(-np.expm1(draws * np.log1p(-zipf(universe))).sum() / draws)


@pytest.mark.parametrize("number", [1, 5, 50])
def test_draws_under_zipfs_law_are_as_their_own_formula_says(number: int) -> None:
    found = mean_alpha(10_000, ZIPF, DRAWS, number, 100, repeat=10)
    assert found == pytest.approx(expected_of_draws(10_000, 100, number), abs=0.015)


@pytest.mark.parametrize(("universe", "alpha"), [(10**4, 0.57), (10**5, 0.48), (10**6, 0.42)])
def test_E13_as_draws_five_predicates_of_a_hundredth_save_about_half(universe: int, alpha: float) -> None:
    found = mean_alpha(universe, ZIPF, DRAWS, 5, universe // 100, repeat=4)
    assert found == pytest.approx(alpha, abs=0.015)


@pytest.mark.parametrize("universe", [10**4, 10**5, 10**6])
def test_E13_as_sets_they_save_less_than_a_quarter(universe: int) -> None:
    assert 0.76 < mean_alpha(universe, ZIPF, SETS, 5, universe // 100, repeat=4) < 0.79


@pytest.mark.parametrize("distribution", [UNIFORM, ZIPF])
def test_members_are_different_and_as_many_as_asked_for(distribution: str) -> None:
    for size in (1, 17, 400, 500):
        members = Urn(500, distribution, "test").members(size)
        assert len(members) == len(set(members.tolist())) == size
        assert 0 <= members.min() <= members.max() < 500


def test_under_zipfs_law_a_predicate_takes_the_frequent_first() -> None:
    """Successive sampling: message 0, of weight 1, is in nearly every predicate of a tenth."""
    urn = Urn(1000, ZIPF, "test")
    assert sum(0 in urn.members(100) for _ in range(50)) >= 49


def test_the_same_seed_draws_the_same() -> None:
    seed = f"{Random().random()}"
    first, second = (list(alphas(Urn(1000, ZIPF, seed), SETS, 10, [1, 5, 20])) for _ in range(2))
    assert first == second, f"seed {seed}"


def test_the_quick_slice_leaves_rows_figures_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["reproduce", "rte-alpha-general", "--quick", "--quiet", "--json", "--out", str(tmp_path)]) == 0
    )
    reported = json.loads(capsys.readouterr().out)
    assert [each["holds"] for each in reported["statements"]] == [True, True, True, None]
    results = from_json((tmp_path / "rows.json").read_text(encoding="utf-8"), Row)
    assert len(results.rows) == 2 * 2 * 2 * 7
    assert tuple(Row(**row) for row in pq.read_table(tmp_path / "rows.parquet").to_pylist()) == results.rows
    assert {p.name for p in tmp_path.glob("*.svg")} == {"figure.svg", "figure-zoom.svg"}
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "$ cbn reproduce rte-alpha-general --quick\n" in page
    assert "not comparable" in page

"""Figs. 7 and 8: what is drawn is the paper's, and what does not hold is not found to (K4-K6, E18-E20)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest

from nodes.matchmaker.marking import all_p, all_s
from nodes.matchmaker.topdown import is_cyclic
from testbed.cli.main import main
from testbed.cli.progress import SilentProgress
from testbed.experiments.experiment import load_experiment
from testbed.experiments.kind import DisagreementError
from testbed.experiments.matchmaking import measure as measuring
from testbed.experiments.matchmaking.measure import Row, Sweep, measure
from testbed.experiments.matchmaking.page import KIND
from testbed.experiments.matchmaking.samples import SHARED, SOURCE, Members, Setting, draw, pareto
from testbed.experiments.results import Results, from_json
from topologies.library import experiment_file

MEMBERS = Members(20, 20)


@pytest.fixture(scope="module", params=["mm-fig7", "mm-fig8"])
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results[Row]:
    out = tmp_path_factory.mktemp("markings")
    assert main(["reproduce", request.param, "--quick", "--quiet", "--out", str(out)]) == 0
    return from_json((out / "rows.json").read_text(encoding="utf-8"), Row)


def changed(results: Results[Row], change: Callable[[Row], Row]) -> Results[Row]:
    return replace(results, rows=tuple(map(change, results.rows)))


def test_the_best_is_never_dearer_and_all_of_the_quick_slice_is_there(measured: Results[Row]) -> None:
    experiment = load_experiment(experiment_file(measured.experiment), quick=True)
    assert [(r.setting, r.sample) for r in measured.rows] == [
        (s.name, at) for s in experiment.sweep.settings for at in range(s.samples)
    ]
    for row in measured.rows:
        assert 0 < row.best <= row.top_down <= max(row.all_p, row.all_s)
        assert row.best <= min(row.all_p, row.all_s)


def test_K5_what_does_not_hold_is_not_found_to(measured: Results[Row]) -> None:
    dear = changed(measured, lambda r: replace(r, best=min(r.all_p, r.all_s), top_down=3 * r.all_p))
    for name in ("medians", "ninetieth_percentiles", "greedy_is_best", "below_a_fifth", "below_a_third"):
        assert not KIND.checks[name](dear).holds
    assert not KIND.checks["top_down_is_optimal"](dear).holds
    assert not KIND.checks["top_down_rarely_doubles"](dear).holds


def test_K5_of_a_shared_tree_the_better_mark_of_each_link_is_best_in_every_sample() -> None:
    rows = tuple(measure(Sweep(SHARED, 20, 20, (Setting("x", 15),)), 1, SilentProgress()))
    assert all(row.best == row.top_down for row in rows)


def test_K4_publishers_and_subscribers_are_stub_routers_and_trees_lead_to_all_of_them() -> None:
    for trees in (SHARED, SOURCE):
        problem = draw(Setting("x", 1), trees, MEMBERS, "1/0")
        assert len(problem.publishers) == len(problem.subscribers) == 20
        assert min(problem.publishers) > 4, "r1 to r4 are the transit routers"
        for x in problem.publishers:
            for y in problem.subscribers:
                assert (x == y) is (not problem.path(x, y))
        counts = [*problem.publishers.values(), *problem.subscribers.values()]
        assert 1 <= min(counts) <= max(counts) <= 100


def test_K4_counts_are_of_the_bounded_pareto_distribution() -> None:
    values = [pareto(Random(f"test/{i}")) for i in range(4000)]
    assert 1 <= min(values) <= max(values) <= 100
    # F(n) = (1 - 1/n) / (1 - 1/100): half are below 1.98, nine of ten below 9.17.
    assert median(values) == pytest.approx(1.98, rel=0.05)
    assert sum(v < 9.17 for v in values) / len(values) == pytest.approx(0.9, abs=0.02)


def test_the_same_sample_has_the_same_members_in_every_setting() -> None:
    plain, other = (
        draw(setting, SOURCE, MEMBERS, "1/3")
        for setting in (Setting("a", 1), Setting("b", 1, extra_stub=10, longest=10))
    )
    assert plain.publishers == other.publishers
    assert plain.subscribers == other.subscribers
    assert plain.trees != other.trees


def test_E20_rounded_counts_are_those_drawn_rounded() -> None:
    drawn, down, up = (
        draw(Setting("x", 1, counts=counts), SOURCE, MEMBERS, "1/3") for counts in ("drawn", "down", "up")
    )
    for node, value in drawn.publishers.items():
        assert down.publishers[node] == int(value) <= value <= up.publishers[node] < value + 1


def test_E18_E19_redundant_stub_links_make_orders_cyclic_and_savings_small() -> None:
    def rows(setting: Setting) -> list[Row]:
        return list(measure(Sweep(SOURCE, 20, 20, (setting,)), 1, SilentProgress()))

    plain, redundant = rows(Setting("plain", 10)), rows(Setting("redundant", 10, extra_stub=10))
    assert not any(r.cyclic for r in plain)
    assert sum(r.cyclic for r in redundant) > 5
    saved = [median(r.best / min(r.all_p, r.all_s) for r in each) for each in (plain, redundant)]
    assert saved[0] < 0.3 < saved[1]


def test_a_marking_that_is_not_valid_stops_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(problem: Any) -> Any:
        marking = dict(all_s(problem))
        last = next(
            link
            for link, after in problem.below.items()
            if not after and any(link in others for others in problem.below.values())
        )
        return {**marking, last: 1}

    monkeypatch.setattr(measuring, "top_down", wrong)
    with pytest.raises(DisagreementError, match="x, sample 0, top_down: an invalid marking"):
        list(measure(Sweep(SOURCE, 20, 20, (Setting("x", 1),)), 1, SilentProgress()))


def test_a_problem_without_redundant_links_has_an_order() -> None:
    problem = draw(Setting("x", 1), SOURCE, MEMBERS, "1/0")
    assert not is_cyclic(problem.below)
    assert set(all_p(problem)) == set(all_s(problem)) == set(problem.links)


def test_the_page_has_a_line_for_each_setting(measured: Results[Row]) -> None:
    page = KIND.tables(measured)
    for name in dict.fromkeys(r.setting for r in measured.rows):
        assert f"\n| {name} |" in page


def test_K6_the_kept_rows_are_within_the_spread() -> None:
    kept = Path(__file__).parents[2] / "docs" / "experiments"
    for name in ("mm-fig7", "mm-fig8"):
        results = from_json((kept / f"{name}.json").read_text(encoding="utf-8"), Row)
        rows = [r for r in results.rows if r.setting == "as in the paper"]
        assert len(rows) == 1000
        middles = [median(values) for values in zip(*((r.best, r.all_p, r.all_s) for r in rows), strict=True)]
        assert middles == pytest.approx([565, 3429, 3238], rel=0.1)

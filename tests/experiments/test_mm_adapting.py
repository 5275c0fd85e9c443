"""How soon AMSP follows demand: the quick slice is measured, and what does not hold is not found to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.cli.main import main
from testbed.experiments.adapting.measure import BEGIN_S, Phase, Row, Sweep, rates_of, script
from testbed.experiments.adapting.page import KIND, Span, lines
from testbed.experiments.experiment import load_experiment
from testbed.experiments.results import Results, from_json
from testbed.experiments.signalling.measure import Variant
from testbed.experiments.signalling.traffic import SECOND_NS
from topologies.library import experiment_file

pytestmark = pytest.mark.sim
ROW = Row("usual", 1, "first", 1, 10.0, True, 10.0, 9.0, 30.0, 40.0, 20, 2000, 2, 300, 1)
SWEEP = Sweep(1, 3, 2, 2, 60, 1, (Phase("a", 20, 1), Phase("b", 20, 1, 50, 0)), (Variant("usual"),), 1)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Results[Row]:
    out = tmp_path_factory.mktemp("adapting")
    assert main(["reproduce", "mm-adapting", "--quick", "--quiet", "--out", str(out)]) == 0
    return from_json((out / "rows.json").read_text(encoding="utf-8"), Row)


def test_all_phases_of_all_runs_are_looked_at_and_costs_are_in_order(quick: Results[Row]) -> None:
    sweep = load_experiment(experiment_file("mm-adapting"), quick=True).sweep
    assert [(r.variant, r.run, r.phase, r.after_s) for r in quick.rows] == [
        (variant.name, run, phase.name, after_s)
        for variant in sweep.variants
        for run in range(1, sweep.runs + 1)
        for phase in sweep.phases
        for after_s in range(sweep.sample, phase.seconds + 1, sweep.sample)
    ]
    for row in quick.rows:
        assert row.best <= row.top_down + 0.001 <= max(row.all_p, row.all_s) + 0.002
        assert not row.valid or row.cost >= row.best - 0.001
        assert 0 <= row.marking <= row.signals


def test_links_begin_as_s_links_and_are_marked_anew_as_rates_become_known(quick: Results[Row]) -> None:
    first = [row for row in quick.rows if (row.variant, row.phase) == ("by default", "first demand")]
    assert all(row.cost == row.all_s for row in first if row.after_s == 1)
    assert any(row.cost < row.all_s for row in first)
    assert sum(row.marking for row in quick.rows) > 0


def test_near_is_from_when_the_cost_stays_within_a_tenth_of_top_down() -> None:
    costs = (20.0, 10.9, 12.0, 11.0, 10.0)
    rows = tuple(replace(ROW, after_s=at, cost=cost) for at, cost in enumerate(costs, 1))
    assert Span(rows).near_after_s == 4
    assert Span(rows[:3]).near_after_s is None
    assert Span(rows[4:]).near_after_s == 5
    assert Span(rows).excess == pytest.approx(63.9 / 50 - 1)


def test_what_does_not_hold_is_not_found_to() -> None:
    rows = tuple(replace(ROW, after_s=at, cost=10.0 if at > 40 else 20.0) for at in range(1, 91))
    soon = Results("mm-adapting", False, 1, 1, 1.0, {}, rows)
    late = replace(soon, rows=tuple(replace(r, cost=10.0 if r.after_s > 61 else 20.0) for r in rows))
    never = replace(soon, rows=tuple(replace(r, cost=20.0) for r in rows))
    assert [line.waits for line in lines(soon)] == [[41]]
    assert KIND.checks["follows_soon"](soon).holds
    assert KIND.checks["near_in_the_end"](soon).holds
    assert not KIND.checks["follows_soon"](late).holds
    assert KIND.checks["near_in_the_end"](late).holds
    assert not KIND.checks["near_in_the_end"](never).holds
    assert "never" in KIND.checks["follows_soon"](never).ours
    assert KIND.checks["what_adapting_costs"](never).ours.startswith("+100.0% beside TDM")


def test_phases_of_one_draw_differ_by_their_percentages_alone() -> None:
    before, after = (rates_of(SWEEP, phase, "1/1") for phase in SWEEP.phases)
    assert set(before) == {"pub1", "pub2", "sub1", "sub2"}
    assert all(1 <= rate <= 100 for rate in before.values())
    assert [after[each] for each in ("pub1", "pub2")] == [before[each] / 2 for each in ("pub1", "pub2")]
    assert after["sub1"] == after["sub2"] == 0
    assert rates_of(SWEEP, replace(SWEEP.phases[0], draw=2), "1/1") != before


def test_a_client_always_has_one_descriptor_that_is_new_each_time() -> None:
    actions = script("sub1", SWEEP, "1/1")
    assert [action.at_ns for action in actions] == sorted(action.at_ns for action in actions)
    assert actions[0].at_ns == BEGIN_S * SECOND_NS
    assert {(action.do, action.subscription) for action in actions} == {("subscribe", 1)}
    assert len({action.text for action in actions}) == len(actions)
    *others, last = actions
    assert all(action.at_ns < (BEGIN_S + 20) * SECOND_NS for action in others), "none in the phase without"
    assert last.at_ns == (BEGIN_S + SWEEP.seconds + 1) * SECOND_NS

"""Who signals least while entities walk about: the quick slice is measured, and what is counted is right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.cli.main import main
from testbed.experiments.results import Results, from_json
from testbed.experiments.signalling.lines import lines
from testbed.experiments.signalling.measure import Case, Row, Sweep, cases, scenario
from testbed.experiments.signalling.page import KIND
from testbed.experiments.signalling.paths import Paths
from testbed.plan.load import plan_of

pytestmark = pytest.mark.sim
SWEEP = Sweep(1, 3, ((3, 3), (3, 5)), (4, 8), 20, (20, 40), 4, 2, 60, 2, ("pif", "siena/adv"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Results[Row]:
    out = tmp_path_factory.mktemp("schemes")
    assert main(["reproduce", "mm-dis-schemes", "--quick", "--out", str(out)]) == 0
    return from_json((out / "rows.json").read_text(encoding="utf-8"), Row)


def test_all_schemes_deliver_the_same_and_have_the_same_work(measured: Results[Row]) -> None:
    assert KIND.checks["same_deliveries"](measured).holds
    work: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for row in measured.rows:
        work.setdefault((row.run, row.begin_s), set()).add((row.changes, row.descriptors))
        assert row.signal_bytes >= 32 * row.signals, "a header each"
        assert 0 <= row.wasted <= row.crossings
        assert row.marking == 0 or row.scheme == "amsp", "no other scheme changes a marking"
    assert all(len(each) == 1 for each in work.values())
    assert len({row.run for row in measured.rows}) == 2
    assert all(line.rate > 0 for line in lines(measured))


def test_what_does_not_hold_is_not_found_to(measured: Results[Row]) -> None:
    wrong = replace(measured, rows=tuple(replace(row, wrong=1) for row in measured.rows))
    assert not KIND.checks["same_deliveries"](wrong).holds
    nothing = replace(measured, rows=tuple(replace(row, owed=0) for row in measured.rows))
    assert not KIND.checks["same_deliveries"](nothing).holds
    few = tuple(replace(r, signals=1) if r.scheme == "pif/adv" else r for r in measured.rows)
    many = tuple(replace(r, signals=10**6) if r.scheme == "pif/adv" else r for r in measured.rows)
    assert KIND.checks["advertisements_save"](replace(measured, rows=few)).holds
    assert not KIND.checks["advertisements_save"](replace(measured, rows=many)).holds


def test_rates_are_over_all_windows_and_their_spread_over_runs() -> None:
    row = Row(3, 3, 20, 1, "pif", 0, 2, 5, 10, 400, 0, 7, 1, 10, 12, 30, 9, 0, 4)
    rows = (row, replace(row, begin_s=2, signals=30), replace(row, run=2, signals=20), replace(row, run=2))
    (line,) = lines(Results("x", True, 1, 1, 1.0, {}, rows))
    assert line.rates == (10.0, 7.5)
    assert line.rate == 8.75
    # 90 % of Student's t with one degree of freedom lie within 6.314, and the standard error is 1.25.
    assert line.spread == pytest.approx(6.314 * 1.25, rel=1e-3)
    assert line.changes_rate == 2.5


def test_applications_squares_runs_and_schemes_multiply_with_the_same_seed_for_all_schemes() -> None:
    every = list(cases(SWEEP))
    assert len(every) == 2 * 2 * 2 * 2
    by_scheme = [scenario(SWEEP, Case(3, 5, 20, 2, scheme), 7) for scheme in SWEEP.schemes]
    first, second = (plan_of(each) for each in by_scheme)
    assert [c.script for c in first.clients] == [c.script for c in second.clients]
    assert [c.interfaces[0].peer for c in first.clients] == [c.interfaces[0].peer for c in second.clients]
    others = plan_of(scenario(SWEEP, Case(3, 5, 20, 1, "pif"), 7))
    assert [c.script for c in others.clients] != [c.script for c in first.clients]


def test_crossings_from_which_no_delivery_descends_are_wasted() -> None:
    # From a over b to c and d; from b back over a longer way to e. Somebody at c gets it, nobody at d and e.
    paths = Paths()
    for link in (("a", "b"), ("b", "c"), ("b", "d"), ("d", "e")):
        paths.crossed((1, 1), 0, *link)
    paths.crossed((1, 2), 3, "a", "b")
    delivered = {"event": "deliver", "source": 1, "sequence": 1, "node": "s"}
    found = paths.counted([delivered, {"event": "publish"}], {"s": "c"})
    assert (found[0].all, found[0].wasted) == (4, 2)
    assert (found[3].all, found[3].wasted) == (1, 1)
    assert (found[7].all, found[7].wasted) == (0, 0)

"""What advertisements save: the quick slice is measured, and a saving that is not there is not found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.cli.main import main
from testbed.experiments.advertising.measure import Row, Sweep, scenario
from testbed.experiments.advertising.page import KIND
from testbed.experiments.results import Results, from_json
from testbed.plan.load import plan_of

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Results[Row]:
    out = tmp_path_factory.mktemp("advertisements")
    assert main(["reproduce", "adr-advertisements", "--quick", "--out", str(out)]) == 0
    return from_json((out / "rows.json").read_text(encoding="utf-8"), Row)


def changed(results: Results[Row], **values: int) -> Results[Row]:
    """With other figures where there are advertisements."""
    rows = (replace(row, **values) if row.advertisements else row for row in results.rows)
    return replace(results, rows=tuple(rows))


def test_all_that_is_advertised_is_delivered_and_subscriptions_go_to_fewer_routers(
    measured: Results[Row],
) -> None:
    assert KIND.checks["same_deliveries"](measured).holds
    assert KIND.checks["messages_go_the_same_way"](measured).holds
    for row in measured.rows:
        assert row.owed > 0
        without = next(
            r
            for r in measured.rows
            if (r.topics, r.scheme) == (row.topics, row.scheme) and not r.advertisements
        )
        assert row.entries <= without.entries


def test_what_does_not_hold_is_not_found_to(measured: Results[Row]) -> None:
    assert not KIND.checks["same_deliveries"](changed(measured, wrong=1)).holds
    assert not KIND.checks["messages_go_the_same_way"](changed(measured, crossings=10**6)).holds
    assert KIND.checks["siena_tells_less"](changed(measured, signals=1, entries=1)).holds
    assert not KIND.checks["siena_tells_less"](changed(measured, signals=10**6)).holds
    assert not KIND.checks["siena_tells_less"](changed(measured, entries=10**6)).holds


def test_subscribers_have_the_same_place_whatever_the_topics_and_the_scheme() -> None:
    sweep = Sweep(1, 1, 4, 3, 10, (3, 30), 2, ("siena",))
    plans = [
        plan_of(scenario(sweep, topics, scheme, yes, 5))
        for topics, scheme, yes in ((3, "siena", True), (30, "pif", False))
    ]
    homes = [{c.name: c.interfaces[0].peer for c in plan.clients} for plan in plans]
    assert homes[0] == homes[1]
    assert plans[0].links == plans[1].links


def test_the_page_has_a_table_for_each_number_of_topics(measured: Results[Row]) -> None:
    page = KIND.tables(measured)
    assert page.count("| scheme |") == len({row.topics for row in measured.rows}) == 2

"""What it saves to recognise patterns in routers: the quick slice; no saving is found that is not there."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from testbed.cli.main import main
from testbed.experiments.recognition.measure import Row, places
from testbed.experiments.recognition.page import KIND, pairs
from testbed.experiments.results import Results, from_json

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Results[Row]:
    out = tmp_path_factory.mktemp("patterns")
    assert main(["reproduce", "adr-patterns", "--quick", "--out", str(out)]) == 0
    return from_json((out / "rows.json").read_text(encoding="utf-8"), Row)


def changed(results: Results[Row], **values: int) -> Results[Row]:
    """With other figures where routers recognise."""
    rows = (replace(row, **values) if row.patterns == "factored" else row for row in results.rows)
    return replace(results, rows=tuple(rows))


def test_the_same_is_told_and_who_recognises_far_away_sends_matches_alone(measured: Results[Row]) -> None:
    assert KIND.checks["same_matches"](measured).holds
    for union, factored in pairs(measured):
        assert union.owed == factored.owed
        if union.place != "apart":
            assert factored.message_bytes == 0
        assert factored.match_bytes > 0 or not factored.owed


def test_each_way_wins_somewhere(measured: Results[Row]) -> None:
    assert KIND.checks["factoring_pays"](measured).holds
    assert KIND.checks["union_wins"](measured).holds


def test_what_does_not_hold_is_not_found_to(measured: Results[Row]) -> None:
    assert not KIND.checks["same_matches"](changed(measured, wrong=1)).holds
    assert not KIND.checks["same_matches"](changed(measured, owed=0)).holds
    assert not KIND.checks["factoring_pays"](changed(measured, message_bytes=10**9)).holds
    assert not KIND.checks["union_wins"](changed(measured, message_bytes=0, match_bytes=0)).holds


def test_sources_are_where_the_place_says() -> None:
    routers = [f"r{n}" for n in range(1, 8)]
    links = list(pairwise(routers))
    Random(3).shuffle(links)
    assert places(routers, links, "together") == ("r7", "r1", "r1")
    assert places(routers, links, "near") == ("r7", "r6", "r6")
    assert places(routers, links, "apart") == ("r7", "r1", "r4")


def test_the_page_has_a_table_for_each_place_and_window(measured: Results[Row]) -> None:
    kinds = {(row.place, row.window_ms) for row in measured.rows}
    assert KIND.tables(measured).count("| selectivity") == len(kinds) == 6

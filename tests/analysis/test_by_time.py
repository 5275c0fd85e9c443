"""Counts by slice of time, as the report's figures follow a part of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import by_time as module
from analysis.by_time import OF_CLIENT, bin_of, bin_start_ns, by_time
from analysis.findings import NO_SLICES, Slices
from tests.analysis.test_explorer import START, Tables

SLICES = Slices(START, 10_000, 3)
"""A message of sequence n is published n microseconds after the start: ten of them in a slice."""


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    made = Tables(tmp_path / "tables")
    for sequence in (1, 2, 12, 29, 35):  # the last is after the run
        made.publish(sequence, "x = 1")
        made.cross(sequence, 2, 1, 1)
        made.cross(sequence, 1, 4, 2)
        made.judge(sequence, 4, "delivered", copies=1)
    made.judge(12, 5, "missing")
    made.judge(2, 5, "lost", reason="network")
    made.write()
    return made


def of_client(counts: Any) -> dict[str, int]:
    return {name: number for name, number in zip(OF_CLIENT, counts, strict=True) if number}


def test_links_and_clients_are_counted_by_when_the_message_was_published(tables: Tables) -> None:
    found = by_time(tables.folder, SLICES)
    assert found is not None
    assert found.links[1, 2] == {0: [0, 2, 0], 1: [0, 1, 0], 2: [0, 1, 0]}
    assert found.links[1, 4] == {0: [2, 0, 0], 1: [1, 0, 0], 2: [1, 0, 0]}
    assert {slot: of_client(counts) for slot, counts in found.clients[3].items()} == {
        0: {"published": 2}, 1: {"published": 1}, 2: {"published": 1},
    }  # fmt: skip
    assert {slot: of_client(counts) for slot, counts in found.clients[5].items()} == {
        0: {"wanted": 1, "lost": 1}, 1: {"wanted": 1, "owed": 1, "missing": 1},
    }  # fmt: skip
    assert sum(sum(bins.values()) for bins in found.latencies.values()) == 4


def test_copies_too_many_are_duplicates_unless_the_delivery_was_only_allowed(tmp_path: Path) -> None:
    tables = Tables(tmp_path / "tables")
    tables.publish(1, "x = 1")
    tables.judge(1, 4, "duplicate", copies=3)
    tables.judge(1, 5, "delivered", copies=3, reason="network")
    tables.write()
    found = by_time(tables.folder, SLICES)
    assert found is not None
    assert of_client(found.clients[4][0]) == {"wanted": 1, "owed": 1, "delivered": 1, "duplicate": 2}
    assert of_client(found.clients[5][0]) == {"wanted": 1, "delivered": 1}


def test_a_bin_holds_what_differs_by_less_than_ten_per_cent() -> None:
    values = np.unique(np.geomspace(1, 1e12, 5000).astype(np.int64))
    bins = bin_of(values)
    starts = np.array([bin_start_ns(int(number)) for number in bins])
    assert np.all(values >= starts * 0.999)
    assert np.all(values < starts * 1.101)
    assert np.all(np.diff(bins) >= 0)


def test_runs_that_are_too_large_or_took_no_time_have_none(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert by_time(tables.folder, NO_SLICES) is None
    monkeypatch.setattr(module, "MOST_NUMBERS", 10)
    assert by_time(tables.folder, SLICES) is None
    monkeypatch.setattr(module, "MOST_NUMBERS", 1_000)
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    assert by_time(tables.folder, SLICES) is None


def test_a_run_without_messages_is_counted_too(tmp_path: Path) -> None:
    tables = Tables(tmp_path / "tables")
    tables.write()
    found = by_time(tables.folder, SLICES)
    assert found is not None
    assert (found.links, found.clients, found.latencies) == ({}, {}, {})

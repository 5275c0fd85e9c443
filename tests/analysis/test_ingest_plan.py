"""How captures are dealt out to tasks, and that it makes no difference to what is read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema

from analysis.decode import SCHEMA, Piece
from analysis.ingest import pack
from analysis.rundir import load_run
from tests.analysis.ingesting import ingest

MB = 1024 * 1024


def piece(number, size):
    return Piece(
        f"/captures/{number}.pcap",
        0,
        size,
        f"i{number}",
        "02:00:00:00:00:01",
        "02:00:00:00:00:02",
        1,
        2,
        False,
    )


def test_small_captures_share_a_task():
    assert len(pack([piece(i, 10_000) for i in range(100)], cores=8)) == 1


def test_enough_bytes_occupy_every_core():
    assert len(pack([piece(i, 4 * MB) for i in range(10)], cores=2)) == 2


def test_a_task_gets_about_a_split_at_most():
    bins = pack([piece(i, 60 * MB) for i in range(10)], cores=2)
    assert max(sum(p.size for p in b) for b in bins) <= 64 * MB


def test_no_captures_make_no_tasks():
    assert pack([], cores=2) == []


@given(st.lists(st.integers(0, 200 * MB), max_size=30), st.integers(1, 16))
def test_every_piece_is_in_one_bin_and_no_bin_is_empty(sizes, cores):
    pieces = [piece(i, size) for i, size in enumerate(sizes)]
    bins = pack(pieces, cores)
    assert sorted((p for b in bins for p in b), key=lambda p: p.path) == sorted(pieces, key=lambda p: p.path)
    assert all(bins)


@pytest.mark.spark
def test_splitting_captures_changes_nothing_but_the_number_of_tasks(spark, hand_made, tmp_path):
    for i in range(1, 301):
        hand_made.publish(i, f"x = {i}", i * 1_000)
        hand_made.cross(i, f"x = {i}", i * 1_000 + 100)
    run = load_run(hand_made.write())
    whole, one = ingest(spark, run, tmp_path / "whole")
    split, many = ingest(spark, run, tmp_path / "split", split_bytes=8_000)
    assert replace(one, splits={"scanned": 3}) == many
    assert one.packets == one.records == 900
    assert len(list((tmp_path / "split").iterdir())) > len(list((tmp_path / "whole").iterdir()))
    assert split.exceptAll(whole).isEmpty()
    assert whole.exceptAll(split).isEmpty()


def test_what_tasks_write_is_what_spark_reads():
    names = {"int32": "int", "int64": "bigint", "string": "string", "bool": "boolean", "binary": "binary"}
    written = [(f.name, names[str(f.type)]) for f in SCHEMA]
    assert written == [(f.name, f.dataType.simpleString()) for f in from_arrow_schema(SCHEMA)]

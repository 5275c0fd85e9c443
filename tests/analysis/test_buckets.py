"""Rows go to buckets, and buckets are judged each by itself: what comes out does not depend on how many."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis import pipeline
from analysis.messages import run as module
from analysis.messages.events import events_of, pieces_of_events
from analysis.messages.exchange import Writer, buckets_of, file_name, rows_of
from analysis.messages.run import LARGEST_BUCKET, WORTH_A_BUCKET, buckets_for
from analysis.pipeline import analyze

SCENARIO = """
name: buckets
seed: {seed}
scheme: {scheme}
topology: {{generate: random, size: 7, degree: 3, seed: {seed}, link_defaults: {{delay: 2ms, loss: 0.02}}}}
populations:
  sub:
    count: 9
    subscribe:
      - predicate: "x > {{least}} or y = 1"
        draw: {{least: {{uniform: [0, 8]}}}}
  pub:
    count: 3
    publish:
      - {{rate: 200/s, count: 60, message: {{x: {{uniform: [0, 9]}}, y: {{uniform: [0, 3]}}}}}}
faults:
  - at 100ms: crash r2 for 100ms
"""


@pytest.mark.spark
@pytest.mark.parametrize("scheme", ["pif", "flood"])
def test_many_buckets_give_the_tables_and_the_verdict_of_one(
    scheme: str,
    spark: object,
    simulate: Callable[[str, str], Path],
    rng: Random,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    one = simulate("one", SCENARIO.format(seed=rng.randint(1, 999), scheme=scheme))
    many = tmp_path / "many"
    shutil.copytree(one, many)
    first = analyze(one)
    assert first["wanted"] > 100
    monkeypatch.setattr(pipeline, "buckets_for", lambda rows, cores: 5)
    monkeypatch.setattr("analysis.messages.events.PIECE_BYTES", 10_000)
    assert analyze(many) == first
    for path in (one / "tables").glob("*.parquet"):
        rows = [in_order(each / "tables" / path.name) for each in (one, many)]
        assert rows[0] == rows[1], path.name
    assert len(list((many / "tables" / "verdicts.parquet").glob("*.parquet"))) == 5
    assert not list(many.glob(".analysis-*"))


def in_order(table: Path) -> list[str]:
    """The rows as text."""
    rows = pq.read_table(table).to_pylist()
    return sorted(json.dumps(row, default=repr, sort_keys=True) for row in rows)


def test_a_task_that_is_done_again_changes_nothing(
    simulate: Callable[[str, str], Path], spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a worker was lost: what it had left is replaced."""
    path = simulate("again", SCENARIO.format(seed=3, scheme="pif"))
    first = analyze(path)
    before = {table.name: in_order(table) for table in (path / "tables").glob("*.parquet")}
    for name in ("_sort_out", "_judge"):
        work = getattr(module, name)
        monkeypatch.setattr(module, name, twice(work))
    assert analyze(path) == first
    assert {table.name: in_order(table) for table in (path / "tables").glob("*.parquet")} == before


def twice(work: Callable[..., None]) -> Callable[..., None]:
    def perform(*args: object) -> None:
        work(*args)
        work(*args)

    return perform


def test_equal_keys_are_in_one_bucket_and_buckets_are_about_as_large(rng: Random) -> None:
    source = np.array([rng.randint(1, 50) for _ in range(20_000)], np.int64)
    sequence = np.array([rng.randint(0, 400) for _ in range(20_000)], np.int64)
    found = buckets_of(7, source, sequence)
    places: dict[tuple[int, int], int] = {}
    for key, bucket in zip(zip(source.tolist(), sequence.tolist(), strict=True), found.tolist(), strict=True):
        assert places.setdefault(key, bucket) == bucket
    sizes = np.bincount(found, minlength=7)
    assert sizes.min() > 0.8 * sizes.max()
    assert set(buckets_of(1, source).tolist()) == {0}


def test_a_bucket_is_read_back_from_all_files_in_the_order_of_tasks(tmp_path: Path, rng: Random) -> None:
    schema = pa.schema([("number", pa.int64())])
    true: dict[int, list[int]] = {bucket: [] for bucket in range(300)}
    for task in range(3):
        with Writer(tmp_path, file_name("rows", task), schema, len(true)) as writer:
            for _ in range(2):
                values = [rng.randrange(10**6) for _ in range(rng.randint(0, 900))]
                buckets = [rng.randrange(300) for _ in values]
                writer.write(pa.table({"number": values}, schema=schema), np.array(buckets, np.int64))
                for value, bucket in zip(values, buckets, strict=True):
                    true[bucket].append(value)
    found = {bucket: rows_of(tmp_path, "rows", schema, bucket, 300)["number"].to_pylist() for bucket in true}
    assert found == true
    assert rows_of(tmp_path, "others", schema, 0, 300).num_rows == 0


def test_a_file_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Writer(tmp_path, "rows-0", pa.schema([]), 1):
        raise ZeroDivisionError
    assert list(tmp_path.glob("*.arrow")) == []


def test_a_run_has_as_many_buckets_as_are_worth_it() -> None:
    assert buckets_for(0, 8) == buckets_for(WORTH_A_BUCKET, 8) == 1
    assert buckets_for(3 * WORTH_A_BUCKET, 8) == 3
    assert buckets_for(LARGEST_BUCKET, 2) == 2
    assert buckets_for(10 * LARGEST_BUCKET + 1, 2) == 11


def event(number: int, **more: object) -> str:
    common = {"time_ns": number, "node": "c", "event": "deliver", "source": 9, "sequence": number}
    return json.dumps(common | more)


def lines(count: int) -> Iterator[str]:
    for number in range(count):
        yield event(number)
        yield event(number, event="publish", node="p", message=f"x = {number}", other={"deep": [1]})
        yield event(number, event="subscribe", predicate="all")


@pytest.mark.parametrize(("count", "piece_bytes"), [(3, 1), (9, 7), (200, 100), (200, 1_000), (200, 1 << 20)])
def test_pieces_of_events_are_all_of_them_once(tmp_path: Path, count: int, piece_bytes: int) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(lines(count)))
    found = [events_of(path, {"c": 5, "p": 9}, *piece) for piece in pieces_of_events(path, piece_bytes)]
    reported = pa.concat_tables([each.reported for each in found])
    assert reported["sequence"].to_pylist() == list(range(count))
    assert set(reported["client"].to_pylist()) == {5}
    said = pa.concat_tables([each.announced for each in found])
    assert said["message"].to_pylist() == [f"x = {number}" for number in range(count)]


@pytest.mark.parametrize(
    "bad",
    [
        "{", "[]", "7", "null", '{"event": "deliver"}', event(1, sequence="many"), event(1, source=None),
        event(1, time_ns=None), event(1, node="nobody"), event(1, node=None), event(2**70), "\x00",
        '"\ud800"', "[" * 100_000,
    ],
)  # fmt: skip
def test_a_line_that_is_no_event_of_a_client_takes_nothing_else_with_it(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "events.jsonl"
    text = "\n".join([event(1), bad, event(2)]) + "\n"
    path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    found = events_of(path, {"c": 5})
    assert found.reported["sequence"].to_pylist() == [1, 2]
    assert found.announced.num_rows == 0


def test_no_events_are_none(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("")
    assert pieces_of_events(path) == []
    assert events_of(path, {}).reported.num_rows == 0

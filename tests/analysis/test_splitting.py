"""Captures are split by the index beside them, and an index that is wrong changes no result."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.decode import HEADER, SUFFIX, Piece, decode_piece, empty_report, read_index, split
from analysis.rundir import load_run
from fastpath.capture import CaptureWriter
from tests.analysis.ingesting import ingest
from tests.fastpath.captures import OWN, PEER, fragments, frame, message

SPLIT = 4_000


def write(path: Path, packets: int, **options: Any) -> Path:
    """A capture with fragments in it, and its index, as capturing leaves them."""
    writer = CaptureWriter(path, index_bytes=1_000, buffer_bytes=2_000, **options)
    for number in range(packets):
        long = fragments(message(number, attributes={"a": "x" * 900}), 480, number)
        frames = long if number % 7 == 3 else [frame(message(number), source=PEER, target=OWN)]
        for each in frames:
            writer.record(number * 1_000, each)
    writer.close()
    return path


def pieces(path: Path, ranges: list[tuple[int, int]]) -> list[Piece]:
    made = [Piece(str(path), start, end, "i", OWN, PEER, 1, 2, False) for start, end in ranges]
    return [replace(p, first=p is made[0], last=p is made[-1]) for p in made]


def read(path: Path, ranges: list[tuple[int, int]]) -> tuple[pa.Table, dict[str, int], bool]:
    """What the ranges hold together, and whether all of them fit."""
    report = empty_report()
    found = [decode_piece(piece, report) for piece in pieces(path, ranges)]
    return pa.Table.from_batches(found), report["counts"]["i"], not report["wrongly_split"]


@pytest.fixture(params=["pcap", "pcapng"])
def capture(request: Any, tmp_path: Path) -> Path:
    return write(tmp_path / f"x.{request.param}", 300, format=request.param)


def whole(path: Path) -> tuple[pa.Table, dict[str, int], bool]:
    return read(path, [(0, path.stat().st_size)])


def test_the_index_that_capturing_leaves_splits_between_records_and_datagrams(capture: Path) -> None:
    ranges, how = split(capture, SPLIT)
    assert how == "indexed"
    assert len(ranges) > 10
    assert [start for start, _ in ranges] == [0, *[end for _, end in ranges[:-1]]]
    table, counts, fit = read(capture, ranges)
    assert fit
    assert (table, counts) == whole(capture)[:2]
    assert counts["ip_fragments"] == counts["truncated_file"] == 0


def test_the_index_names_every_place_with_its_packet_and_time(capture: Path) -> None:
    lines = (capture.parent / (capture.name + SUFFIX)).read_text().splitlines()[1:]
    assert len(lines) > 40
    for line in lines:
        place, packet, time_ns = map(int, line.split())
        report = empty_report()
        decode_piece(Piece(str(capture), 0, place, "i", OWN, PEER, 1, 2, False), report)
        assert report["counts"]["i"]["records"] == packet
        batch = decode_piece(Piece(str(capture), place, place + 1, "i", OWN, PEER, 1, 2, False), report)
        assert batch.column("time_ns").to_pylist() == [time_ns]


def test_a_small_capture_is_one_piece_and_has_no_index(tmp_path: Path) -> None:
    path = write(tmp_path / "x.pcap", 3)
    assert not path.with_name("x.pcap.idx").exists()
    assert split(path, 10**6) == ([(0, path.stat().st_size)], "whole")


def test_a_capture_without_an_index_is_scanned(capture: Path) -> None:
    (capture.parent / (capture.name + SUFFIX)).unlink()
    ranges, how = split(capture, SPLIT)
    assert how == "scanned"
    assert read(capture, ranges) == whole(capture)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cbn capture index 2\n1000 1 1\n",
        HEADER + "1000 1\n",
        HEADER + "1000 one 1\n",
        HEADER + "1000 1 1\n1000 2 2\n",
        HEADER + "-5 1 1\n",
        HEADER + "0 0 0\n",
        HEADER + "999999999999 1 1\n",
        HEADER + "\u0661000 1 1\n",
        HEADER + "1e3 1 1\n",
        HEADER.strip(),
        "\0" * 100,
    ],
)
def test_an_index_that_cannot_be_right_is_not_used(capture: Path, text: str) -> None:
    (capture.parent / (capture.name + SUFFIX)).write_text(text, encoding="utf-8")
    ranges, how = split(capture, SPLIT)
    assert how == "distrusted"
    assert read(capture, ranges) == whole(capture)


def test_a_last_line_that_was_cut_off_is_left_out(capture: Path) -> None:
    index = capture.parent / (capture.name + SUFFIX)
    lines = index.read_text().splitlines(keepends=True)
    index.write_text("".join(lines[:-1]) + lines[-1][:2])
    found = read_index(index, capture.stat().st_size)
    assert found == [int(line.split()[0]) for line in lines[1:-1]]


def test_pieces_that_an_index_lied_about_never_all_fit_unless_they_hold_the_same(tmp_path: Path) -> None:
    """Whatever places it names: either the pieces are the capture, or some piece says it does not fit."""
    captures = [write(tmp_path / f"x.{kind}", 60, format=kind) for kind in ("pcap", "pcapng")]
    truths = {path: whole(path) for path in captures}
    right = {path: read_index(path.with_name(path.name + SUFFIX), path.stat().st_size) for path in captures}
    fits = 0

    @settings(max_examples=400, deadline=None)
    @given(st.sampled_from(captures), st.integers(0, 2**32))
    def check(path: Path, seed: int) -> None:
        nonlocal fits
        rng, size = random.Random(seed), path.stat().st_size
        wrong = [0, 0, 0, 0, 4, 16, rng.randrange(-500, 500)]
        places = {rng.choice(right[path] or []) + rng.choice(wrong) for _ in range(3)}
        inside = sorted(place for place in places if 0 < place < size)
        ranges = list(zip([0, *inside], [*inside, size], strict=True))
        table, counts, fit = read(path, ranges)
        fits += fit
        assert not fit or (table, counts) == truths[path][:2]

    check()
    assert fits > 20


@pytest.mark.spark
def test_an_index_that_lies_is_found_out_and_the_captures_are_read_again(
    spark: Any, hand_made: Any, tmp_path: Path
) -> None:
    for i in range(1, 301):
        hand_made.publish(i, f"x = {i}", i * 1_000)
        hand_made.cross(i, f"x = {i}", i * 1_000 + 100)
    run = load_run(hand_made.write())
    truth, reported = ingest(spark, run, tmp_path / "truth")
    assert reported.splits == {}
    for capture in run.captures:
        path = run.path / "captures" / capture.files[0]
        places = "".join(f"{place} 1 1\n" for place in range(9_001, path.stat().st_size, 9_000))
        path.with_name(path.name + SUFFIX).write_text(HEADER + places)
    table, found = ingest(spark, run, tmp_path / "found", split_bytes=8_000)
    assert found == replace(reported, splits={"distrusted": 3})
    assert table.exceptAll(truth).isEmpty()
    assert truth.exceptAll(table).isEmpty()


@pytest.mark.spark
def test_captures_in_several_files_of_either_format_are_read_as_one(
    spark: Any, hand_made: Any, tmp_path: Path
) -> None:
    for i in range(1, 301):
        hand_made.publish(i, f"x = {i}", i * 1_000)
        hand_made.cross(i, f"x = {i}", i * 1_000 + 100)
    run = load_run(hand_made.write())
    truth, reported = ingest(spark, run, tmp_path / "truth")
    for number, kind in enumerate(("pcap", "pcapng")):
        folder = tmp_path / kind
        shutil.copytree(run.path, folder)
        files = {
            c.interface: rewrite(folder / "captures" / c.files[0], kind, rotate_bytes=5_000)
            for c in run.captures
        }
        again = replace(
            run,
            path=folder,
            captures=tuple(replace(c, files=files[c.interface]) for c in run.captures),
        )
        assert max(map(len, files.values())) > 3, number
        table, found = ingest(spark, again, tmp_path / f"{kind}-tables")
        assert found == reported
        assert table.exceptAll(truth).isEmpty()
        assert truth.exceptAll(table).isEmpty()


def rewrite(path: Path, kind: str, rotate_bytes: int) -> tuple[str, ...]:
    """The same frames, in several files of this format; their names."""
    data = path.read_bytes()
    path.unlink()
    writer = CaptureWriter(path.with_name(f"{path.stem}.{kind}"), format=kind, rotate_bytes=rotate_bytes)
    at = 24
    while at < len(data):
        seconds, rest, kept, _ = (int.from_bytes(data[at + i : at + i + 4], "little") for i in (0, 4, 8, 12))
        writer.record(seconds * 10**9 + rest, data[at + 16 : at + 16 + kept])
        at += 16 + kept
    writer.close()
    numbers = ["", *[f".{n}" for n in range(1, writer.files)]]
    return tuple(f"{path.stem}{number}.{kind}" for number in numbers)

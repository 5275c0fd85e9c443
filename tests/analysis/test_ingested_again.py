"""What was decoded before is taken over, and only as long as it is what would be decoded again."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis import kept
from analysis.decode import Piece
from analysis.ingest import ingest_captures
from analysis.numbered_tasks import in_threads
from fastpath.capture import CaptureWriter
from tests.fastpath.captures import OWN, PEER, frame, message, pcap

SPLIT = 4_000


class Captures:
    """Two captures, one of which is several splits long."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rounds = 0
        self.large, self.small = folder / "large.pcap", folder / "small.pcap"
        self.large.write_bytes(pcap([frame(message(n)) for n in range(200)]))
        self.small.write_bytes(pcap([frame(message(n)) for n in range(3)]))
        self.pieces = [Piece(str(p), 0, 0, p.stem, OWN, PEER, 1, 2, False) for p in (self.large, self.small)]

    def ingest(self):
        """The rows and how many pieces were taken over from the round before."""
        self.rounds += 1
        return self._into(f"tables{self.rounds}", self.folder / f"tables{self.rounds - 1}")

    def fresh(self):
        """The rows, decoded anew."""
        return self._into(f"fresh{self.rounds}", None)

    def _into(self, name, earlier):
        target = self.folder / name
        work = ingest_captures(self.pieces, target, in_threads(2), 2, split_bytes=SPLIT, earlier=earlier)
        rows = pq.read_table(target, columns=["interface", "sequence"]).to_pylist()
        return sorted((row["interface"], row["sequence"]) for row in rows), work


@pytest.fixture
def captures(tmp_path):
    return Captures(tmp_path)


def test_what_has_not_changed_is_not_decoded_again(captures, monkeypatch):
    first, work = captures.ingest()
    assert work.kept == 0
    monkeypatch.setattr("analysis.ingest.decode_bin", None)  # nothing is left to decode
    again, taken = captures.ingest()
    assert again == first
    assert taken.kept > 5
    assert taken.summary() == work.summary()


def test_a_capture_that_has_grown_is_decoded_from_its_last_split_on(captures):
    captures.ingest()
    with captures.large.open("ab") as file:
        file.write(pcap([frame(message(n)) for n in range(200, 260)])[24:])
    rows, work = captures.ingest()
    fresh, whole = captures.fresh()
    assert rows == fresh
    assert work.summary() == whole.summary()
    assert work.kept == 5


def test_a_capture_that_was_written_anew_is_decoded_again(captures):
    captures.ingest()
    captures.large.write_bytes(pcap([frame(message(n)) for n in range(1000, 1300)]))
    rows, _ = captures.ingest()
    assert rows == captures.fresh()[0]
    assert ("large", 1299) in rows
    assert ("large", 0) not in rows


def test_a_capture_of_the_same_size_with_another_time_is_decoded_again(captures):
    captures.ingest()
    data = captures.small.read_bytes()
    captures.small.write_bytes(pcap([frame(message(n)) for n in range(7, 10)]))
    assert captures.small.stat().st_size == len(data)
    os.utime(captures.small, ns=(1, 1))
    rows, _ = captures.ingest()
    assert ("small", 9) in rows
    assert ("small", 0) not in rows


def test_another_reader_decodes_all_again(captures, monkeypatch):
    captures.ingest()
    monkeypatch.setattr(kept, "reader_version", lambda: "another")
    assert captures.ingest()[1].kept == 0


def test_captures_of_another_interface_are_others(captures):
    captures.ingest()
    captures.pieces = [replace(piece, mac=PEER, peer_mac=OWN) for piece in captures.pieces]
    assert captures.ingest()[1].kept == 0


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"reader": 1}'])
def test_a_damaged_note_costs_time_alone(captures, damage):
    first, _ = captures.ingest()
    (captures.folder / "tables1" / kept.MANIFEST).write_text(damage)
    again, work = captures.ingest()
    assert (again, work.kept) == (first, 0)


def test_a_part_that_is_gone_is_decoded_again(captures):
    first, _ = captures.ingest()
    (captures.folder / "tables1" / "part-00000.parquet").unlink()
    again, work = captures.ingest()
    assert again == first
    assert work.kept > 0


def test_a_capture_that_could_not_be_read_is_tried_again(captures):
    data = captures.small.read_bytes()
    captures.small.write_bytes(b"x" * len(data))
    assert captures.ingest()[1].summary().problems
    about = captures.small.stat()
    captures.small.write_bytes(data)
    os.utime(captures.small, ns=(about.st_atime_ns, about.st_mtime_ns))
    rows, work = captures.ingest()
    assert ("small", 2) in rows
    assert not work.summary().problems


def test_the_note_says_which_pieces_are_in_which_part(captures):
    captures.ingest()
    note = json.loads((captures.folder / "tables1" / kept.MANIFEST).read_text())
    assert sum(len(part["pieces"]) for part in note["parts"]) > 5
    assert set(note["files"]) == {str(captures.large), str(captures.small)}


def test_a_capture_that_is_compressed_afterwards_is_found_and_its_rows_are_the_same(tmp_path):
    import gzip

    from analysis.pieces import stored

    path = tmp_path / "r1-eth0.pcap"
    writer = CaptureWriter(path)
    writer.record(1, frame(message(1)))
    writer.close()
    assert stored(path) == path
    path.with_name("r1-eth0.pcap.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert stored(path).name == "r1-eth0.pcap.gz"

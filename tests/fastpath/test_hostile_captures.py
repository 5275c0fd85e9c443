"""Whatever a file holds, reading it ends in rows and counts or in a clear error, in bounded memory."""

from __future__ import annotations

import os
import random
import resource
from contextlib import suppress
from pathlib import Path

import pytest

from fastpath.pcap import PcapError, decode_batches, decode_pcap, index_pcap
from tests.fastpath.captures import OWN, PEER, frame, message, pcap, pcapng
from tests.fastpath.hostile import CORPUS, Hostile, zstd

MOST_MB = 200
"""What reading any of them may add to a process at most; a batch of rows takes most of it."""


@pytest.fixture(params=CORPUS.items(), ids=lambda item: item[0])
def case(request) -> Hostile:
    return request.param[1]


def counts_of(decoding) -> dict[str, int]:
    return {name: n for name, n in decoding.counts.items() if n and name not in ("records", "packets")}


def test_there_are_enough_of_them():
    assert len(CORPUS) >= 40


def test_a_hostile_file_is_read_as_far_as_it_makes_sense_or_refused_with_a_reason(case, tmp_path):
    path = tmp_path / "x.pcap"
    path.write_bytes(case.make())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if case.error:
        with pytest.raises(PcapError, match=case.error) as error:
            list(decode_batches(path))
        assert str(error.value).startswith(f"{path} ")
    else:
        decoding = decode_batches(path, mac=OWN, peer_mac=PEER)
        batches = list(decoding)
        for batch in batches:
            batch.validate(full=True)
        if case.skipped is not None:
            assert (sum(b.num_rows for b in batches), counts_of(decoding)) == (case.rows, case.skipped)
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps what is freed
        added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert added < MOST_MB * 1024, f"{added / 1024:.0f} MB"


def test_a_hostile_file_in_pieces_is_no_worse(case, tmp_path):
    path = tmp_path / "x.pcap"
    data = case.make()
    path.write_bytes(data)
    try:
        ranges = index_pcap(path, 64)
    except PcapError:
        return
    whole = decode_pcap(path)[0].num_rows
    assert sum(decode_pcap(path, start, end)[0].num_rows for start, end in ranges[:2000]) <= whole
    assert all(0 <= start < end <= len(data) for start, end in ranges)


def test_captures_cut_at_each_place_give_what_is_whole(tmp_path):
    """Plain, in blocks, and compressed: no place to cut leads to anything but fewer rows or a clear error."""
    frames = [frame(message(number)) for number in range(3)]
    for data in (pcap(frames), pcapng(frames), zstd(pcap(frames))):
        path, last = tmp_path / "cut", 0
        for cut in range(len(data) + 1):
            path.write_bytes(data[:cut])
            try:
                rows = sum(batch.num_rows for batch in decode_batches(path))
            except PcapError:
                rows = 0
            assert rows >= last or rows == 0
            last = max(rows, last)
        assert rows == last == 3


def test_random_damage_to_a_hostile_file_never_crashes(case, tmp_path):
    data = case.make()[:20_000]
    rng = random.Random(repr(data[:100]))
    path = tmp_path / "x.pcap"
    for _ in range(8 if data else 0):
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 6)):
            damaged[rng.randrange(len(damaged))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        path.write_bytes(damaged)
        with suppress(PcapError):
            for batch in decode_batches(path, rows=100):
                batch.validate(full=True)


def test_a_file_that_cannot_be_opened_is_an_os_error(tmp_path):
    with pytest.raises(IsADirectoryError):
        decode_batches(Path(tmp_path))
    with pytest.raises(FileNotFoundError):
        decode_batches(tmp_path / "none")

"""Decode pcap and pcapng files of CBN traffic into columns."""

import os
from collections.abc import Iterable, Sequence

import pyarrow as pa

from fastpath.pcap.edges import RangeEdges as RangeEdges

class PcapError(ValueError): ...

SCHEMA: pa.Schema
BATCH_ROWS: int

def decode_pcap(
    path: str | os.PathLike[str],
    start: int = 0,
    end: int | None = None,
    mac: str = "",
    peer_mac: str = "",
) -> tuple[pa.RecordBatch, dict[str, int]]: ...
def decode_range(
    path: str | os.PathLike[str], start: int, end: int | None, mac: str = "", peer_mac: str = ""
) -> tuple[pa.RecordBatch, dict[str, int], RangeEdges, tuple[str, str] | None]: ...

class Decoding:
    counts: dict[str, int]
    foreign: tuple[str, str] | None
    between: set[tuple[str, str]]
    why: str
    @property
    def edges(self) -> RangeEdges: ...
    def __iter__(self) -> Decoding: ...
    def __next__(self) -> pa.RecordBatch: ...

def decode_batches(
    path: str | os.PathLike[str],
    start: int = 0,
    end: int | None = None,
    mac: str = "",
    peer_mac: str = "",
    rows: int = BATCH_ROWS,
) -> Decoding: ...
def index_pcap(path: str | os.PathLike[str], target_bytes: int) -> list[tuple[int, int]]: ...
def merge_captures(
    captures: Iterable[tuple[str, Sequence[str | os.PathLike[str]]]],
    path: str | os.PathLike[str],
    snap_bytes: int = 262_144,
) -> dict[str, int]: ...

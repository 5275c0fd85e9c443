"""Captures, without Spark: where a large one can be split, and what a task makes of a piece.

Decoding runs in Spark's Python workers: the compiled reader, then Parquet of the task's own.

The index that capturing leaves beside a file (`docs/captures.md`) says at once where it can be
split; where there is none, or none that can be right, every record's header is read. An index is
never trusted: who reads a range checks its edges (`fits`); a wrong index costs time and changes no result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fastpath import pcap
from fastpath.pcap import PcapError, RangeEdges, decode_range, index_pcap

OF_INTERFACE = pa.schema(
    [
        ("interface", pa.string()),
        ("node_id", pa.int32()),
        ("peer_id", pa.int32()),
        ("peer_is_client", pa.bool_()),
    ]
)
"""Of a packet: the fields of its `Piece`."""
SCHEMA = pa.schema([*OF_INTERFACE, *pcap.SCHEMA])
"""Of `packets.parquet`: whose capture it is, and what the reader decodes."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of whole records of one capture, and whose capture it is."""

    path: str
    start: int
    end: int
    interface: str
    mac: str
    node_id: int
    peer_id: int
    peer_is_client: bool
    first: bool = True
    """Whether the capture begins with it."""
    last: bool = True
    """Whether the capture ends with it."""

    @property
    def size(self) -> int:
        """Bytes to read."""
        return self.end - self.start


class BinReport(TypedDict):
    """What a task reports to the driver."""

    counts: dict[str, int]
    problems: list[str]
    wrongly_split: list[str]
    """Captures of which a piece does not begin or end where it should."""


def decode_bin(number: int, pieces: list[Piece], target: str) -> BinReport:
    """Decode the pieces into one Parquet file that appears whole or not at all."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    wrongly_split: set[str] = set()
    final = Path(target) / f"part-{number:05d}.parquet"
    partial = final.with_name(f".{final.name}.partial")
    with pq.ParquetWriter(partial, SCHEMA, compression="zstd") as writer:
        for piece in pieces:
            try:
                batch, found, fits = decode_piece(piece)
            except (PcapError, OSError) as error:
                problems.append(unreadable(Path(piece.path), error))
                continue
            wrongly_split |= set() if fits else {piece.path}
            counts.update(found)
            writer.write_batch(batch)
    partial.replace(final)
    return {"counts": dict(counts), "problems": problems, "wrongly_split": sorted(wrongly_split)}


def decode_piece(piece: Piece) -> tuple[pa.RecordBatch, dict[str, int], bool]:
    """The rows of table `packets` in one piece, what was read and skipped, and whether its edges fit."""
    batch, counts, edges = decode_range(piece.path, piece.start, piece.end, mac=piece.mac)
    size, names = batch.num_rows, batch.schema.names
    interface = [pa.repeat(pa.scalar(getattr(piece, f.name), f.type), size) for f in OF_INTERFACE]
    unwanted = batch["sent"] if piece.peer_is_client else pa.repeat(pa.scalar(True), size)
    attributes = pc.if_else(unwanted, None, batch["attributes"])  # those of publications alone
    decoded = batch.set_column(names.index("attributes"), "attributes", attributes)
    rows = pa.RecordBatch.from_arrays([*interface, *decoded.columns], schema=SCHEMA)
    return rows, counts, fits(piece, edges)


def fits(piece: Piece, edges: RangeEdges) -> bool:
    """Whether the pieces of a capture that all fit are the capture: each begins where the one before ends."""
    if piece.first and piece.last:
        return True
    return (piece.first or edges.starts_clean) and (piece.last or edges.ends_clean) and not edges.late


def unreadable(path: Path, error: Exception) -> str:
    """Why a capture was left out, with its path as the run directory has it."""
    why = error.strerror if isinstance(error, OSError) else str(error).removeprefix(f"{path} ")
    return f"captures/{path.name}: {why}; it was left out"


SUFFIX = ".idx"
HEADER = "cbn capture index 1\n"
LONGEST = 64 * 1024 * 1024
Range = tuple[int, int]


def split(path: Path, split_bytes: int, *, trusted: bool = True) -> tuple[list[Range], str]:
    """Ranges of about `split_bytes` that together are the file, and where they come from.

    That is `whole` (it is small), `indexed`, `scanned` (there is no index) or `distrusted` (there
    is one that cannot be right, or is not to be trusted).

    Raises:
        OSError: the file cannot be read.
        PcapError: it is no capture.
    """
    size = path.stat().st_size
    if size <= split_bytes:
        return [(0, size)], "whole"
    index = path.with_name(path.name + SUFFIX)
    if not index.exists():
        return index_pcap(path, split_bytes), "scanned"
    places = read_index(index, size) if trusted else None
    if places is None:
        return index_pcap(path, split_bytes), "distrusted"
    return list(ranges(places, size, split_bytes)), "indexed"


def read_index(path: Path, size: int) -> list[int] | None:
    """Where records begin, by the index of a capture of `size` bytes; None if it cannot be right.

    A last line that is cut off is left out.
    """
    try:
        if path.stat().st_size > LONGEST:
            return None
        text = path.read_text(encoding="ascii")
        places = [_place(line) for line in _lines(text)]
    except (OSError, ValueError):
        return None
    rising = all(low < high for low, high in zip([0, *places], [*places, size], strict=True))
    return places if text.startswith(HEADER) and rising else None


def ranges(places: Sequence[int], size: int, split_bytes: int) -> Iterator[Range]:
    """Ranges of at least `split_bytes` between these places; the last may be shorter."""
    start = 0
    for place in places:
        if place - start >= split_bytes:
            yield start, place
            start = place
    yield start, size


def _lines(text: str) -> Iterable[str]:
    return (line for line in text.splitlines(keepends=True)[1:] if line.endswith("\n"))


def _place(line: str) -> int:
    place, _packet, _time_ns = (int(word) for word in line.split())
    return place

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
from nodes.wire.packets import Kind

OF_INTERFACE = pa.schema(
    [
        ("interface", pa.string()),
        ("node_id", pa.int32()),
        ("peer_id", pa.int32()),
        ("peer_is_client", pa.bool_()),
    ]
)
"""Of a packet: the fields of its `Piece`."""
SCHEMA = pa.schema([*OF_INTERFACE, *(field for field in pcap.SCHEMA if field.name != "control")])
"""Of `packets.parquet`: whose capture it is, and what the reader decodes."""
MOST_KEPT_BYTES = 1 << 22
"""Of a router's own records in one piece: if they are more, those of interest are not kept."""
_FLAGS_AT, _LAST = 4, 4
"""Of a CONTROL packet: where its flags are, and that of the last fragment."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of whole records of one capture, and whose capture it is."""

    path: str
    start: int
    end: int
    interface: str
    mac: str
    peer_mac: str
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

    counts: dict[str, dict[str, int]]
    """By interface."""
    problems: list[str]
    unreadable: list[str]
    """Interfaces of which a capture could not be read."""
    wrongly_split: list[str]
    """Captures of which a piece does not begin or end where it should."""
    foreign: dict[str, tuple[str, str]]
    """By interface: source and destination of a frame of another link."""
    control: list[tuple[str, int, str]]
    """Interface, time and packet (hexadecimal) of what is kept of control traffic."""


def empty_report() -> BinReport:
    """Of a task that has done nothing yet."""
    return BinReport(counts={}, problems=[], unreadable=[], wrongly_split=[], foreign={}, control=[])


def decode_bin(number: int, pieces: list[Piece], target: str) -> BinReport:
    """Decode the pieces into one Parquet file that appears whole or not at all."""
    report = empty_report()
    final = Path(target) / f"part-{number:05d}.parquet"
    partial = final.with_name(f".{final.name}.partial")
    with pq.ParquetWriter(partial, SCHEMA, compression="zstd") as writer:
        for piece in pieces:
            try:
                batch = decode_piece(piece, report)
            except (PcapError, OSError) as error:
                report["problems"].append(unreadable(Path(piece.path), error))
                report["unreadable"].append(piece.interface)
            else:
                writer.write_batch(batch)  # what cannot be written is no capture's fault
    partial.replace(final)
    return report


def decode_piece(piece: Piece, report: BinReport) -> pa.RecordBatch:
    """The rows of table `packets` in one piece; notes in the report what was read, skipped and kept."""
    batch, counts, edges, foreign = decode_range(
        piece.path, piece.start, piece.end, mac=piece.mac, peer_mac=piece.peer_mac
    )
    if not fits(piece, edges):
        report["wrongly_split"].append(piece.path)
    if foreign:
        report["foreign"].setdefault(piece.interface, foreign)
    totals = Counter(report["counts"].get(piece.interface, {}))
    totals.update(counts)
    report["counts"][piece.interface] = dict(totals)
    report["control"] += _kept(piece, batch)
    return _rows(piece, batch)


def _rows(piece: Piece, batch: pa.RecordBatch) -> pa.RecordBatch:
    size = batch.num_rows
    interface = [pa.repeat(pa.scalar(getattr(piece, f.name), f.type), size) for f in OF_INTERFACE]
    unwanted = batch["sent"] if piece.peer_is_client else pa.repeat(pa.scalar(True), size)
    attributes = pc.if_else(unwanted, None, batch["attributes"])  # those of publications alone
    columns = {name: batch[name] for name in batch.schema.names} | {"attributes": attributes}
    del columns["control"]
    return pa.RecordBatch.from_arrays([*interface, *columns.values()], schema=SCHEMA)


def _kept(piece: Piece, batch: pa.RecordBatch) -> Iterator[tuple[str, int, str]]:
    """What a client subscribes to, and what the router announces of its own links and interest."""
    kept = pc.greater(pc.binary_length(batch["control"]), 0)
    if not piece.peer_is_client:
        kept = pc.and_(kept, _of_own_records(piece, batch))
    rows = batch.select(["time_ns", "control"]).filter(kept).to_pylist()
    return ((piece.interface, row["time_ns"], row["control"].hex()) for row in rows)


def _of_own_records(piece: Piece, batch: pa.RecordBatch) -> pa.BooleanArray:
    """Which packets have records of the router itself: the front, and what may be the rest.

    Interest that is very large is left out.
    """
    own = pc.fill_null(pc.equal(batch["source"], piece.node_id), False)
    fronts = batch.select(["kind", "control"]).filter(own).to_pylist()
    parted = {row["kind"] for row in fronts if row["control"] and not row["control"][_FLAGS_AT] & _LAST}
    if parted:
        rest = pc.is_in(batch["kind"], pa.array(parted, pa.int32()))
        own = pc.or_(own, pc.and_(rest, pc.is_null(batch["source"])))
    links = pc.equal(batch["kind"], int(Kind.LINK_STATE))
    size = pc.sum(pc.binary_length(batch["control"].filter(own))).as_py() or 0
    return pc.and_(own, links) if size > MOST_KEPT_BYTES else own


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

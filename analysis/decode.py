"""Captures, without Spark: where a large one can be split, and what a task makes of a piece.

Decoding runs in Spark's Python workers: the compiled reader, then Parquet of the task's own.

The index that capturing leaves beside a file (`docs/captures.md`) says at once where it can be
split; where there is none, or none that can be right, every record's header is read. An index is
never trusted: who reads a range checks its edges (`fits`); a wrong index costs time and changes no result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fastpath import pcap
from fastpath.pcap import Decoding, PcapError, RangeEdges, decode_batches, index_pcap
from fastpath.pcap.unpack import compression_of
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
FRONT = pa.field("front", pa.binary())
"""Of a packet of the matchmaker."""
SCHEMA = pa.schema([*OF_INTERFACE, *(field for field in pcap.SCHEMA if field.name != "control"), FRONT])
"""Of `packets.parquet`: whose capture it is, and what the reader decodes."""
FRONT_BYTES = 57
"""To the end of the fixed fields of a CD_UPDATE."""
OF_MATCHMAKER = pa.array(
    map(int, (Kind.COST_ANNOUNCE, Kind.CHANGE_MARKING, Kind.CHANGE_MARKING_REPLY, Kind.CD_UPDATE)), pa.int32()
)
"""Kinds of packets of which the reader keeps the front, in both directions."""
MOST_KEPT_BYTES = 1 << 22
"""Of a router's own records in one piece: if they are more, those of interest are not kept."""
DICTIONARY = [
    "interface",
    "node_id",
    "peer_id",
    "frame_bytes",
    "packet_bytes",
    "type",
    "source",
    "header_class",
    "hop_limit",
    "hop_count",
    "attribute_count",
    "kind",
]
"""Columns of few values each: a dictionary of any other costs more time than it saves bytes."""
RISING = ("time_ns", "sequence", "publish_time_ns")
"""Columns of which a value is near the one before."""
PARQUET: dict[str, Any] = {
    "compression": {name: "none" if name == "content" else "zstd" for name in SCHEMA.names},
    "use_dictionary": DICTIONARY,
    "column_encoding": dict.fromkeys(RISING, "DELTA_BINARY_PACKED"),
}
"""How `packets.parquet` is written."""
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
    node_id: int | None
    """Whose capture it is, who is at the other end and of what role; None: it is not known."""
    peer_id: int | None
    peer_is_client: bool | None
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
    between: dict[str, list[tuple[str, str]]]
    """By interface: the two addresses of its link, if no plan says them; two empty ones: others too."""
    steps_back_ns: dict[str, int]
    """By interface: the largest step back of the clock from one packet to the next."""
    control: list[tuple[str, int, str]]
    """Interface, time and packet (hexadecimal) of what is kept of control traffic."""


def part_name(number: int) -> str:
    """Of the file that a task writes."""
    return f"part-{number:05d}.parquet"


def empty_report() -> BinReport:
    """Of a task that has done nothing yet."""
    return BinReport(
        counts={},
        problems=[],
        unreadable=[],
        wrongly_split=[],
        foreign={},
        between={},
        steps_back_ns={},
        control=[],
    )


def decode_bin(number: int, pieces: list[Piece], target: str) -> BinReport:
    """Decode the pieces into one Parquet file that appears whole or not at all."""
    report = empty_report()
    final = Path(target) / part_name(number)
    partial = final.with_name(f".{final.name}.partial")
    with pq.ParquetWriter(partial, SCHEMA, **PARQUET) as writer:
        for piece in pieces:
            _write(piece, writer, report)
    partial.replace(final)
    return report


def _write(piece: Piece, writer: pq.ParquetWriter, report: BinReport) -> None:
    """A row group a batch: no more than that is in memory, however long the capture is."""
    batches = decode_rows(piece, report)
    while True:
        try:
            batch = next(batches, None)
        except (PcapError, OSError) as error:
            report["problems"].append(unreadable(Path(piece.path), error))
            report["unreadable"].append(piece.interface)
            return
        if batch is None:
            return
        writer.write_batch(batch)  # what cannot be written is no capture's fault


def decode_piece(piece: Piece, report: BinReport) -> pa.RecordBatch:
    """All rows of table `packets` in one piece; notes in the report what was read, skipped and kept."""
    return pa.concat_batches(list(decode_rows(piece, report)))


def decode_rows(piece: Piece, report: BinReport) -> Iterator[pa.RecordBatch]:
    """As `decode_piece`, batch by batch; the report is complete once there are no more."""
    decoding = decode_batches(piece.path, piece.start, piece.end, mac=piece.mac, peer_mac=piece.peer_mac)
    kept = _Kept(piece)
    for batch in decoding:
        kept.add(batch)
        _note_clock(piece, batch["time_ns"], report)
        yield _rows(piece, batch)
    _note(piece, decoding, report)
    report["control"] += kept.control()


def _note(piece: Piece, decoding: Decoding, report: BinReport) -> None:
    if not fits(piece, decoding.edges):
        report["wrongly_split"].append(piece.path)
    if decoding.foreign:
        report["foreign"].setdefault(piece.interface, decoding.foreign)
    if decoding.between:
        report["between"].setdefault(piece.interface, []).extend(sorted(decoding.between))
    if decoding.why:
        report["problems"].append(f"{_shown(Path(piece.path))}: {decoding.why}; what came before was read")
    totals = Counter(report["counts"].get(piece.interface, {}))
    totals.update(decoding.counts)
    report["counts"][piece.interface] = dict(totals)


def _note_clock(piece: Piece, time_ns: pa.Int64Array, report: BinReport) -> None:
    back = -int(np.diff(time_ns.to_numpy()).min(initial=0))
    if back > 0:
        known = report["steps_back_ns"]
        known[piece.interface] = max(known.get(piece.interface, 0), back)


def _rows(piece: Piece, batch: pa.RecordBatch) -> pa.RecordBatch:
    size = batch.num_rows
    same = _of_interface(piece, 1 << size.bit_length())
    columns = {name: column.slice(0, size) for name, column in same.items()}
    columns |= {name: batch[name] for name in batch.schema.names}
    columns["front"] = _fronts(batch)
    if piece.peer_is_client is False:  # attributes are those of publications alone
        columns["attributes"] = pa.nulls(size, pa.binary())
    return pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _fronts(batch: pa.RecordBatch) -> pa.Array:
    """The first bytes of packets of the matchmaker."""
    has = pc.is_in(batch["kind"], OF_MATCHMAKER)
    if not has.true_count:
        return pa.nulls(batch.num_rows, FRONT.type)
    return pc.if_else(has, batch["control"], pa.scalar(None, FRONT.type))


@lru_cache(maxsize=1)
def _of_interface(piece: Piece, size: int) -> dict[str, pa.Array]:
    """What is the same in all rows of a piece; made once for its batches, which are of about one size."""
    return {f.name: pa.repeat(pa.scalar(getattr(piece, f.name), f.type), size) for f in OF_INTERFACE}


@dataclass(slots=True)
class _Kept:
    """What is kept of a piece's control traffic: what a client holds, or a router's own records."""

    piece: Piece
    fronts: list[pa.RecordBatch] = field(default_factory=list)
    """Rows with a control packet."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Keep the rows of a batch that may matter."""
        if batch["control"].buffers()[2].size:
            has = pc.greater(pc.binary_length(batch["control"]), 0)
            has = pc.and_not(has, pc.is_in(batch["kind"], OF_MATCHMAKER))
            self.fronts.append(batch.select(["time_ns", "source", "kind", "control"]).filter(has))

    def control(self) -> list[tuple[str, int, str]]:
        """What a client subscribes to, or what the router announces of its own links and interest."""
        if not self.fronts:
            return []
        packets = pa.concat_batches(self.fronts)
        if self.piece.peer_is_client is not True:
            packets = packets.filter(_of_own_records(self.piece, packets))
        rows = packets.select(["time_ns", "control"]).to_pylist()
        return [(self.piece.interface, row["time_ns"], row["control"].hex()) for row in rows]


def _of_own_records(piece: Piece, packets: pa.RecordBatch) -> pa.BooleanArray:
    """Which packets have records of the router itself: the front, and what may be the rest.

    Interest that is very large is left out.
    """
    own = pc.fill_null(pc.equal(packets["source"], piece.node_id), False)
    fronts = packets.select(["kind", "control"]).filter(own).to_pylist()
    parted = {row["kind"] for row in fronts if not row["control"][_FLAGS_AT] & _LAST}
    if parted:
        rest = pc.is_in(packets["kind"], pa.array(parted, pa.int32()))
        own = pc.or_(own, pc.and_(rest, pc.is_null(packets["source"])))
    links = pc.equal(packets["kind"], int(Kind.LINK_STATE))
    size = pc.sum(pc.binary_length(packets["control"].filter(own))).as_py() or 0
    return pc.and_(own, links) if size > MOST_KEPT_BYTES else own


def fits(piece: Piece, edges: RangeEdges) -> bool:
    """Whether the pieces of a capture that all fit are the capture: each begins where the one before ends."""
    if piece.first and piece.last:
        return True
    return (piece.first or edges.starts_clean) and (piece.last or edges.ends_clean) and not edges.late


def unreadable(path: Path, error: Exception) -> str:
    """Why a capture was left out."""
    why = error.strerror if isinstance(error, OSError) else str(error).removeprefix(f"{path} ")
    return f"{_shown(path)}: {why}; it was left out"


def _shown(path: Path) -> str:
    """A capture of a run by its path in the run directory, and any other by its name."""
    return f"captures/{path.name}" if path.parent.name == "captures" else path.name


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
    if size <= split_bytes or compression_of(str(path)):
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

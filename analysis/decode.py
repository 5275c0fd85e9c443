"""What a Spark task does with captures: decode by the compiled reader, write its own Parquet.

Runs in Spark's Python workers; neither Spark nor the driver's state is known here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fastpath.pcap import PcapError, RangeEdges, decode_range

SCHEMA = pa.schema(
    [
        ("interface", pa.string()),
        ("node_id", pa.int32()),
        ("peer_id", pa.int32()),
        ("peer_is_client", pa.bool_()),
        ("sent", pa.bool_()),
        ("time_ns", pa.int64()),
        ("frame_bytes", pa.int32()),
        ("packet_bytes", pa.int32()),
        ("type", pa.int32()),
        ("source", pa.int64()),
        ("header_class", pa.int64()),
        ("sequence", pa.int64()),
        ("publish_time_ns", pa.int64()),
        ("hop_limit", pa.int32()),
        ("hop_count", pa.int32()),
        ("attribute_count", pa.int32()),
        ("attributes", pa.binary()),
        ("kind", pa.int32()),
    ]
)
"""Of `packets.parquet`; the same columns as `analysis.schemas.PACKETS`."""


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
    """What a task tells the driver."""

    counts: dict[str, int]
    problems: list[str]
    torn: list[str]
    """Captures of which a piece does not begin or end where it should."""


def decode_bin(number: int, pieces: list[Piece], target: str) -> BinReport:
    """Decode the pieces into one Parquet file that appears whole or not at all."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    torn: set[str] = set()
    final = Path(target) / f"part-{number:05d}.parquet"
    partial = final.with_name(f".{final.name}.partial")
    with pq.ParquetWriter(partial, SCHEMA, compression="zstd") as writer:
        for piece in pieces:
            try:
                batch, found, fits = decode_piece(piece)
            except (PcapError, OSError) as error:
                problems.append(unreadable(Path(piece.path), error))
                continue
            torn |= set() if fits else {piece.path}
            counts.update(found)
            writer.write_batch(batch)
    partial.replace(final)
    return {"counts": dict(counts), "problems": problems, "torn": sorted(torn)}


def decode_piece(piece: Piece) -> tuple[pa.RecordBatch, dict[str, int], bool]:
    """The rows of table `packets` in one piece, what was read and skipped, and whether its edges fit."""
    batch, counts, edges = decode_range(piece.path, piece.start, piece.end, mac=piece.mac)
    size = batch.num_rows
    columns = {
        "interface": pa.repeat(pa.scalar(piece.interface), size),
        "node_id": pa.repeat(pa.scalar(piece.node_id, pa.int32()), size),
        "peer_id": pa.repeat(pa.scalar(piece.peer_id, pa.int32()), size),
        "peer_is_client": pa.repeat(pa.scalar(piece.peer_is_client), size),
        **{name: batch.column(name) for name in batch.schema.names},
    }
    unwanted = columns["sent"] if piece.peer_is_client else pa.repeat(pa.scalar(True), size)
    columns["attributes"] = pc.if_else(unwanted, None, columns["attributes"])  # those of publications alone
    arrays = [columns[field.name].cast(field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA), counts, fits(piece, edges)


def fits(piece: Piece, edges: RangeEdges) -> bool:
    """Whether the pieces of a capture that all fit are the capture: each begins where the one before ends."""
    if piece.first and piece.last:
        return True
    return (piece.first or edges.starts_clean) and (piece.last or edges.ends_clean) and not edges.late


def unreadable(path: Path, error: Exception) -> str:
    """Why a capture was left out, with its path as the run directory has it."""
    why = error.strerror if isinstance(error, OSError) else str(error).removeprefix(f"{path} ")
    return f"captures/{path.name}: {why}; it was left out"

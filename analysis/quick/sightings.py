"""What captures and events show of a run, as columns in memory.

Captures are decoded as in the analysis (`decode`, `pieces`). Kept are messages on access links, what routers
announce, and how much passed. Not here: what it means (`pairs`, `judge`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json
from numpy.typing import NDArray

from analysis.calm import LAST_CLASS, RECORDS
from analysis.decode import SCHEMA, BinReport, Piece, decode_piece, empty_report, unreadable
from analysis.findings import Ingested, Traffic
from analysis.pieces import pieces_of
from analysis.rundir import Run
from fastpath.pcap import PcapError
from nodes.wire.packets import PacketType

Column = NDArray[np.int64]
WHOLE = 1 << 62
"""No capture is so large that it would be split."""
_EVENTS = pa.schema(
    [
        ("time_ns", pa.int64()),
        ("node", pa.string()),
        ("event", pa.string()),
        ("source", pa.int64()),
        ("sequence", pa.int64()),
        ("message", pa.string()),
    ]
)
"""What is read of events; other keys are passed over."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Rows about messages, one a packet or event."""

    source: Column
    sequence: Column
    time_ns: Column
    client: Column
    """Whose access link it was on, or whose event."""
    hop_count: Column
    content: Sequence[tuple[bytes | None, int, str | None]] = ()
    """Of publications: the attributes, how many, and the text that the client announced."""


@dataclass(frozen=True, slots=True)
class Sightings:
    """All that is used of captures and events."""

    ingested: Ingested
    entered: Seen
    """Publications, where a router received them."""
    left: Seen
    """What routers sent to clients."""
    announced: Seen
    """Publications, by their clients."""
    reported: Seen
    """Deliveries, by their clients."""
    traffic: Sequence[Traffic]
    records: Mapping[str, Column]
    """The fronts of what routers announced: `router`, `origin`, `of`, `time_ns`, `sequence`."""


def sightings_of(run: Run) -> Sightings:
    """Read a run's captures and events."""
    pieces, work = pieces_of(run, WHOLE, ())
    report, collected = empty_report(), _Collected([], [], [], [])
    work.reports.append(report)
    for piece in pieces:
        _collect(piece, report, collected)
    announced, reported = _events(run)
    return Sightings(
        work.summary(),
        _seen(collected.entered),
        _seen(collected.left),
        announced,
        reported,
        _summed(collected.traffic),
        _joined(collected.records, ("router", "origin", "of", "time_ns", "sequence")),
    )


@dataclass(slots=True)
class _Collected:
    """From all captures so far."""

    entered: list[pa.RecordBatch]
    left: list[pa.RecordBatch]
    traffic: list[Traffic]
    records: list[dict[str, Column]]


def _collect(piece: Piece, report: BinReport, into: _Collected) -> None:
    try:
        batch = decode_piece(piece, report)
    except (PcapError, OSError) as error:
        report["problems"].append(unreadable(Path(piece.path), error))
        report["unreadable"].append(piece.interface)
        return
    sent = pc.fill_null(batch["sent"], False)
    into.traffic += _traffic(piece, batch, sent)
    into.records.append(_records(piece, batch))
    if piece.peer_is_client:
        message = pc.equal(batch["type"], int(PacketType.MESSAGE))
        received = pc.fill_null(pc.invert(batch["sent"]), False)
        came = pc.and_(received, pc.fill_null(pc.equal(batch["source"], piece.peer_id), False))
        into.entered.append(batch.filter(pc.and_(message, came)))
        into.left.append(batch.filter(pc.and_(message, sent)))


def _traffic(piece: Piece, batch: pa.RecordBatch, sent: pa.BooleanArray) -> Iterator[Traffic]:
    """As `transforms.to_traffic`: where a router sends, or where a client's packets arrive."""
    table = pa.table({"sent": sent, **{name: batch[name] for name in ("type", "kind", "packet_bytes")}})
    if not piece.peer_is_client:
        table = table.filter(sent)
    sums = table.group_by(["sent", "type", "kind"]).aggregate([("packet_bytes", "sum"), ([], "count_all")])
    for row in sums.to_pylist():
        yield Traffic(
            piece.interface, row["sent"], row["type"], row["kind"], row["count_all"], row["packet_bytes_sum"]
        )


def _summed(traffic: Sequence[Traffic]) -> list[Traffic]:
    """One row for each interface, direction, type and kind, though there may be several files."""
    sums: dict[tuple[str, bool, int, int | None], tuple[int, int]] = {}
    for each in traffic:
        key = (each.interface, each.sent, each.type, each.kind)
        packets, size = sums.get(key, (0, 0))
        sums[key] = (packets + each.packets, size + each.bytes)
    rows = (Traffic(*key, *load) for key, load in sums.items())
    return sorted(rows, key=lambda t: (t.interface, t.sent, t.type, t.kind or 0))


def _records(piece: Piece, batch: pa.RecordBatch) -> dict[str, Column]:
    """As `transforms.to_last_records` chooses them."""
    control = pc.equal(batch["type"], int(PacketType.CONTROL))
    chosen = pc.and_(control, pc.fill_null(pc.less(batch["sequence"], LAST_CLASS), False))
    rows = batch.select(["source", "kind", "time_ns", "sequence"]).filter(chosen)
    known = {int(kind): of for kind, of in RECORDS.items()}
    of = np.array([known.get(kind, -1) for kind in range(256)], dtype=np.int64)
    return {
        "router": np.full(rows.num_rows, piece.node_id, dtype=np.int64),
        "origin": _numbers(rows["source"]),
        "of": of[_numbers(rows["kind"])],
        "time_ns": _numbers(rows["time_ns"]),
        "sequence": _numbers(rows["sequence"]),
    }


def _joined(columns: Sequence[Mapping[str, Column]], names: Sequence[str]) -> dict[str, Column]:
    none = np.empty(0, dtype=np.int64)
    return {name: np.concatenate([none, *(each[name] for each in columns)]) for name in names}


def _numbers(column: pa.Array | pa.ChunkedArray) -> Column:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    found: Column = whole.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found


def _seen(batches: Sequence[pa.RecordBatch]) -> Seen:
    table = pa.Table.from_batches(batches, SCHEMA)
    attributes, counts = (table[name].to_pylist() for name in ("attributes", "attribute_count"))
    return Seen(
        _numbers(table["source"]),
        _numbers(table["sequence"]),
        _numbers(table["time_ns"]),
        _numbers(table["peer_id"]),
        _numbers(table["hop_count"]),
        [(data, count, None) for data, count in zip(attributes, counts, strict=True)],
    )


def _events(run: Run) -> tuple[Seen, Seen]:
    """What clients published and what was delivered to them, by their own word."""
    events, clients = _read_events(run), run.client_ids
    found = events.filter(pc.and_(pc.is_valid(events["source"]), pc.is_valid(events["sequence"])))
    published = found.filter(pc.fill_null(pc.equal(found["event"], "publish"), False))
    delivered = found.filter(pc.fill_null(pc.equal(found["event"], "deliver"), False))
    delivered = delivered.filter(pc.is_in(delivered["node"], pa.array(clients, pa.string())))
    texts = [(None, 0, text) for text in published["message"].to_pylist()]
    return _of_events(published, clients, texts), _of_events(delivered, clients, ())


def _of_events(
    events: pa.Table, clients: Mapping[str, int], content: Sequence[tuple[None, int, str | None]]
) -> Seen:
    names = events["node"].combine_chunks().dictionary_encode()
    ids = np.array([clients.get(name, 0) for name in names.dictionary.to_pylist()], dtype=np.int64)
    client = ids[_numbers(pc.fill_null(names.indices, 0))] if len(ids) else np.zeros(len(names), np.int64)
    return Seen(
        _numbers(events["source"]),
        _numbers(events["sequence"]),
        _numbers(events["time_ns"]),
        client,
        np.zeros(len(client), dtype=np.int64),
        content,
    )


def _read_events(run: Run) -> pa.Table:
    """All events; if not every line is one, those that are."""
    path = run.path / "events.jsonl"
    options = pa_json.ParseOptions(explicit_schema=_EVENTS, unexpected_field_behavior="ignore")
    try:
        return pa_json.read_json(path, parse_options=options)
    except pa.ArrowInvalid:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return pa.Table.from_pylist(list(_readable(lines)), _EVENTS)


def _readable(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            event = json.loads(line)
            yield pa.RecordBatch.from_pylist([event], _EVENTS).to_pylist()[0]
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, pa.ArrowException):
            continue  # cut-off lines are named by `rundir`; else what it reported is seen to lack its event

"""What clients report, read from `events.jsonl` in pieces: what they published, and what they got."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from analysis.columns import Numbers
from analysis.messages.rows import ANNOUNCED, REPORTED, numbers

PIECE_BYTES = 32 * 1024 * 1024
"""Of the file, that a task reads."""
_SCHEMA = pa.schema(
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
_OPTIONS = pa_json.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore")


class Events(NamedTuple):
    """Of the clients."""

    announced: pa.Table
    reported: pa.Table


def pieces_of_events(path: Path, piece_bytes: int = PIECE_BYTES) -> list[tuple[int, int]]:
    """Ranges of the file that together are all of it; lines that begin in one belong to it."""
    size = path.stat().st_size
    return [(start, min(start + piece_bytes, size)) for start in range(0, size, piece_bytes)]


def events_of(path: Path, clients: Mapping[str, int], start: int = 0, end: int | None = None) -> Events:
    """The events of the lines that begin in a range of the file.

    Args:
        path: Of `events.jsonl`.
        clients: Ids by name.
        start: Where the range begins.
        end: Where it ends; None: at the end of the file.
    """
    found = _events(_lines(path, start, path.stat().st_size if end is None else end))
    found = found.filter(pc.and_(pc.is_valid(found["source"]), pc.is_valid(found["sequence"])))
    found = found.filter(pc.is_valid(found["time_ns"]))
    published = found.filter(_is(found, "publish"))
    delivered = found.filter(pc.and_(_is(found, "deliver"), _known(found, clients)))
    client = pa.array(_ids(delivered, clients))
    return Events(
        published.select(ANNOUNCED.names).cast(ANNOUNCED),
        delivered.append_column("client", client).select(REPORTED.names).cast(REPORTED),
    )


def _is(events: pa.Table, name: str) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(events["event"], name), False)


def _known(events: pa.Table, clients: Mapping[str, int]) -> pa.ChunkedArray:
    return pc.is_in(events["node"], pa.array(clients, pa.string()))


def _ids(events: pa.Table, clients: Mapping[str, int]) -> Numbers:
    names = events["node"].combine_chunks().dictionary_encode()
    ids = np.array([clients[name] for name in names.dictionary.to_pylist()], dtype=np.int64)
    return ids[numbers(names.indices)]


def _lines(path: Path, start: int, end: int) -> bytes:
    """The lines that begin in a range."""
    with path.open("rb") as file:
        file.seek(max(0, start - 1))
        if start:
            file.readline()  # what begins before belongs to the piece before, unless it ends just there
        begin = file.tell()
        whole = file.read(max(0, end - begin))
        rest = b"" if whole.endswith(b"\n") or begin >= end else file.readline()
    return whole + rest


def _events(lines: bytes) -> pa.Table:
    """All events; if not every line is one, those that are."""
    if not lines:
        return _SCHEMA.empty_table()
    try:
        return pa_json.read_json(pa.BufferReader(lines), parse_options=_OPTIONS)
    except pa.ArrowInvalid:
        texts = lines.decode("utf-8", errors="replace").splitlines()
        return pa.Table.from_pylist(list(_readable(iter(texts))), _SCHEMA)


def _readable(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            event = json.loads(line)
            yield pa.RecordBatch.from_pylist([event], _SCHEMA).to_pylist()[0]
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, pa.ArrowException):
            continue  # cut-off lines are named by `rundir`; else what it reported is seen to lack its event

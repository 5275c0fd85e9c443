"""The tables about messages: the part of each that a bucket of messages gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.catalog import messages as catalog
from analysis.catalog.model import Table
from analysis.columns import Numbers
from analysis.decode import part_name
from analysis.messages.bucket import Judged
from analysis.messages.crossings import FLAWS
from analysis.messages.numbering import UNKNOWN_NS, Messages


def write_tables(judged: Judged, folder: Path, number: int) -> None:
    """Write a part of each table, numbered like the bucket."""
    for table, columns in parts_of_tables(judged).items():
        write_part(folder, table, columns, number)


def parts_of_tables(judged: Judged) -> dict[Table, dict[str, Any]]:
    """The columns of each table."""
    return {
        catalog.PUBLICATIONS: _publications(judged),
        catalog.EXPECTED: _expected(judged),
        catalog.DELIVERIES: _deliveries(judged),
        catalog.VERDICTS: _verdicts(judged),
        catalog.CROSSINGS: _crossings(judged),
        catalog.HOPS: _hops(judged),
        catalog.TREES: _trees(judged),
    }


def write_part(folder: Path, table: Table, columns: Mapping[str, Any], number: int = 0) -> None:
    """Write a part of a table, which is there whole or not at all.

    Args:
        folder: Where the tables are.
        table: Which it is.
        columns: By name, arrays or lists.
        number: Of the part.
    """
    path = folder / f"{table.name}.parquet" / part_name(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    pq.write_table(in_schema(table, columns), partial, compression="zstd")
    partial.replace(path)


def in_schema(table: Table, columns: Mapping[str, Any]) -> pa.Table:
    """Columns as the table has them."""
    arrays = [_array(columns[field.name], field.type) for field in table.schema]
    return pa.Table.from_arrays(arrays, schema=table.schema)


def _array(values: Any, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.cast(kind)
    return pa.array(values).cast(kind) if isinstance(values, np.ndarray) else pa.array(values, kind)


def known(times_ns: Numbers) -> pa.Array:
    """Times, null where they are not known."""
    return pa.array(times_ns, mask=times_ns == UNKNOWN_NS)


def _ids(messages: Messages, message: Numbers) -> dict[str, Numbers]:
    return {"source": messages.source[message], "sequence": messages.sequence[message]}


def _publications(judged: Judged) -> dict[str, Any]:
    messages = judged.messages
    which = np.flatnonzero(messages.published)
    entered, announced = messages.entered.take(which), messages.announced.take(which)
    captured = (
        "time_ns",
        "node_id",
        "publish_time_ns",
        "attribute_count",
        "attributes",
        "content",
        "hop_count",
    )
    return {
        **_ids(messages, which),
        **{name: entered[name] for name in captured},
        "announced_ns": announced["time_ns"],
        "message": announced["message"],
        "as_announced": pa.array(judged.agree, pa.bool_()).take(which),
    }


def _expected(judged: Judged) -> dict[str, Any]:
    """What is due of publications, and behind it the pairs of which the reference model says otherwise."""
    messages, dues = judged.messages, judged.pairs.expected
    which = np.flatnonzero(messages.published)
    denied = np.array(judged.pairs.deviating, np.int64).reshape(-1, 2)
    message = np.concatenate([which[dues.message], denied[:, 0]])
    due = np.concatenate([dues.due, np.zeros(len(denied), np.int64)])
    return {
        **_ids(messages, message),
        "subscriber": np.concatenate([dues.client, denied[:, 1]]),
        "published_ns": messages.time_ns[message],
        "owed": _of_kind([kind.owed for kind in dues.kinds], pa.bool_(), due),
        "wanted": _of_kind([kind.wanted for kind in dues.kinds], pa.bool_(), due),
        "reason": _of_kind([kind.reason or None for kind in dues.kinds], pa.string(), due),
        "denied": np.arange(len(message)) >= len(dues.message),
    }


def _of_kind(values: Sequence[Any], kind: pa.DataType, at: Numbers) -> pa.Array:
    return pa.array(values, kind).take(pa.array(at))


def _deliveries(judged: Judged) -> dict[str, Any]:
    messages, pairs = judged.messages, judged.pairs
    rows = np.flatnonzero(pairs.copies)
    message = pairs.message[rows]
    return {
        **_ids(messages, message),
        "subscriber": pairs.client[rows],
        "node_id": pairs.router[rows],
        "time_ns": pairs.left_ns[rows],
        "latency_ns": known(judged.latency_ns[rows]),
        "hop_count": pairs.hop_count[rows],
        "copies": pairs.copies[rows],
        "published_ns": known(messages.time_ns[message]),
    }


def _verdicts(judged: Judged) -> dict[str, Any]:
    messages, pairs, outcomes = judged.messages, judged.pairs, judged.outcomes
    rows = np.flatnonzero(outcomes.is_counted("listed"))
    message, due = pairs.message[rows], pairs.due[rows]
    return {
        **_ids(messages, message),
        "subscriber": pairs.client[rows],
        "verdict": _of_kind([word or None for word in outcomes.verdicts], pa.string(), outcomes.kind[rows]),
        "owed": _of_kind([kind.owed for kind in pairs.dues], pa.bool_(), due),
        "wanted": _of_kind([kind.wanted for kind in pairs.dues], pa.bool_(), due),
        "reason": _of_kind([kind.reason or None for kind in pairs.dues], pa.string(), due),
        "copies": pairs.copies[rows],
        "reports": pairs.reports[rows],
        "published_ns": known(messages.time_ns[message]),
        "latency_ns": known(judged.latency_ns[rows]),
    }


def _crossings(judged: Judged) -> dict[str, Any]:
    crossings = judged.crossings
    met = crossings.met
    flaws = pa.array([flaw or None for flaw in FLAWS], pa.string())
    return {
        **_ids(judged.messages, met.message),
        "from_id": met.sender,
        "to_id": met.receiver,
        "access": met.access,
        "time_ns": known(met.time_ns),
        "hop_count": met.hop,
        "copies": met.copies,
        "received_ns": known(met.received_ns),
        "arrived": met.arrived,
        "wasted": crossings.wasted,
        "flaw": flaws.take(pa.array(crossings.flaw)),
        "altered": crossings.altered,
    }


def _hops(judged: Judged) -> dict[str, Any]:
    hops = judged.hops
    return {
        **_ids(judged.messages, hops.message),
        "from_id": hops.sender,
        "to_id": hops.receiver,
        "sent_ns": known(hops.sent_ns),
        "received_ns": known(hops.received_ns),
        "delay_ns": known(hops.delay_ns),
        "waited_ns": known(hops.waited_ns),
    }


def _trees(judged: Judged) -> dict[str, Any]:
    trees = judged.trees
    return {
        **_ids(judged.messages, trees.message),
        "node_id": trees.router,
        "destinations": trees.destinations,
        "crossings": trees.crossings,
        "wasted": trees.wasted,
        "ideal": trees.ideal,
        "exact": trees.exact,
    }

"""What needs the model in Spark's Python workers: table `expected`, and what clients announced.

The oracle is asked about all publications of a batch at once. Claims travel there as text. Not here: the
oracle itself (`oracle`, `dues`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, StructField, StructType

from analysis.columns import Numbers
from analysis.contents import content_of
from analysis.dues import BulkOracle
from analysis.history import History
from analysis.oracle import Claim, Oracle, Pair
from analysis.schemas import EXPECTED
from nodes.model import PredicateSyntaxError, format_message, parse_message
from nodes.wire.codec import WireError, decode_attributes


def with_agreement(publications: DataFrame) -> DataFrame:
    """Add `as_announced`: whether what was captured is what the client reports; null if one is missing."""
    schema = StructType([*publications.schema.fields, StructField("as_announced", BooleanType())])
    return publications.mapInArrow(_compare, schema)


def _compare(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = (batch[name].to_pylist() for name in ("attributes", "attribute_count", "message"))
        agree = [_agree(*row) for row in zip(*columns, strict=True)]
        yield batch.append_column("as_announced", pa.array(agree, pa.bool_()))


def _agree(attributes: bytes | None, count: int, message: str | None) -> bool | None:
    if attributes is None or message is None:
        return None
    try:
        captured = decode_attributes(attributes, count)
        return format_message(captured) == message or parse_message(message) == captured
    except (WireError, PredicateSyntaxError):
        return False


_ARROW = to_arrow_schema(EXPECTED)


def to_expected(publications: DataFrame, claims: Sequence[Claim], history: History) -> DataFrame:
    """Who wants, is owed and may get each publication: table `expected`."""
    needed = publications.select(
        "source", "sequence", "time_ns", "announced_ns", "attribute_count", "attributes", "message"
    )
    return needed.mapInArrow(_judge(tuple(claims), history), EXPECTED)


def _judge(
    claims: tuple[Claim, ...], history: History
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        oracle = BulkOracle(Oracle(claims, history))
        for batch in batches:
            yield expected_batch(oracle, batch)

    return judge


def expected_batch(oracle: BulkOracle, batch: pa.RecordBatch) -> pa.RecordBatch:
    """What is expected of a batch of publications, and where the reference model denies it."""
    contents = [content_of(*row) for row in zip(*(batch[n].to_pylist() for n in _CONTENT), strict=True)]
    source, sequence = _numbers(batch["source"]), _numbers(batch["sequence"])
    time_ns = _numbers(pc.coalesce(batch["time_ns"], batch["announced_ns"], pa.scalar(0, pa.int64())))
    dues = oracle.dues(source, time_ns, contents)
    denied = list(oracle.deviating(source, time_ns, contents, dues))
    messages, clients = (np.array([pair[at] for pair in denied], np.int64) for at in (0, 1))
    message, client = np.concatenate([dues.message, messages]), np.concatenate([dues.client, clients])
    due = np.concatenate([dues.due, np.zeros(len(denied), np.int64)])
    columns = {
        "source": source[message],
        "sequence": sequence[message],
        "subscriber": client,
        "published_ns": time_ns[message],
        "owed": _of_kind([kind.owed for kind in dues.kinds], pa.bool_(), due),
        "wanted": _of_kind([kind.wanted for kind in dues.kinds], pa.bool_(), due),
        "reason": _of_kind([kind.reason or None for kind in dues.kinds], pa.string(), due),
        "denied": np.arange(len(message)) >= len(dues.message),
    }
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in _ARROW]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def denied_pairs(path: Path) -> list[Pair]:
    """Where the reference model, asked about a sample, says something else than table `expected`."""
    columns = ["source", "sequence", "subscriber"]
    rows = pq.read_table(path, columns=columns, filters=[("denied", "=", True)]).to_pylist()
    return sorted((row["source"], row["sequence"], row["subscriber"]) for row in rows)


_CONTENT = ("attributes", "attribute_count", "message")


def _numbers(column: pa.Array) -> Numbers:
    numbers: Numbers = column.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _of_kind(values: Sequence[Any], kind: pa.DataType, due: Numbers) -> pa.Array:
    return pa.array(values, kind).take(pa.array(due))

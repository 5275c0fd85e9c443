"""What needs the reference model in Spark's Python workers: table `expected`, and what clients announced.

The oracle is asked about every publication. Claims travel there as text. Not here: the oracle itself
(`oracle`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, StructField, StructType

from analysis.contents import content_of
from analysis.history import History
from analysis.oracle import Claim, Oracle
from analysis.schemas import EXPECTED
from nodes.model import PredicateSyntaxError, Value, format_message, parse_message
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


Publication = tuple[int, int, int, Mapping[str, Value]]
"""source, sequence, time_ns, attributes"""
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
        oracle = Oracle(claims, history)
        for batch in batches:
            yield expected_batch(oracle, batch)

    return judge


def expected_batch(oracle: Oracle, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The expectations of one batch of publications."""
    rows = [
        (source, sequence, subscriber, due.owed, due.wanted, due.reason or None)
        for source, sequence, time_ns, attributes in _publications(batch)
        for subscriber, due in oracle.expected(source, time_ns, attributes).items()
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(_ARROW)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def _publications(batch: pa.RecordBatch) -> Iterator[Publication]:
    for row in batch.to_pylist():
        attributes = content_of(row["attributes"], row["attribute_count"], row["message"])
        if attributes is not None:
            time_ns = row["announced_ns"] if row["time_ns"] is None else row["time_ns"]
            yield row["source"], row["sequence"], time_ns, attributes

"""The columns of tables as Spark has them: those that are written by `analysis.catalog`."""

from __future__ import annotations

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from analysis.catalog import messages


def _schema(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


_INT, _LONG, _TEXT, _FLAG = IntegerType(), LongType(), StringType(), BooleanType()

PACKETS = from_arrow_schema(messages.PACKETS.schema)

EVENTS = _schema(
    time_ns=_LONG,
    node=_TEXT,
    event=_TEXT,
    source=_LONG,
    sequence=_LONG,
    message=_TEXT,
)
"""Of `events.jsonl`, what Spark reads; a line that is not JSON becomes a row of nulls."""

EXPECTED = from_arrow_schema(messages.EXPECTED.schema)
VISITS = _schema(
    source=_LONG,
    sequence=_LONG,
    from_id=_INT,
    to_id=_INT,
    hop_count=_INT,
    sent=_FLAG,
    time_ns=_LONG,
    access=_FLAG,
    content=_LONG,
)
"""What `descent` makes crossings of: where a message was captured, entered the network, and left it."""
CROSSINGS = from_arrow_schema(messages.CROSSINGS.schema)
TREES = from_arrow_schema(messages.TREES.schema)
SCOPES = _schema(scope=_INT, from_ns=_LONG, until_ns=_LONG)
STRETCHES = _schema(stretch=DoubleType())
HOMES = _schema(subscriber=_INT, router=_INT)
LINKS = _schema(interface=_TEXT, link=_TEXT)
ENDS = _schema(from_id=_INT, to_id=_INT, link=_TEXT)
CLIENTS = _schema(node=_TEXT, subscriber=_INT)
KINDS = _schema(type=_INT, kind=_INT, kind_name=_TEXT)
POSITIONS = _schema(id=_INT, position=_INT)

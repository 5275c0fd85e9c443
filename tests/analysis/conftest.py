"""One Spark session for all tests, and tables from hand-written rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from analysis.schemas import EVENTS, PACKETS
from analysis.session import start_session

Rows = Callable[..., DataFrame]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_session(captured_bytes=0)
    yield session
    session.stop()


@pytest.fixture
def table(spark: SparkSession) -> Callable[[StructType, list[dict[str, Any]]], DataFrame]:
    """A table of the given columns; what a row leaves out is null."""

    def make(schema: StructType, rows: list[dict[str, Any]]) -> DataFrame:
        return spark.createDataFrame([tuple(r.get(n) for n in schema.names) for r in rows], schema)

    return make


@pytest.fixture
def packets(table) -> Rows:
    """Packets as they would be captured, from rows made by `sent` and `received`."""
    return lambda *rows: table(PACKETS, list(rows))


@pytest.fixture
def events(table) -> Rows:
    return lambda *rows: table(EVENTS, list(rows))

"""SQL over the tables of runs, as views of a Spark session.

Here: the views, and what a query gives. Not here: making the tables (`pipeline`), showing the result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis import AnalysisError
from analysis.session import GIVEN_UP, reason_of, start_session
from analysis.settings import Asked

TABLES = "tables"
CELL = "cell"
"""The column that says of which run of a matrix a row is."""
_QUERY = re.compile(r"\s*\(*\s*(select|with|values|from|table|describe|show|explain)\b", re.IGNORECASE)


def tables_of(run_dir: Path) -> dict[str, Path]:
    """The tables of a run, by name; none, if it is not analysed."""
    return {path.stem: path for path in sorted((run_dir / TABLES).glob("*.parquet"))}


def query(runs: Mapping[str, Path], sql: str, limit: int, asked: Asked | None = None) -> pa.Table:
    """What a query gives; one row more than `limit` where there are more rows.

    Args:
        runs: Run directories that are analysed. If they have names, each view has a column `cell`.
        sql: In Spark's dialect; the tables are views of their names.
        limit: So many rows at most; 0: all.
        asked: What a person asks of Spark.

    Raises:
        AnalysisError: It is no query, a table or column is not there, or Spark gave up.
    """
    if not _QUERY.match(sql):
        raise AnalysisError("expected a query, such as SELECT * FROM deliveries; nothing is changed here")
    places = {name: tables_of(path) for name, path in runs.items()}
    spark = start_session(_bytes_in(places), asked, Path(os.devnull))
    names = sorted({table for tables in places.values() for table in tables})
    try:
        for name in names:
            _view(spark, name, {run: tables[name] for run, tables in places.items() if name in tables})
        found = spark.sql(sql)
        return (found.limit(limit + 1) if limit else found).toArrow()
    except GIVEN_UP as error:
        raise AnalysisError(f"{_explained(error)}\ntables: {', '.join(names)}") from error


def _view(spark: SparkSession, name: str, places: Mapping[str, Path]) -> None:
    frames = [_read(spark, run, path) for run, path in places.items()]
    reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames).createOrReplaceTempView(name)


def _read(spark: SparkSession, run: str, path: Path) -> DataFrame:
    table = spark.read.parquet(str(path.absolute()))
    return table.withColumn(CELL, F.lit(run)) if run else table


def _bytes_in(places: Mapping[str, Mapping[str, Path]]) -> int:
    folders = [path for tables in places.values() for path in tables.values()]
    return sum(part.stat().st_size for folder in folders for part in folder.rglob("*.parquet"))


def _explained(error: Exception) -> str:
    """The line that says what is wrong with the query, without Spark's own words around it."""
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*|\s*SQLSTATE: \w+.*", "", reason_of(error))

"""One of two runs that are compared: its tables, with nodes by names that mean the same in both.

Node ids may differ between two runs, so each side counts nodes by their
positions among the names of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.rundir import Run
from analysis.schemas import POSITIONS


class Side:
    """The tables of one run; `number` is 0 of the run before, 1 of the one after."""

    def __init__(self, spark: SparkSession, run: Run, names: Sequence[str], number: int) -> None:
        self.spark = spark
        self.run = run
        self.names = names
        self.number = number

    def table(self, name: str) -> DataFrame:
        """A table as the analysis wrote it."""
        return self.spark.read.parquet(str(self.run.path / "tables" / f"{name}.parquet"))

    def placed(self, table: DataFrame, *columns: str) -> DataFrame:
        """Positions in the place of ids; rows with ids that the plan does not know are left out."""
        position = {name: at for at, name in enumerate(self.names)}
        rows = [(i, position[name]) for i, name in self.run.names.items()]
        ids = self.spark.createDataFrame(rows, POSITIONS)
        for name in columns:
            known = ids.select(F.col("id").alias(name), F.col("position").alias(f"_{name}"))
            table = table.join(F.broadcast(known), name).drop(name).withColumnRenamed(f"_{name}", name)
        return table

    def apart(self, name: str, value: Column, kind: str) -> list[Column]:
        """Columns `<name>0` and `<name>1`: the value in that of this side, null in the other's."""
        null = F.lit(None).cast(kind)
        return [(value if n == self.number else null).alias(f"{name}{n}") for n in (0, 1)]

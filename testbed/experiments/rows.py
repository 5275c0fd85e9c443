"""What was measured: rows, where and how, and their two files, JSON and Parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One algorithm on one table. Times are microseconds a message."""

    algorithm: str
    rounds: int
    """Of preselection; 0 where there is none."""
    interfaces: int
    filters: int
    constraints: int
    """As written; those that a filter repeats are kept once (E5)."""
    constraints_low: int
    """Per filter, at least so many."""
    cold: bool
    """The caches were flushed before each message."""
    messages: int
    matched_mean: float
    """Interfaces a message goes to."""
    eliminated_mean: float | None
    """Interfaces that preselection rules out, where they were counted."""
    build_s: float
    bytes_per_constraint: float
    time_us: float
    """Of each message the least time over all repeats; their mean."""
    counting_us: float
    """The same of `counting`, measured in turns with this row."""
    mean_us: float
    """The least mean over a block of whole passes, as `cbn bench match` has it."""
    p99_us: float
    max_us: float

    @property
    def central(self) -> bool:
        """One filter an interface."""
        return self.filters == self.interfaces

    @property
    def gain(self) -> float:
        """By how many per cent this takes less time than `counting`."""
        return 100 * (1 - self.time_us / self.counting_us)


@dataclass(frozen=True, slots=True)
class Results:
    """The rows of one run of an experiment."""

    experiment: str
    quick: bool
    seed: int
    repeat: int
    seconds: float
    machine: Mapping[str, str | float]
    rows: tuple[Row, ...]

    def of(self, algorithm: str) -> list[Row]:
        """The rows of an algorithm."""
        return [row for row in self.rows if row.algorithm == algorithm]


def to_json(results: Results) -> str:
    """One line a row, so that two runs can be compared line by line."""
    head = {f.name: getattr(results, f.name) for f in fields(results) if f.name != "rows"}
    lines = ",\n  ".join(json.dumps(asdict(row)) for row in results.rows)
    return json.dumps(head, indent=1).removesuffix("\n}") + f',\n "rows": [\n  {lines}\n ]\n}}\n'


def from_json(text: str) -> Results:
    """Results as `to_json` wrote them; ValueError if they are not."""
    try:
        data: dict[str, Any] = json.loads(text)
        rows = tuple(Row(**each) for each in data.pop("rows"))
        return Results(rows=rows, **data)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not rows of an experiment: {error}") from error


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """The rows as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        "str": pa.string(),
        "bool": pa.bool_(),
        "int": pa.int64(),
        "float": pa.float64(),
        "float | None": pa.float64(),
    }
    schema = pa.schema([(f.name, kinds[str(f.type)]) for f in fields(Row)])
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema=schema), path)

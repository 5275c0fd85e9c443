"""What was measured: rows, where and how, and their two files. What a row is, its kind says."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment

RowT = TypeVar("RowT")


@dataclass(frozen=True, slots=True)
class Results(Generic[RowT]):
    """The rows of one run of an experiment."""

    experiment: str
    quick: bool
    seed: int
    repeat: int
    seconds: float
    machine: Mapping[str, str | float]
    rows: tuple[RowT, ...]


def finished(
    experiment: Experiment,
    seed: int,
    started: float,
    machine: Mapping[str, str | float],
    rows: Sequence[RowT],
    *,
    repeat: int = 1,
) -> Results[RowT]:
    """What an experiment gave that began at that time of the monotonic clock and ends now."""
    return Results(
        experiment=experiment.name,
        quick=experiment.quick,
        seed=seed,
        repeat=repeat,
        seconds=round(time.monotonic() - started, 1),
        machine=machine,
        rows=tuple(rows),
    )


def to_json(results: Results[Any]) -> str:
    """One line a row, so that two runs can be compared line by line."""
    head = {f.name: getattr(results, f.name) for f in fields(results) if f.name != "rows"}
    lines = ",\n  ".join(json.dumps(asdict(row)) for row in results.rows)
    return json.dumps(head, indent=1).removesuffix("\n}") + f',\n "rows": [\n  {lines}\n ]\n}}\n'


def from_json(text: str, row: type[RowT]) -> Results[RowT]:
    """Results as `to_json` wrote them, of rows of that class; ValueError if they are not."""
    try:
        data: dict[str, Any] = json.loads(text)
        rows = tuple(row(**each) for each in data.pop("rows"))
        return Results(rows=rows, **data)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not rows of an experiment: {error}") from error


def write_parquet(rows: Sequence[Any], path: Path) -> None:
    """The rows as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        "str": pa.string(),
        "bool": pa.bool_(),
        "int": pa.int64(),
        "float": pa.float64(),
        "int | None": pa.int64(),
        "float | None": pa.float64(),
    }
    schema = pa.schema([(f.name, kinds[str(f.type)]) for f in fields(rows[0])])
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema=schema), path)

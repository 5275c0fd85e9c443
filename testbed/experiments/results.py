"""What was measured: rows, where and how, and their two files. A row is a dataclass of the kind's."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from nodes.records import RecordError, from_plain
from testbed.experiments.experiment import Experiment
from testbed.runs.world import Progress

RowT = TypeVar("RowT")
KeyT = TypeVar("KeyT")


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


def measure(experiment: Experiment, seed: int, shown: Progress) -> Results[Any]:
    """Carry an experiment out.

    Raises:
        DisagreementError: Nothing that was measured can be trusted.
    """
    started, measured_on = time.monotonic(), _machine()
    rows = tuple(experiment.of_kind.measure(experiment.sweep, seed, shown))
    return Results(
        experiment=experiment.name,
        quick=experiment.quick,
        seed=seed,
        repeat=getattr(experiment.sweep, "repeat", 1),
        seconds=round(time.monotonic() - started, 1),
        machine=measured_on,
        rows=rows,
    )


def grouped(rows: Iterable[RowT], key: Callable[[RowT], KeyT]) -> dict[KeyT, list[RowT]]:
    """The rows that have a key in common, in the order in which the keys first come."""
    found: dict[KeyT, list[RowT]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def to_json(results: Results[Any]) -> str:
    """One line a row, so that two runs can be compared line by line."""
    head = {f.name: getattr(results, f.name) for f in fields(results) if f.name != "rows"}
    lines = ",\n  ".join(json.dumps(asdict(row)) for row in results.rows)
    return json.dumps(head, indent=1).removesuffix("\n}") + f',\n "rows": [\n  {lines}\n ]\n}}\n'


def from_json(text: str, row: type[RowT]) -> Results[RowT]:
    """Results as `to_json` wrote them, of rows of that class; ValueError if they are not."""
    try:
        data: dict[str, Any] = json.loads(text)
        rows = tuple(from_plain(row, each, f"rows.{at}") for at, each in enumerate(data.pop("rows")))
        return Results(rows=rows, **data)
    except (TypeError, KeyError, AttributeError, RecordError) as error:
        raise ValueError(f"not rows of this experiment: {error}") from error


def write_parquet(rows: Sequence[Any], path: Path) -> None:
    """The rows as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"str": pa.string(), "bool": pa.bool_(), "int": pa.int64(), "float": pa.float64()}
    schema = pa.schema([(f.name, kinds[str(f.type).partition(" | ")[0]]) for f in fields(rows[0])])
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema=schema), path)


def _machine() -> Mapping[str, str | float]:
    """Processor, cores, system, Python, and how busy it is at this moment."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()

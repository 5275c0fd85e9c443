"""What a Spark worker must have to take part: this version of the package; and saying so where it has not.

Not here: handing out work (`tasks`, `ingest`).
"""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from analysis import AnalysisError
from analysis.session import GIVEN_UP, parallelism, runs_here

ROOMS = ("analysis", "fastpath", "nodes", "testbed", "topologies")
_REFUSED = "cbn-worker:"
"""Before what a worker says that cannot take part."""


def check_workers(spark: SparkSession) -> None:
    """Find out before any work that workers elsewhere cannot do it.

    Raises:
        AnalysisError: They lack the package, or have another version.
    """
    if runs_here(spark):
        return
    tasks = spark.range(parallelism(spark), numPartitions=parallelism(spark))
    try:
        tasks.mapInArrow(_task(code_digest()), "checked long").collect()
    except GIVEN_UP as error:
        explain(error)
        raise


def explain(error: Exception) -> None:
    """Say what a worker has said, if that is why Spark gave up.

    Raises:
        AnalysisError: It is.
    """
    if found := re.search(rf"{_REFUSED} (.*)", str(error)):
        raise AnalysisError(found[1].strip()) from error


def checked(expected: str) -> Callable[[], None]:
    """What finds out, on a worker; sent by value, so that one that lacks the package can say so."""
    refused = _REFUSED

    def check() -> None:
        try:
            from analysis.workers import compare_code
        except ImportError as error:
            import platform as where  # the module's own would be sent by name with it

            raise RuntimeError(
                f"{refused} the Spark worker on {where.node()} has not installed cbn-testbed "
                f"({error}): install it there, in the Python that spark.pyspark.python names"
            ) from None
        compare_code(expected)

    return check


def compare_code(expected: str) -> None:
    """Compare the worker's package with that of the command; not where both have the same files.

    Raises:
        RuntimeError: It is another version.
    """
    if expected and code_digest() != expected:
        raise RuntimeError(
            f"{_REFUSED} the Spark worker on {platform.node()} has another version of cbn-testbed "
            f"(in {_root()}): results would not be comparable; install the same on all machines"
        )


@cache
def code_digest() -> str:
    """Of all Python files of the package, where this process has them: equal digests, equal results."""
    digest = hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (_root() / room).rglob("*.py")):
        digest.update(str(path.relative_to(_root())).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _task(expected: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    check = checked(expected)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        check()
        for batch in batches:
            yield batch.rename_columns(["checked"])

    return work


def _root() -> Path:
    return Path(__file__).resolve().parents[1]

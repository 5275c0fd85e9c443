"""Calls of one function as Spark tasks: each result as soon as there is one, whatever becomes of a worker.

Here: handing out, collecting, and what a worker must have. Not here: what is called (a cell of a matrix,
a fault schedule), and the session (`session`). What is called gives the same result each time: a lost
worker's tasks are done again elsewhere.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
import re
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import InheritableThread, SparkContext, cloudpickle
from pyspark.accumulators import Accumulator, AddingAccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analysis import AnalysisError
from analysis.session import context_of, reason_of

ROOMS = ("analysis", "fastpath", "nodes", "testbed", "topologies")
_POLL_S = 0.02
_REFUSED = "cbn-worker:"
"""Before what a worker says that cannot take part."""
_FAILED_TASK = re.compile(r"Task (\d+) in stage \S+ failed \d+ times")


@dataclass(frozen=True, slots=True)
class Ended:
    """One call that has ended."""

    index: int
    value: Any
    """What the function returned."""
    problem: str = ""
    """Not empty: it returned nothing, for this reason."""


def carried_out(
    spark: SparkSession, function: Callable[[Any], Any], items: Sequence[Any]
) -> Generator[Ended, None, None]:
    """Call `function` with each of `items`, each call a task; yields in the order in which they end.

    A call that raises an exception, or ends its process several times, has a problem; the others go on.
    If the caller leaves early, what is not done is cancelled.

    Args:
        spark: A session in this process, or of a cluster; not Spark Connect.
        function: Workers can import what it needs.
        items: Can be pickled.

    Raises:
        AnalysisError: Workers cannot take part, or Spark gave up.
    """
    waiting = {index: _pickled(function, item) for index, item in enumerate(items)}
    while waiting:
        for ended in _Round(context_of(spark), waiting).results():
            if waiting.pop(ended.index, None) is not None:
                yield ended


def _pickled(function: Callable[[Any], Any], item: Any) -> bytes:
    return bytes(cloudpickle.dumps((function, item)))  # type: ignore[no-untyped-call]


class _Round:
    """One Spark job over calls that wait; it ends early if one of them ends its process again and again."""

    def __init__(self, context: SparkContext, waiting: Mapping[int, bytes]) -> None:
        self._context = context
        self._calls = list(waiting.items())
        self._group = f"cbn-{uuid4()}"
        self._done: Accumulator[Any] = context.accumulator([], AddingAccumulatorParam([]))
        self._error: Exception | None = None

    def results(self) -> Generator[Ended, None, None]:
        thread = InheritableThread(target=self._perform, daemon=True)
        thread.start()
        seen = 0
        try:
            while thread.is_alive() or seen < len(self._done.value):
                fresh = self._done.value[seen:]
                seen += len(fresh)
                yield from map(pickle.loads, fresh)
                thread.join(_POLL_S)
            if self._error is not None:
                yield self._culprit(self._error)
        finally:
            if thread.is_alive():
                self._context.cancelJobGroup(self._group)
                thread.join()

    def _perform(self) -> None:
        try:
            self._context.setJobGroup(self._group, "cbn: calls as tasks", interruptOnCancel=True)
            tasks = self._context.parallelize(self._calls, len(self._calls))
            tasks.foreach(_task(self._done, code_digest()))
        except (PySparkException, Py4JError) as error:
            self._error = error

    def _culprit(self, error: Exception) -> Ended:
        """The call for which Spark gave up; if it is not one call's fault, there is no going on."""
        text = str(error)
        if _REFUSED in text:
            raise AnalysisError(text.partition(_REFUSED)[2].splitlines()[0].strip()) from error
        failed = _FAILED_TASK.search(text)
        if failed is None:
            raise AnalysisError(f"Spark gave up: {reason_of(error)}") from error
        return Ended(self._calls[int(failed[1])][0], None, f"its process ended each time: {reason_of(error)}")


def _task(done: Accumulator[Any], expected: str) -> Callable[[tuple[int, bytes]], None]:
    """What a worker is sent: by value, so that one that lacks the package can say so."""
    refused = _REFUSED

    def perform(call: tuple[int, bytes]) -> None:
        try:
            from analysis.tasks import perform_checked
        except ImportError as error:
            import platform as where  # the module's own would be sent with it

            raise RuntimeError(
                f"{refused} the Spark worker on {where.node()} has not installed cbn-testbed "
                f"({error}): install it there, in the Python that spark.pyspark.python names"
            ) from None
        done.add([perform_checked(call, expected)])

    return perform


def perform_checked(call: tuple[int, bytes], expected: str) -> bytes:
    """Carry out one call on a worker; what is returned is an `Ended`, pickled.

    Raises:
        RuntimeError: The worker has another version of the package.
    """
    if code_digest() != expected:
        raise RuntimeError(
            f"{_REFUSED} the Spark worker on {platform.node()} has another version of cbn-testbed "
            f"(in {_root()}): results would not be comparable; install the same on all machines"
        )
    index, pickled = call
    try:
        function, item = pickle.loads(pickled)
        ended = Ended(index, function(item))
    except Exception:
        ended = Ended(index, None, f"a defect: {traceback.format_exc()}")
    return pickle.dumps(ended)


@cache
def code_digest() -> str:
    """Of all Python files of the package, where this process has them: equal digests, equal results."""
    digest = hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (_root() / room).rglob("*.py")):
        digest.update(str(path.relative_to(_root())).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _root() -> Path:
    return Path(__file__).resolve().parents[1]

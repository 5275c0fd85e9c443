"""Calls of one function as Spark tasks: each result as soon as there is one, whatever becomes of a worker.

Here: handing out and collecting. Not here: what is called (a cell of a matrix, a fault schedule), what
a worker must have (`workers`), the session (`session`). What is called gives the same result each time:
a lost worker's tasks are done again elsewhere.
"""

from __future__ import annotations

import gc
import pickle
import re
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import uuid4

from pyspark import InheritableThread, SparkContext, cloudpickle
from pyspark.accumulators import Accumulator, AddingAccumulatorParam
from pyspark.sql import SparkSession

from analysis import AnalysisError
from analysis.session import GIVEN_UP, context_of, reason_of, runs_here
from analysis.workers import checked, code_digest, explain

_POLL_S = 0.02
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
    expected = "" if runs_here(spark) else code_digest()
    waiting = {index: _pickled(function, item) for index, item in enumerate(items)}
    while waiting:
        for ended in _Round(context_of(spark), waiting, expected).results():
            if waiting.pop(ended.index, None) is not None:
                yield ended


def _pickled(function: Callable[[Any], Any], item: Any) -> bytes:
    return bytes(cloudpickle.dumps((function, item)))  # type: ignore[no-untyped-call]


class _Round:
    """One Spark job over calls that wait; it ends early if one of them ends its process again and again."""

    def __init__(self, context: SparkContext, waiting: Mapping[int, bytes], expected: str) -> None:
        self._context = context
        self._expected = expected
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
            tasks.foreach(_task(self._done, self._expected))
        except GIVEN_UP as error:
            self._error = error

    def _culprit(self, error: Exception) -> Ended:
        """The call for which Spark gave up; if it is not one call's fault, there is no going on."""
        explain(error)
        failed = _FAILED_TASK.search(str(error))
        if failed is None:
            raise AnalysisError(f"Spark gave up: {reason_of(error)}") from error
        return Ended(self._calls[int(failed[1])][0], None, f"its process ended each time: {reason_of(error)}")


def _task(done: Accumulator[Any], expected: str) -> Callable[[tuple[int, bytes]], None]:
    check = checked(expected)

    def perform(call: tuple[int, bytes]) -> None:
        check()
        from analysis.tasks import perform_call

        done.add([perform_call(call)])

    return perform


def perform_call(call: tuple[int, bytes]) -> bytes:
    """Carry out one call on a worker; what is returned is an `Ended`, pickled."""
    index, pickled = call
    try:
        function, item = pickle.loads(pickled)
        ended = Ended(index, function(item))
    except Exception:
        ended = Ended(index, None, f"a defect: {traceback.format_exc()}")
    _spare_collections()
    return pickle.dumps(ended)


@cache
def _spare_collections() -> None:
    """Leave what a worker has by now out of later collections: PySpark collects garbage after every task."""
    gc.collect()
    gc.freeze()

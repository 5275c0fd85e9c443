"""Calls of one function as Spark tasks: results soon after they are there, whatever becomes of a worker.

A task costs Spark some 20 ms, so it carries out several short calls, one after the other, for half a second;
or one call that is longer. What it has not begun by then goes into a task of the next round.

Here: handing out and collecting. Not here: what is called (a cell of a matrix, a fault schedule), what
a worker must have (`workers`), the session (`session`). What is called gives the same result each time:
a lost worker's tasks are done again elsewhere.
"""

from __future__ import annotations

import gc
import pickle
import re
import time
import traceback
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
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
_TASK_S = 0.5
"""A task begins no further call after this time."""
_MOST_CALLS = 16
"""In one task of the first round, when nobody knows how long a call takes."""
_TASKS_A_WORKER = 4
"""At least, so that no worker waits long for another one's last task."""

Call = tuple[int, bytes]
"""The number of a call, and its function and value, pickled."""

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
    """Call `function` with each of `items`; yields in the order in which tasks end.

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
    context = context_of(spark)
    most = _MOST_CALLS
    alone: set[int] = set()
    while waiting:
        shared = max(1, min(most, len(waiting) // (_TASKS_A_WORKER * context.defaultParallelism)))
        groups = grouped(list(waiting), shared, alone)
        job = _Round(context, [[(index, waiting[index]) for index in group] for group in groups], expected)
        for ended in job.results():
            if waiting.pop(ended.index, None) is not None:
                yield ended
        if job.failed is not None:
            alone.update(groups[job.failed])
        else:
            most = min(_done_in_cut(groups, waiting), default=most)


def grouped(indices: Sequence[int], size: int, alone: Collection[int]) -> list[list[int]]:
    """In tasks of at most `size` calls, but each of those in `alone` in a task of its own."""
    together = [index for index in indices if index not in alone]
    tasks = [together[start : start + size] for start in range(0, len(together), size)]
    return tasks + [[index] for index in indices if index in alone]


def _done_in_cut(groups: Iterable[list[int]], waiting: Collection[int]) -> Iterator[int]:
    """How many calls were carried out in each task whose time was over before it had done all."""
    for group in groups:
        left = sum(index in waiting for index in group)
        if left:
            yield len(group) - left


def _pickled(function: Callable[[Any], Any], item: Any) -> bytes:
    return bytes(cloudpickle.dumps((function, item)))  # type: ignore[no-untyped-call]


class _Round:
    """One Spark job over calls that wait; it ends early if a task ends its process again and again."""

    def __init__(self, context: SparkContext, groups: list[list[Call]], expected: str) -> None:
        self._context = context
        self._expected = expected
        self._groups = groups
        self._group = f"cbn-{uuid4()}"
        self._done: Accumulator[Any] = context.accumulator([], AddingAccumulatorParam([]))
        self._error: Exception | None = None
        self.failed: int | None = None
        """The task of several calls for which Spark gave up: nobody knows yet which call is to blame."""

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
                yield from self._culprit(self._error)
        finally:
            if thread.is_alive():
                self._context.cancelJobGroup(self._group)
                thread.join()

    def _perform(self) -> None:
        try:
            self._context.setJobGroup(self._group, "cbn: calls as tasks", interruptOnCancel=True)
            tasks = self._context.parallelize(self._groups, len(self._groups))
            tasks.foreach(_task(self._done, self._expected))
        except GIVEN_UP as error:
            self._error = error

    def _culprit(self, error: Exception) -> Iterator[Ended]:
        """The call for which Spark gave up; if it is not one task's fault, there is no going on."""
        explain(error)
        found = _FAILED_TASK.search(str(error))
        if found is None:
            raise AnalysisError(f"Spark gave up: {reason_of(error)}") from error
        group = self._groups[int(found[1])]
        if len(group) == 1:
            yield Ended(group[0][0], None, f"its process ended each time: {reason_of(error)}")
        else:
            self.failed = int(found[1])


def _task(done: Accumulator[Any], expected: str) -> Callable[[list[Call]], None]:
    check = checked(expected)

    def perform(calls: list[Call]) -> None:
        check()
        from analysis.tasks import perform_calls

        done.add(list(perform_calls(calls)))

    return perform


def perform_calls(calls: Iterable[Call]) -> Iterator[bytes]:
    """Carry out calls on a worker, at least one, until their time is over; yields each `Ended`, pickled."""
    began = time.monotonic()
    for index, pickled in calls:
        try:
            function, item = pickle.loads(pickled)
            ended = Ended(index, function(item))
        except Exception:
            ended = Ended(index, None, f"a defect: {traceback.format_exc()}")
        yield pickle.dumps(ended)
        if time.monotonic() - began > _TASK_S:
            break
    _spare_collections()


@cache
def _spare_collections() -> None:
    """Leave what a worker has by now out of later collections: PySpark collects garbage after every task."""
    gc.collect()
    gc.freeze()

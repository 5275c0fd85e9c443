"""How far Spark is, from its own status: said now and then while something takes long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from analysis.session import context_of, is_connect

EVERY_S = 10.0
Say = Callable[[str], None]


@contextmanager
def told(spark: SparkSession, say: Say, every_s: float = EVERY_S) -> Iterator[None]:
    """While entered, say every so often how many tasks of what Spark is doing have ended."""
    watch = _of_connect if is_connect(spark) else _of_context
    ended = threading.Event()
    counts = watch(spark)
    teller = threading.Thread(target=_tell, args=(counts, say, ended, every_s), daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


def _tell(counts: Callable[[], tuple[int, int]], say: Say, ended: threading.Event, every_s: float) -> None:
    while not ended.wait(every_s):
        done, tasks = counts()
        if tasks > 1:
            say(f"Spark: {done:,} of {tasks:,} tasks of this step have ended")


def _of_context(spark: SparkSession) -> Callable[[], tuple[int, int]]:
    tracker = context_of(spark).statusTracker()

    def counts() -> tuple[int, int]:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None]
        return sum(done for done, _ in known), sum(tasks for _, tasks in known)

    return counts


def _of_connect(spark: Any) -> Callable[[], tuple[int, int]]:
    last = [(0, 0)]

    def handle(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        del inflight_tasks, operation_id
        found = [] if done or stages is None else list(stages)
        last[0] = sum(s.num_completed_tasks for s in found), sum(s.num_tasks for s in found)

    spark.registerProgressHandler(handle)
    return lambda: last[0]

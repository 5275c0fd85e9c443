"""Where tasks run: in threads of this process; in Spark's Python workers, see `spark_tasks`.

A task is a number. What it does is a function of that number that returns plain values; rows go from files to
files, never through here.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from typing import Any, Protocol

Work = Callable[[int], Any]


class Shown(Protocol):
    """Who is told how far the tasks are."""

    def phase(self, name: str, total: int | None = None) -> None:
        """So many tasks of this kind begin."""

    def advance(self, done: int) -> None:
        """So many have ended."""


class Tasks(Protocol):
    """Runs tasks."""

    def __call__(self, count: int, work: Work, phase: str) -> list[Any]:
        """What `work` returns for 0, 1, ..., `count` - 1, in this order."""


def in_threads(threads: int, shown: Shown | None = None) -> Tasks:
    """In so many threads of this process: decoding, sorting and writing leave Python's lock to others."""
    return partial(_in_threads, threads, shown)


def _in_threads(threads: int, shown: Shown | None, count: int, work: Work, phase: str) -> list[Any]:
    if shown:
        shown.phase(phase, count)
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, number) for number in range(count)]
        for done, _ in enumerate(as_completed(futures), 1):
            if shown:
                shown.advance(done)
        return [future.result() for future in futures]

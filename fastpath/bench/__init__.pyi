"""Measure a forwarding table on a workload. docs/benchmarks.md says how the times are taken."""

from collections.abc import Callable

from fastpath.fib import ALGORITHMS
from fastpath.wire.codec import UsageError
from fastpath.workload import FilterList, MessageList

__all__ = ["ALGORITHMS", "Bench", "BenchTable", "Memory", "UsageError"]

class Memory:
    def __init__(self) -> None: ...
    def growth(self) -> int: ...
    def peak_growth(self) -> int | None: ...

class BenchTable:
    algorithm: str
    def __init__(self, algorithm: str = "fast", rounds: int | None = None) -> None: ...
    def build(
        self, filters: FilterList, central: bool = False, progress: Callable[[int], None] | None = None
    ) -> float: ...
    def stats(self) -> dict[str, int]: ...

class Bench:
    def __init__(
        self,
        table: BenchTable,
        filters: FilterList,
        messages: MessageList,
        *,
        threads: int = 1,
        fresh: int = 0,
        cold: bool = False,
        seed: int = 1,
    ) -> None: ...
    def answers(self) -> list[tuple[int, int]]: ...
    def repeat(self) -> float: ...
    def result(self) -> dict[str, float]: ...

"""Measure a forwarding table on a workload. docs/benchmarks.md says how the times are taken."""

from collections.abc import Callable

from fastpath.fib import ALGORITHMS
from fastpath.wire.codec import UsageError
from fastpath.workload import FilterList, MessageList

__all__ = ["ALGORITHMS", "Bench", "BenchTable", "Memory", "UsageError"]

class Memory:
    """How the resident memory of this process grows. What is free is given back before each look."""

    def __init__(self) -> None: ...
    def growth(self) -> int:
        """Bytes more than when this was made."""

    def peak_growth(self) -> int | None:
        """Bytes more at the worst moment since; None if the system does not tell."""

class BenchTable:
    """A forwarding table by the name of its algorithm; UsageError if there is none of that name.

    `rounds` of preselection are for `selective` (FWD Fig. 7); 10 if not given, as in the paper.
    """

    algorithm: str

    def __init__(self, algorithm: str = "fast", rounds: int | None = None) -> None: ...
    def build(
        self, filters: FilterList, central: bool = False, progress: Callable[[int], None] | None = None
    ) -> float:
        """Add all filters and commit; the seconds it took.

        With `central`, the interface of a filter is its line. `progress` is
        told the filters added so far.
        """

    def stats(self) -> dict[str, int]:
        """As of ForwardingTable."""

class Bench:
    """Times a table, as committed last, on messages; UsageError if the settings make no sense.

    `threads` match at once, `fresh` percent of the messages' strings are
    replaced by strings that no filter has (others in every repeat), and with
    `cold` the caches are flushed before each message.
    """

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
    def answers(self) -> list[tuple[int, int]]:
        """By message: (number of interfaces that match, digest of them); of fresh ones for the first pass."""

    def repeat(self) -> float:
        """Measure once; the mean microseconds a message of this repeat."""

    def result(self) -> dict[str, float]:
        """`mean_us`, `p50_us`, `p99_us`, `max_us`: the least over the repeats so far.

        `undisturbed_us` is the mean of the least times of each message by
        itself: where it is far below `mean_us`, other processes interfered.
        """

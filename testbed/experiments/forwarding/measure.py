"""Generates each table's workload, builds the table by every algorithm, and times them in turns.

The machine's disturbances fall on all algorithms alike that way, and what is
compared was measured side by side.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Self

from fastpath.bench import Bench, BenchTable
from fastpath.fib import ForwardingTable
from fastpath.workload import FilterList, Generator, MessageList, Recipe
from nodes.records import from_plain
from testbed.experiments import kind
from testbed.experiments.kind import DisagreementError
from testbed.plan.problems import Key
from testbed.plan.source import Source
from testbed.runs.world import Progress

ROUNDS = (10,)
"""Of preselection, as in all the paper's experiments but Fig. 11."""
CONSTRAINTS = (1, 9)
COLD_SHARE = 5
"""To flush the caches takes far longer than a message: cold tables are measured so many times less."""
PLAIN, PRESELECTING, OURS = ALGORITHMS = ("counting", "selective", "fast")


@dataclass(frozen=True, slots=True)
class Table:
    """One forwarding table to measure: its size, and how its constraints are dealt out."""

    filters: int
    """About so many, as each interface draws its own number (F7)."""
    interfaces: int
    constraints: tuple[int, int] = CONSTRAINTS
    """Per filter."""
    rounds: tuple[int, ...] = ROUNDS
    """Of preselection, each a measurement of `selective`."""
    cold: bool = False
    """Flush the caches before each message."""
    even: bool = False
    """Exactly so many filters, an even share for each interface."""
    eliminations: bool = False
    """Count the interfaces that preselection rules out."""

    @property
    def central(self) -> bool:
        """One filter an interface: a router that serves everybody."""
        return self.filters == self.interfaces

    def recipe(self, seed: int) -> Recipe:
        """The workload by Table 1 of the paper: f_l = 1, f_h so that the mean is filters / interfaces."""
        return Recipe(
            seed=seed,
            interfaces=self.interfaces,
            filters_per_interface=(1, max(1, round(2 * self.filters / self.interfaces) - 1)),
            filters=self.filters if self.even else None,
            constraints=self.constraints,
        )

    def __str__(self) -> str:
        held = "one filter each" if self.central else f"{self.filters:,} filters"
        return f"{self.interfaces:,} interfaces, {held}{', cold caches' if self.cold else ''}"


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """The tables of a sweep, and how often each is measured with how many messages."""

    repeat: int
    messages: int
    tables: tuple[Table, ...]

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Every table written out."""
        tables = tuple(table for group in data["tables"] for table in _tables(group))
        return cls(data["repeat"], data.get("messages", 100), tables)

    @classmethod
    def check(cls, source: Source, key: Key, data: Mapping[str, Any]) -> None:
        """Complain of interfaces that can have no filter."""
        for at, group in enumerate(data["tables"]):
            if any(t.interfaces > t.filters for t in _tables(group)):
                what, expected = "more interfaces than filters", "at least one filter an interface"
                source.complain((*key, "tables", at), what, expected)


def _tables(group: Mapping[str, Any]) -> Iterator[Table]:
    """Lists multiply: every number of interfaces with every number of filters."""
    for interfaces, filters in product(group["interfaces"], group["filters"]):
        size = {"filters": filters, "interfaces": filters if interfaces == "each" else interfaces}
        yield from_plain(Table, {**group, **size})


@dataclass(frozen=True, slots=True)
class Row:
    """One algorithm on one table. Times are microseconds a message."""

    algorithm: str
    rounds: int
    """Of preselection; 0 where there is none."""
    interfaces: int
    filters: int
    constraints: int
    """As written; those that a filter repeats are kept once (E5)."""
    constraints_low: int
    """Per filter, at least so many."""
    cold: bool
    """The caches were flushed before each message."""
    messages: int
    matched_mean: float
    """Interfaces a message goes to."""
    eliminated_mean: float | None
    """Interfaces that preselection rules out, where they were counted."""
    build_s: float
    bytes_per_constraint: float
    time_us: float
    """Of each message the least time over all repeats; their mean."""
    counting_us: float
    """The same of `counting`, measured in turns with this row."""
    mean_us: float
    """The least mean over a block of whole passes, as `cbn bench match` has it."""
    p99_us: float
    max_us: float

    @property
    def central(self) -> bool:
        """One filter an interface."""
        return self.filters == self.interfaces

    @property
    def gain(self) -> float:
        """By how many per cent this takes less time than `counting`."""
        return 100 * (1 - self.time_us / self.counting_us)


@dataclass(frozen=True, slots=True)
class Workload:
    """The filters of a table and the messages matched against it."""

    filters: FilterList
    messages: MessageList


@dataclass(frozen=True, slots=True)
class Built:
    """A table by one algorithm, ready to be measured."""

    table: BenchTable
    rounds: int
    build_s: float


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Measure every table.

    Raises:
        DisagreementError: The algorithms do not agree on who gets a message.
    """
    for at, table in enumerate(sweep.tables, 1):
        shown.phase(f"table {at} of {len(sweep.tables)}: {table}")
        yield from _measure_table(table, _workload(table, sweep.messages, seed), sweep.repeat, shown)


def _workload(table: Table, messages: int, seed: int) -> Workload:
    generator = Generator(table.recipe(seed))
    with tempfile.TemporaryDirectory(prefix="cbn-reproduce-") as folder:
        filters = _written(Path(folder, "filters.txt"), generator.filters())
        sent = _written(Path(folder, "messages.txt"), generator.messages(messages))
        return Workload(FilterList(filters), MessageList(sent))


def _written(path: Path, pieces: Iterable[bytes]) -> Path:
    with path.open("wb") as out:
        out.writelines(pieces)
    return path


def _measure_table(table: Table, workload: Workload, repeat: int, shown: Progress) -> list[Row]:
    plain, ours = _build(PLAIN, workload.filters), _build(OURS, workload.filters)
    beside: list[Row] = []
    preselecting: list[Row] = []
    for done, rounds in enumerate(table.rounds, 1):
        preselected = _build(PRESELECTING, workload.filters, rounds)
        # With the first rounds all three take turns; with further ones only the two that the gain is of.
        tried = [plain, preselected, ours] if done == 1 else [plain, preselected]
        first, second, *third = _compare(tried, table, workload, repeat)
        preselecting.append(second)
        beside = beside or [first, *third]
        shown.advance(done)
    return [beside[0], *preselecting, *beside[1:]]


def _build(algorithm: str, filters: FilterList, rounds: int | None = None) -> Built:
    table = BenchTable(algorithm, rounds)
    seconds = table.build(filters)
    return Built(table, rounds or 0, seconds)


def _compare(tried: list[Built], table: Table, workload: Workload, repeat: int) -> list[Row]:
    """Measure in turns; the first of those tried is what the others are compared with."""
    benches = [Bench(t.table, workload.filters, workload.messages, cold=table.cold) for t in tried]
    counts = _agreed(tried, benches, table)
    for _ in range(max(1, repeat // COLD_SHARE) if table.cold else repeat):
        for bench in benches:
            bench.repeat()
    times = [bench.result() for bench in benches]
    plain_us = times[0]["undisturbed_us"]
    return [
        _row(built, table, workload, counts, figures | {PLAIN: plain_us})
        for built, figures in zip(tried, times, strict=True)
    ]


def _agreed(tried: list[Built], benches: list[Bench], table: Table) -> int:
    """The matches of one pass over the messages, on which all agree."""
    expected, *others = [bench.answers() for bench in benches]
    for built, answers in zip(tried[1:], others, strict=True):
        wrong = [at for at, pair in enumerate(zip(expected, answers, strict=True)) if pair[0] != pair[1]]
        if wrong:
            raise DisagreementError(
                f"{table}: {built.table.algorithm} with {built.rounds} rounds and {PLAIN} answer "
                f"{len(wrong)} messages differently, first message {wrong[0]}"
            )
    return sum(count for count, _ in expected)


def _row(built: Built, table: Table, workload: Workload, matches: int, figures: Mapping[str, float]) -> Row:
    stats, written, messages = built.table.stats(), workload.filters.constraints, len(workload.messages)
    count = table.eliminations and built.table.algorithm == PRESELECTING
    return Row(
        algorithm=built.table.algorithm,
        rounds=built.rounds,
        interfaces=stats["interfaces"],
        filters=len(workload.filters),
        constraints=written,
        constraints_low=table.constraints[0],
        cold=table.cold,
        messages=messages,
        matched_mean=matches / messages,
        eliminated_mean=_eliminated(workload, built.rounds) if count else None,
        build_s=_short(built.build_s),
        bytes_per_constraint=_short(stats["bytes"] / max(1, written)),
        time_us=_short(figures["undisturbed_us"]),
        counting_us=_short(figures[PLAIN]),
        mean_us=_short(figures["mean_us"]),
        p99_us=_short(figures["p99_us"]),
        max_us=_short(figures["max_us"]),
    )


def _eliminated(workload: Workload, rounds: int) -> float:
    """How many interfaces the rounds rule out, on average over the messages (F6)."""
    table = ForwardingTable(PRESELECTING, rounds)
    for at in range(len(workload.filters)):
        table.add(*workload.filters[at])
    table.commit()
    packets = [workload.messages[at] for at in range(len(workload.messages))]
    return sum(table.eliminated(packet) for packet in packets) / len(packets)


def _short(value: float) -> float:
    """Four digits: no measurement here has more."""
    return float(f"{value:.4g}")

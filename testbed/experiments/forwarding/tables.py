"""The sweep of a forwarding experiment: every table of it, written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from testbed.plan.problems import Key
from testbed.plan.source import Source

if TYPE_CHECKING:
    from fastpath.workload import Recipe

ROUNDS = (10,)
"""Of preselection, as in all the paper's experiments but Fig. 11."""
CONSTRAINTS = (1, 9)


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
        from fastpath.workload import Recipe

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
class Tables:
    """The tables of a sweep, and how often each is measured with how many messages."""

    repeat: int
    messages: int
    tables: tuple[Table, ...]


def read_sweep(data: Mapping[str, Any]) -> Tables:
    """The sweep as an experiment's file has it; it is in shape."""
    return Tables(
        repeat=data["repeat"],
        messages=data.get("messages", 100),
        tables=tuple(table for group in data["tables"] for table in _tables(group)),
    )


def check_sweep(source: Source, key: Key, data: Mapping[str, Any]) -> None:
    """Complain of what the schema cannot see."""
    for at, group in enumerate(data["tables"]):
        if any(t.interfaces > t.filters for t in _tables(group)):
            told = "more interfaces than filters", "at least one filter an interface"
            source.complain((*key, "tables", at), *told)


def _tables(group: Mapping[str, Any]) -> Iterator[Table]:
    """Lists multiply: every number of interfaces with every number of filters."""
    low, high = group.get("constraints", CONSTRAINTS)
    for interfaces, filters in product(group["interfaces"], group["filters"]):
        yield Table(
            filters=filters,
            interfaces=filters if interfaces == "each" else interfaces,
            constraints=(low, high),
            rounds=tuple(group.get("rounds", ROUNDS)),
            cold=group.get("cold", False),
            even=group.get("even", False),
            eliminations=group.get("eliminations", False),
        )

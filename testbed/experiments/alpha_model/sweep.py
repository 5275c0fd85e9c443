"""What Figs. 6 and 7 vary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNIFORM, ZIPF = "uniform", "zipf"


@dataclass(frozen=True, slots=True)
class Names:
    """A set of attribute names, and how often each is chosen."""

    distribution: str
    count: int

    def __str__(self) -> str:
        return f"{self.distribution} over {self.count} names"


@dataclass(frozen=True, slots=True)
class Disjunctions:
    """Over which names, and of how many predicates."""

    repeat: int
    names: tuple[Names, ...]
    numbers: tuple[int, ...]


def read_sweep(data: Mapping[str, Any]) -> Disjunctions:
    """The sweep as an experiment's file has it; it is in shape."""
    names = tuple(Names(each["distribution"], each["count"]) for each in data["names"])
    return Disjunctions(data["repeat"], names, tuple(data["numbers"]))

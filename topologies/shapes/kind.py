"""What a kind of topology is: its parameters with their limits, and how it is made.

Not here: the kinds themselves (`regular`, `fat_tree`, `random_graphs`, `scale_free`, `transit_stub`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from topologies.map import Point

Edge = tuple[int, int]
"""Two routers by their numbers from 0."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a shape."""

    name: str
    meaning: str
    least: float
    most: float
    default: float | None = None
    whole: bool = True
    """Whether it is a whole number."""
    required: bool = False

    def problem(self, value: Any) -> str:
        """What is wrong with a value; empty if nothing is."""
        kinds = int if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value):
            return f"{self.name} is {value!r}; expected {'a whole' if self.whole else 'a'} number"
        if not self.least <= value <= self.most:
            return f"{self.name} is {value:g}; expected {self.least:g} to {self.most:g}"
        return ""


def size(least: int = 1, most: int = 65_536) -> Parameter:
    """The parameter that most shapes have."""
    return Parameter("size", "how many routers", least, most, required=True)


@dataclass(slots=True)
class Draft:
    """A topology by numbers, before routers have names."""

    size: int
    edges: list[Edge]
    labels: Mapping[int, str] = field(default_factory=dict)
    tags: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    at: Mapping[int, Point] = field(default_factory=dict)
    edge_tags: Mapping[Edge, tuple[str, ...]] = field(default_factory=dict)
    delays_ns: Mapping[Edge, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


Given = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of topology: its parameters, its size, how it is made."""

    summary: str
    parameters: tuple[Parameter, ...]
    extent: Callable[[Given], tuple[int, int]]
    """How many routers and links it has; of links drawn one by one, about how many."""
    draft: Callable[[Given, Random], Draft]
    drawn: bool = False
    """Whether it depends on a seed."""

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the parameters that must be given."""
        return tuple(p.name for p in self.parameters if p.required)

    @property
    def optional(self) -> Mapping[str, Any]:
        """The other parameters, with their defaults."""
        return {p.name: p.default for p in self.parameters if not p.required}

    def complete(self, given: Given) -> Given:
        """The given parameters, and the defaults of all others.

        Raises:
            ValueError: Something is missing, unknown or out of its limits.
        """
        known = {p.name: p for p in self.parameters}
        for name in given:
            if name not in known:
                raise ValueError(f"there is no parameter {name}; expected {', '.join(known)}")
        for name in self.required:
            if name not in given:
                raise ValueError(f"{name} is missing: {known[name].meaning}")
        for name, value in given.items():
            if value is not None and (problem := known[name].problem(value)):
                raise ValueError(problem)
        return {**self.optional, **given}

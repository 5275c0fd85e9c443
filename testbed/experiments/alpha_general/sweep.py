"""What Fig. 5 varies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Universes:
    """How many messages there are, and how many predicates are united."""

    repeat: int
    universes: tuple[int, ...]
    one_in: int
    """A predicate takes one of so many messages: k = |M| / one_in."""
    numbers: tuple[int, ...]


def read_sweep(data: Mapping[str, Any]) -> Universes:
    """The sweep as an experiment's file has it; it is in shape."""
    return Universes(data["repeat"], tuple(data["universes"]), data["one_in"], tuple(data["numbers"]))

"""`cpu`: how many cores nodes may use, by group. Later entries count more."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from testbed.plan.groups import Groups
from testbed.plan.problems import Key


def read_processors(told: Mapping[str, Any], groups: Groups, seed: int) -> dict[str, float]:
    """Cores by node; what is wrong is noted in the source of the groups."""
    shares: dict[str, float] = {}
    for selection, cores in told.items():
        key: Key = ("cpu", selection)
        choice = groups.choice(selection, "node", key, Random(f"{seed}/cpu/{selection}"))
        if choice is not None:
            shares.update(dict.fromkeys(choice.draw(), float(cores)))
    return shares

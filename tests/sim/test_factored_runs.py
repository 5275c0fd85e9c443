"""Routers that recognise patterns tell what clients tell that do so themselves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from testbed.plan.load import load_plan
from testbed.sim.simulation import Simulation

pytestmark = pytest.mark.sim
SCENARIO = Path(__file__).parents[2] / "topologies" / "scenarios" / "factored.yaml"


def matches(patterns: str, scheme: str) -> Counter[tuple[Any, ...]]:
    """How often which client was told which match."""
    plan = load_plan(SCENARIO, overrides={"scheme.patterns": patterns, "scheme.name": scheme})
    events: list[dict[str, Any]] = []
    simulation = Simulation(plan, "case", events.append)
    simulation.get_ready()
    simulation.work()
    simulation.drain()
    delivered = sum(event["event"] == "deliver" for event in events)
    assert (delivered == 0) is (patterns == "factored"), "who has routers seek gets matches alone"
    return Counter(
        (e["node"], e["subscription"], *((source, n) for source, n, _ in e["components"]))
        for e in events
        if e["event"] == "deliver_match"
    )


@pytest.mark.parametrize("scheme", ["pif", "psf", "cbcb", "siena"])
def test_the_same_matches_are_told_whoever_recognises_them(scheme: str) -> None:
    union = matches("union", scheme)
    assert matches("factored", scheme) == union
    assert set(union.values()) == {1}
    assert len(union) > 90

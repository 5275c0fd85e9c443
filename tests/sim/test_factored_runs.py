"""Routers that recognise patterns tell what clients tell that do so themselves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from testbed.plan.load import load_plan, plan_of
from testbed.plan.model import Plan
from testbed.sim.simulation import Simulation

pytestmark = pytest.mark.sim
SCENARIO = Path(__file__).parents[2] / "topologies" / "scenarios" / "factored.yaml"


def run(plan: Plan) -> list[dict[str, Any]]:
    """The events of a whole run."""
    events: list[dict[str, Any]] = []
    simulation = Simulation(plan, "case", events.append)
    simulation.get_ready()
    simulation.work()
    simulation.drain()
    return events


def matches(patterns: str, scheme: str) -> Counter[tuple[Any, ...]]:
    """How often which client was told which match."""
    plan = load_plan(SCENARIO, overrides={"scheme.patterns": patterns, "scheme.name": scheme})
    events = run(plan)
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


def test_who_asks_later_for_what_others_seek_is_told_nothing_that_began_before() -> None:
    """Requests are shared: p - r3 - r2 (third) - r1 (first, second); one message before, one after."""
    pattern = "[x = 1] then [x = 2] within 5s"
    late = {"pattern": pattern, "at": "2s"}
    times = {"1s": 1, "3s": 2, "4s": 1, "5s": 2}
    scenario = {
        "name": "late",
        "scheme": {"name": "pif", "advertisements": True, "patterns": "factored"},
        "topology": {"routers": ["r1", "r2", "r3"], "links": ["r1 - r2", "r2 - r3"]},
        "timing": {"settle": "200ms"},
        "clients": {
            "p": {
                "at": "r3",
                "advertise": ["x any integer"],
                "publish": [{"at": at, "message": f"x = {value}"} for at, value in times.items()],
            },
            "first": {"at": "r1", "patterns": [pattern]},
            "second": {"at": "r1", "patterns": [late]},
            "third": {"at": "r2", "patterns": [late]},
        },
    }
    told: dict[str, list[list[int]]] = {}
    for event in run(plan_of(scenario)):
        if event["event"] == "deliver_match":
            told.setdefault(event["node"], []).append([n for _, n, _ in event["components"]])
    assert told == {"first": [[1, 2], [1, 4], [3, 4]], "second": [[3, 4]], "third": [[3, 4]]}

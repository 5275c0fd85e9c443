"""Entities that walk about: every scheme delivers what they are owed, with advertisements and without."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.advertising import advertising_in
from analysis.oracle import judge_events, oracle_of
from testbed.plan.load import load_plan
from testbed.sim.simulation import Simulation
from topologies.library import SCENARIOS

pytestmark = pytest.mark.sim
TAKING = ("pif", "psf", "cbcb", "siena")
"""Schemes that take advertisements."""
CASES = [(scheme, {"advertisements": True}) for scheme in TAKING]
CASES += [(scheme, {}) for scheme in (*TAKING, "flood", "ipsf")]


def delivered(scheme: str, options: dict[str, Any]) -> tuple[int, set[tuple[int, int, str]]]:
    """How much was owed, and what arrived; nothing is wrong with it."""
    plan = replace(load_plan(SCENARIOS / "dis.yaml"), scheme=scheme, scheme_options=options)
    events: list[dict[str, Any]] = []
    simulation = Simulation(plan, "case", events.append)
    simulation.get_ready()
    simulation.work()
    simulation.drain()
    oracle = oracle_of(plan, events, simulation.start_ns)
    advertising = advertising_in(plan, events, simulation.start_ns)
    ids = {node.name: node.node_id for node in plan.nodes}
    judged = judge_events(oracle, events, ids, None if advertising is None else advertising.restrict)
    assert (judged.missing, judged.duplicate, judged.spurious) == ([], [], [])
    got = {(e["source"], e["sequence"], e["node"]) for e in events if e["event"] == "deliver"}
    return judged.counts.owed, got


def test_all_schemes_deliver_the_same_to_entities_that_walk_about() -> None:
    found = [delivered(scheme, options) for scheme, options in CASES]
    owed = max(owed for owed, _ in found)
    assert owed > 100
    # What is published during a change may be known here and not there yet; what is owed all deliver.
    assert len(set.intersection(*(got for _, got in found))) >= owed

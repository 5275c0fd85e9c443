"""One core, three worlds: the emulated one delivers what the simulated one does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodes.scheme_catalog import CATALOG
from testbed.plan.load import load_plan
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

SCENARIOS = Path(__file__).parents[2] / "topologies" / "scenarios"
pytestmark = [pytest.mark.emu, pytest.mark.sim]


@pytest.mark.parametrize("scheme", sorted(CATALOG))
def test_both_worlds_deliver_the_same_messages_over_as_many_hops(
    bed: Any, second_bed: Any, progress: Any, scheme: str
) -> None:
    plan = replace(bed.plan(), scheme=scheme)
    assert bed.run(plan).outcome == "complete"
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    assert SimulatedWorld().run(plan, simulated, progress).outcome == "complete"
    assert bed.hops() == second_bed.hops()
    assert bed.delivered() == bed.owed()
    assert len(bed.hops()) > 100


def test_both_worlds_refuse_the_same_messages(bed: Any, second_bed: Any, progress: Any) -> None:
    plan = load_plan(SCENARIOS / "advertised.yaml")
    assert bed.run(plan).outcome == "complete"
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    assert SimulatedWorld().run(plan, simulated, progress).outcome == "complete"
    # `station` changes an advertisement 25 ms from two publications, which a busy machine may overtake.
    assert len(set(bed.hops()) ^ set(second_bed.hops())) <= 2
    assert len(bed.hops()) > 100


def test_both_worlds_deliver_the_same_to_entities_that_walk_about(
    bed: Any, second_bed: Any, progress: Any
) -> None:
    plan = load_plan(SCENARIOS / "dis.yaml", overrides={"workload.dis.until": "5s"})
    assert bed.run(plan).outcome == "complete"
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    assert SimulatedWorld().run(plan, simulated, progress).outcome == "complete"
    # Descriptors change all the time, and messages near a change depend on how late a busy machine is.
    assert len(set(bed.hops()) ^ set(second_bed.hops())) <= 10
    assert len(bed.hops()) > 50


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [("patterns", {}), ("factored", {"scheme.patterns": "union"}), ("factored", {})],
    ids=["patterns", "union", "factored"],
)
def test_both_worlds_recognise_the_same_matches(
    bed: Any, second_bed: Any, progress: Any, scenario: str, overrides: dict[str, str]
) -> None:
    plan = load_plan(SCENARIOS / f"{scenario}.yaml", overrides=overrides)
    assert bed.run(plan).outcome == "complete"
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    assert SimulatedWorld().run(plan, simulated, progress).outcome == "complete"
    told = [matches_in(each) for each in (bed, second_bed)]
    # Times of publication differ by what a busy machine is late, so matches at the edges of windows may, too.
    assert len(told[0] ^ told[1]) <= 16
    assert len(told[0] & told[1]) > 40


def matches_in(bed: Any) -> set[tuple[Any, ...]]:
    """Of every client and pattern, the matches it was told, by ids."""
    rows = (event for event in bed.events() if event["event"] == "deliver_match")
    return {(r["node"], r["subscription"], *((c[0], c[1]) for c in r["components"])) for r in rows}

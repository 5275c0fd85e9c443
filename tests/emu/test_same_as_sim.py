"""One core, three worlds: the emulated one delivers what the simulated one does."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from nodes.model import Occurrence, matches_of, parse_message, parse_pattern
from nodes.scheme_catalog import CATALOG
from testbed.plan.load import load_plan, plan_of
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


MARGINS_NS = {"patterns": 5_000_000, "factored": 10_000_000}
"""No two publications of these scenarios are closer, or closer to the length of a window apart."""


@pytest.mark.parametrize("name", MARGINS_NS)
def test_both_worlds_recognise_what_the_definition_says_and_the_same_if_publishers_are_in_time(
    bed: Any, second_bed: Any, progress: Any, name: str
) -> None:
    """By its own times of publication each world tells just what the reference finds.

    In the emulated one a busy machine may publish later than planned, and by these times there may be
    other matches.
    """
    plan = plan_of(patient(name))
    assert bed.run(plan).outcome == "complete"
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    assert SimulatedWorld().run(plan, simulated, progress).outcome == "complete"
    emulated_ns, simulated_ns = (publish_times(each) for each in (bed, second_bed))
    assert emulated_ns.keys() == simulated_ns.keys(), "messages, with their contents"
    told = [matches_in(each) for each in (bed, second_bed)]
    for one, each in zip(told, (bed, second_bed), strict=True):
        assert one == reference(each)
    assert len(told[0] & told[1]) > 20
    late_ns = [time_ns - simulated_ns[message] for message, time_ns in emulated_ns.items()]
    if max(late_ns) - min(late_ns) < MARGINS_NS[name]:
        assert told[0] == told[1]


ADVERTISED = {
    "ana": [
        'kind = "fare" and dest any string and airline any string and price any integer and '
        "refundable any boolean and departs any time"
    ],
    "chris": ['kind = "gate" and flight any integer and gate any string and closed any boolean'],
    "erin": [
        'kind = "delay" and flight any integer and delay any float and reason any string',
        'kind = "notice" and dest any string and text any string and urgent any boolean and issued any time',
    ],
}
SOUGHT = {
    "frank": '[delay > 45.0] then [kind = "gate" and closed = true] within 200ms',
    "bob": '[urgent = true] and [kind = "fare" and dest = "ORD"] within 300ms',
    "dave": "([delay < 0.0] and another [delay < 5.0]) then [price > 800] within 150ms pairing once",
}


def test_both_worlds_deliver_the_same_of_the_quickstart_with_advertisements_and_patterns(
    bed: Any, second_bed: Any, progress: Any
) -> None:
    scenario = YAML(typ="safe").load(SCENARIOS / "quickstart.yaml")
    scenario["scheme"] = {"name": "pif", "advertisements": True, "patterns": "factored"}
    for client, texts in ADVERTISED.items():
        scenario["clients"][client]["advertise"] = texts
    for client, text in SOUGHT.items():
        scenario["clients"][client]["patterns"] = [f"{text} wait 1s"]
    plan = plan_of(dict(scenario))
    assert bed.run(plan).outcome == "complete"
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    assert SimulatedWorld().run(plan, simulated, progress).outcome == "complete"
    assert bed.hops() == second_bed.hops()
    assert bed.delivered() == bed.owed()
    told = [matches_in(each) for each in (bed, second_bed)]
    assert told == [reference(each) for each in (bed, second_bed)]
    assert len(told[0] & told[1]) > 50
    assert {each[0] for each in told[0]} == set(SOUGHT)


MATCHMAKERS: dict[str, dict[str, Any]] = {
    "bp": {"state": "soft", "refresh_ms": 500, "lifetime_ms": 3_000},
    "bs": {},
    "amsp": {"interval_ms": 200, "alpha": 0.9, "announce_deviations": 0.0},
}


@pytest.mark.parametrize("scheme", MATCHMAKERS)
def test_both_worlds_deliver_the_same_of_the_quickstart_wherever_advertisements_and_subscriptions_meet(
    bed: Any, second_bed: Any, progress: Any, scheme: str
) -> None:
    """While somebody else changes all the time what it wants, so that links are marked anew under `amsp`."""
    scenario = YAML(typ="safe").load(SCENARIOS / "quickstart.yaml")
    scenario["scheme"] = {"name": scheme, "advertisements": True, **MATCHMAKERS[scheme]}
    for client, texts in ADVERTISED.items():
        scenario["clients"][client]["advertise"] = texts
    scenario["clients"]["frank"]["subscribe"] += [
        {"predicate": f"unheard_of = {at}", "at": f"{at}ms", "until": f"{at + 100}ms"}
        for at in range(100, 1_500, 50)
    ]
    plan = plan_of(dict(scenario))
    assert bed.run(plan).outcome == "complete"
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    assert SimulatedWorld().run(plan, simulated, progress).outcome == "complete"
    assert bed.hops() == second_bed.hops()
    assert bed.delivered() == second_bed.delivered() == bed.owed()
    assert len(bed.hops()) > 100


def patient(name: str) -> dict[str, Any]:
    """The scenario, shorter, with patterns that are sought all the time and wait for the slowest machine."""
    scenario = YAML(typ="safe").load(SCENARIOS / f"{name}.yaml")
    scenario.pop("matrix", None)
    for client in scenario["clients"].values():
        for publication in client.get("publish", ()):
            publication["count"] = publication["count"] * 5 // 9
        texts = [each if isinstance(each, str) else each["pattern"] for each in client.get("patterns", ())]
        client["patterns"] = [f"{text.removesuffix(' wait 30ms')} wait 2s" for text in texts]
        for advertised in client.get("advertise", ()):
            if isinstance(advertised, dict):
                advertised["at"] = "500ms"
    return dict(scenario)


def publish_times(bed: Any) -> dict[tuple[int, int, str], int]:
    """By message when it was published."""
    rows = (event for event in bed.events() if event["event"] == "publish")
    return {(r["source"], r["sequence"], r["message"]): r["time_ns"] for r in rows}


def reference(bed: Any) -> Counter[tuple[Any, ...]]:
    """Of every client and pattern what the definition tells, by the times of publication."""
    times = publish_times(bed)
    published = [(Occurrence(t, *key[:2]), parse_message(key[2])) for key, t in times.items()]
    sought = (event for event in bed.events() if event["event"] == "subscribe_pattern")
    return Counter(
        (event["node"], event["subscription"], *((each.source, each.sequence) for each in match))
        for event in sought
        for match in matches_of(parse_pattern(event["pattern"]), published)
    )


def matches_in(bed: Any) -> Counter[tuple[Any, ...]]:
    """Of every client and pattern how often it was told which matches, by ids."""
    rows = (event for event in bed.events() if event["event"] == "deliver_match")
    return Counter((r["node"], r["subscription"], *((c[0], c[1]) for c in r["components"])) for r in rows)

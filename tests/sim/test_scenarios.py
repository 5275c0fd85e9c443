"""Whole scenarios in the simulator deliver what the reference model says, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from testbed.plan.load import load_plan
from testbed.plan.model import Impairment

pytestmark = pytest.mark.sim

SCENARIOS = Path(__file__).parents[2] / "topologies" / "scenarios"
WANTED = ['kind = "a"', "price < 30", 'kind >* "b" and price >= 50', 'price != 7 or kind * "c"', "all"]


def random_scenario(rng: Random) -> dict[str, Any]:
    """A random graph with clients at random routers."""
    size = rng.randint(1, 12)
    clients = {}
    for number in range(rng.randint(2, 8)):
        message = {"kind": {"choice": ["a", "b", "bc", "cab"]}, "price": {"uniform": [0, 99]}}
        publish = {"message": message, "every": f"{rng.randint(1, 9)}ms", "count": 15, "from": "0s"}
        client: dict[str, Any] = {"at": f"r{rng.randint(1, size)}"}
        if rng.random() < 0.7:
            client["subscribe"] = rng.sample(WANTED, rng.randint(1, 3))
        if rng.random() < 0.7:
            client["publish"] = [publish]
        clients[f"c{number}"] = client
    topology = {"generate": "random", "size": size, "degree": min(rng.choice([1, 2, 3, 4]), size - 1)}
    return {"name": "random", "seed": rng.randrange(2**32), "topology": topology, "clients": clients}


@pytest.mark.parametrize("name", ["quickstart", "single-router"])
def test_a_shipped_scenario_delivers_just_what_is_owed(name: str, simulate: Callable[..., Any]) -> None:
    run = simulate(load_plan(SCENARIOS / f"{name}.yaml"))
    assert run.outcome.outcome == "complete", run.outcome.message
    delivered = run.deliveries()
    assert len(delivered) == len(set(delivered)) > 100
    assert set(delivered) == run.owed()


def test_the_same_clients_hear_the_same_on_one_router_as_on_six(simulate: Callable[..., Any]) -> None:
    many, one = (simulate(load_plan(SCENARIOS / f"{n}.yaml")) for n in ("quickstart", "single-router"))

    def by_text(run: Any) -> set[tuple[str, str, str]]:
        output = {(e["source"], e["sequence"]): e["message"] for e in run.events if e["event"] == "publish"}
        return {(output[s, n], str(n), client) for s, n, client in run.deliveries()}

    assert by_text(many) == by_text(one)


@pytest.mark.parametrize("number", range(8))
def test_a_random_network_delivers_just_what_is_owed(
    number: int, seed: int, simulate: Callable[..., Any]
) -> None:
    """T4: PIF is correct on any graph, with cycles or without."""
    run = simulate(random_scenario(Random(f"{seed}/{number}")))
    assert run.outcome.outcome == "complete", run.outcome.message
    delivered = run.deliveries()
    assert len(delivered) == len(set(delivered)), "duplicates"
    assert set(delivered) == run.owed()


def test_every_client_acts_at_its_time_after_the_network_is_ready(
    triangle: dict[str, Any], simulate: Callable[..., Any]
) -> None:
    run = simulate(triangle)
    published = [e["time_ns"] - run.outcome.start_ns for e in run.events if e["event"] == "publish"]
    assert published == [10_000_000 * n for n in range(10)]
    assert all(e["time_ns"] < run.outcome.start_ns for e in run.events if e["event"] == "subscribe")


def test_latency_is_the_sum_of_the_delays_on_the_way(
    triangle: dict[str, Any], simulate: Callable[..., Any]
) -> None:
    triangle["topology"]["link_defaults"] = {"delay": "3ms"}
    triangle["clients"]["carol"]["access"] = {"delay": "5ms"}
    run = simulate(triangle)
    latencies = {e["node"]: e["latency_ns"] for e in run.events if e["event"] == "deliver"}
    assert latencies == {"bob": 3_200_000, "carol": 8_100_000}


def test_a_run_ends_when_the_last_message_has_arrived(
    triangle: dict[str, Any], simulate: Callable[..., Any]
) -> None:
    run = simulate(triangle)
    assert run.outcome.end_ns == max(e["time_ns"] for e in run.events)


def test_lossy_links_delay_readiness_but_do_not_prevent_it(
    triangle: dict[str, Any], simulate: Callable[..., Any]
) -> None:
    triangle["topology"]["link_defaults"] = {"loss": 0.3}
    run = simulate(triangle)
    assert run.outcome.outcome == "complete", run.outcome.message
    assert set(run.deliveries()) <= run.owed()


def test_adding_a_link_leaves_the_random_streams_of_the_others_unchanged(
    triangle: dict[str, Any], simulate: Callable[..., Any], make_plan: Callable[..., Any]
) -> None:
    """One random source a link: the same losses on alice's access link, whatever is built elsewhere."""
    triangle["clients"]["alice"]["access"] = {"loss": 0.5}
    links = [*triangle["topology"]["links"], "r3 - r4"]
    larger = {**triangle, "topology": {"routers": ["r1", "r2", "r3", "r4"], "links": links}}
    runs = [simulate(scenario) for scenario in (triangle, larger)]
    lost = [
        [e["sequence"] for e in run.events if e["event"] == "deliver" and e["node"] == "carol"]
        for run in runs
    ]
    assert runs[0].outcome.start_ns == runs[1].outcome.start_ns, "else the link carried other HELLOs"
    assert 0 < len(lost[0]) < 10
    assert lost[0] == lost[1]


def test_a_network_that_cannot_become_ready_fails_and_says_who_waits_for_what(
    triangle: dict[str, Any], simulate: Callable[..., Any], make_plan: Callable[..., Any]
) -> None:
    triangle["timing"] = {"ready_timeout": "3s"}
    plan = make_plan(triangle)
    cut = [replace(k, impairment=Impairment(loss=1.0)) if k.name == "r1--r2" else k for k in plan.links]
    run = simulate(replace(plan, links=tuple(cut)))
    assert run.outcome.outcome == "failed"
    assert "not ready after 3 s" in run.outcome.message
    assert "r1 is not joined to r2" in run.outcome.message
    assert run.outcome.start_ns == 0
    assert "ready_s" not in run.outcome.phases
    assert (run.path / "logs" / "r1.status.json").exists()


def test_an_interruption_is_an_outcome_and_what_was_recorded_is_kept(
    triangle: dict[str, Any], simulate: Callable[..., Any], recorder: Any
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt("interrupted by SIGTERM")

    recorder.on_phase["drain"] = interrupt
    run = simulate(triangle, recorder)
    assert (run.outcome.outcome, run.outcome.message) == ("interrupted", "interrupted by SIGTERM")
    assert sum(e["event"] == "publish" for e in run.events) == 10
    assert run.outcome.captured_frames == sum(row["frames"] for row in run.index["interfaces"]) > 0


def test_an_action_that_fails_is_reported(
    triangle: dict[str, Any], simulate: Callable[..., Any], make_plan: Callable[..., Any]
) -> None:
    plan = make_plan(triangle)
    nodes = [
        replace(n, script=(*n.script, replace(n.script[0], do="unsubscribe", subscription=9, at_ns=1)))
        if n.name == "alice"
        else n
        for n in plan.nodes
    ]
    run = simulate(replace(plan, nodes=tuple(nodes)))
    assert run.outcome.outcome == "complete"
    assert run.progress.lines == ["1 action of alice could not be carried out: see logs/alice.jsonl"]


def test_without_captures_none_are_written(triangle: dict[str, Any], simulate: Callable[..., Any]) -> None:
    triangle["record"] = {"captures": False}
    run = simulate(triangle)
    assert run.outcome.outcome == "complete"
    assert run.outcome.captured_frames == 0
    assert not (run.path / "captures").exists()
    assert set(run.deliveries()) == run.owed()

"""Whole scenarios under schemes whose messages carry destinations, and what interfaces count (T5, M8)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from testbed.plan.load import load_plan

pytestmark = pytest.mark.sim

QUICKSTART = Path(__file__).parents[2] / "topologies" / "scenarios" / "quickstart.yaml"


def statuses(run: Any) -> list[dict[str, Any]]:
    paths = sorted((run.path / "logs").glob("*.status.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def counted(run: Any, what: str) -> int:
    return sum(row[what] for status in statuses(run) for row in status["interfaces"])


def many_wanting(seed: int) -> dict[str, Any]:
    """A subscriber at each router of a random graph, whose links take the message with three destinations."""
    rng = Random(seed)
    size = rng.randint(6, 12)
    message = {"price": {"uniform": [0, 99]}, "text": "x" * 166}
    publish = {"message": message, "every": "3ms", "count": 20, "from": "0s"}
    clients: dict[str, Any] = {"pub": {"at": "r1", "publish": [publish]}}
    for number in range(2, size + 1):
        clients[f"c{number}"] = {"at": f"r{number}", "subscribe": [f"price > {rng.randrange(60)}"]}
    topology = {"generate": "random", "size": size, "degree": 3, "link_defaults": {"mtu": 256}}
    return {"name": "many", "seed": seed, "topology": topology, "clients": clients}


@pytest.mark.parametrize("scheme", ["drp", "unicast", "multicast"])
def test_T1_the_quickstart_delivers_just_what_is_owed(scheme: str, simulate: Callable[..., Any]) -> None:
    run = simulate(load_plan(QUICKSTART, overrides={"scheme": scheme}))
    assert run.outcome.outcome == "complete", run.outcome.message
    delivered = run.deliveries()
    assert len(delivered) == len(set(delivered)) > 100
    assert set(delivered) == run.owed()


@pytest.mark.parametrize("seed", range(3))
def test_M8_unicast_sends_more_messages_than_drp_to_deliver_the_same(
    seed: int, simulate: Callable[..., Any]
) -> None:
    runs = [simulate({**many_wanting(seed), "scheme": scheme}) for scheme in ("drp", "unicast", "pif")]
    drp, unicast, pif = runs
    for run in runs:
        assert set(run.deliveries()) == run.owed(), f"seed {seed}"
        assert len(run.deliveries()) == len(run.owed()), f"seed {seed}: duplicates"
    sent = [counted(run, "tx_messages") for run in (pif, drp, unicast)]
    assert sent == sorted(sent), f"seed {seed}"
    assert sent[0] < sent[2], f"seed {seed}"


def test_what_one_interface_sends_the_other_receives(
    triangle: dict[str, Any], simulate: Callable[..., Any]
) -> None:
    run = simulate({**triangle, "scheme": "drp"})
    assert counted(run, "tx_messages") == counted(run, "rx_messages") > len(run.deliveries())
    by_name = {status["core"]["node"]: status for status in statuses(run)}
    (alice,) = by_name["alice"]["interfaces"]
    assert (alice["tx_messages"], alice["rx_messages"]) == (10, 0)
    (bob,) = by_name["bob"]["interfaces"]
    assert bob["rx_messages"] == sum(node == "bob" for _, _, node in run.deliveries())

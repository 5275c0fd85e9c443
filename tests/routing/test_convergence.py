"""When a network counts as converged, rule by rule (docs/protocols.md)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from nodes.convergence import unconverged


def adjacency(interface: str, peer: str, **more: object) -> dict[str, Any]:
    return {"interface": interface, "peer": peer, "state": "up", **more}


DIGESTS = {"subscriptions_digest": "s", "advertisements_digest": "a"}
CONVERGED: dict[str, dict[str, Any]] = {
    name: {
        "role": "router",
        "settled": True,
        "link_state_digest": "l",
        "interest_digest": "i",
        "offer_digest": "o",
        "adjacencies": [adjacency(f"{name}-eth0", other)],
    }
    for name, other in (("r1", "r2"), ("r2", "r1"))
}
CONVERGED["r1"]["adjacencies"].append(adjacency("r1-eth1", "c1", **DIGESTS))
CONVERGED["c1"] = {
    "role": "client",
    "attached": True,
    "settled": True,
    "subscriptions": 2,
    "subscriptions_acknowledged": 2,
    "advertisements": 1,
    "advertisements_acknowledged": 1,
    **DIGESTS,
}


@pytest.mark.parametrize(
    ("node", "key", "value", "reason"),
    [
        ("r2", "settled", False, "r2 is not settled"),
        ("r2", "link_state_digest", "x", "r2 and r1 differ in link_state_digest"),
        ("r2", "interest_digest", "x", "r2 and r1 differ in interest_digest"),
        ("r2", "offer_digest", "x", "r2 and r1 differ in offer_digest"),
        ("c1", "attached", False, "c1 is not attached"),
        ("c1", "settled", False, "c1 is not settled"),
        ("c1", "subscriptions_acknowledged", 1, "c1 has 1 of 2 subscriptions acknowledged"),
        ("c1", "subscriptions_digest", "x", "r1 does not hold what c1 subscribed to"),
        ("c1", "advertisements_acknowledged", 0, "c1 has 0 of 1 advertisements acknowledged"),
        ("c1", "advertisements_digest", "x", "r1 does not hold what c1 advertised"),
    ],
)
def test_each_rule_gives_its_reason(node: str, key: str, value: object, reason: str) -> None:
    assert unconverged(CONVERGED) == []
    statuses = copy.deepcopy(CONVERGED)
    statuses[node][key] = value
    assert unconverged(statuses) == [reason]


def test_where_routers_recognise_patterns_both_ends_agree_on_what_is_sought() -> None:
    statuses = copy.deepcopy(CONVERGED)
    statuses["r1"]["adjacencies"][0] |= {"requests_digest": "p", "routed_patterns_digest": "q"}
    statuses["r2"]["adjacencies"][0] |= {"requests_digest": "q", "routed_patterns_digest": "p"}
    statuses["r1"]["adjacencies"][1]["routed_patterns_digest"] = "c"
    held = {"routed_patterns": 3, "routed_patterns_acknowledged": 3, "routed_patterns_digest": "c"}
    statuses["c1"] |= held
    assert unconverged(statuses) == []
    statuses["r2"]["adjacencies"][0]["routed_patterns_digest"] = "another"
    assert unconverged(statuses) == ["r2 does not hold what r1 seeks there"]
    statuses["r2"]["adjacencies"][0]["routed_patterns_digest"] = "p"
    statuses["c1"] |= {"routed_patterns_digest": "another"}
    assert unconverged(statuses) == ["r1 does not hold what c1 seeks"]
    statuses["c1"] |= held | {"routed_patterns_acknowledged": 2}
    assert unconverged(statuses) == ["c1 has 2 of 3 routed_patterns acknowledged"]


def test_a_link_that_is_not_up_is_named_unless_it_is_meant_to_be_down() -> None:
    statuses = copy.deepcopy(CONVERGED)
    statuses["r1"]["adjacencies"][0]["state"] = "init"
    assert unconverged(statuses) == ["r1 is not joined to r2: the link is init"]
    assert unconverged(statuses, down=["r1-eth0"]) == []


def test_nothing_is_asked_of_nodes_that_are_meant_to_be_down() -> None:
    statuses = copy.deepcopy(CONVERGED)
    del statuses["r2"]
    statuses["r1"]["adjacencies"][0]["state"] = "down"
    assert unconverged(statuses, down=["r2"]) == []


def test_a_link_that_is_meant_to_be_down_must_have_been_noticed() -> None:
    assert unconverged(CONVERGED, down=["r1-eth0", "r2-eth0"]) == [
        "r1 has not noticed that the link to r2 is down",
        "r2 has not noticed that the link to r1 is down",
    ]


def test_after_a_link_came_back_both_ends_must_have_received_something() -> None:
    """What was lost meanwhile may be what lets the neighbour be taken for dead a little later."""
    statuses = copy.deepcopy(CONVERGED)
    for name, received_ns in (("r1", 9), ("r2", 10)):
        for adjacency in statuses[name]["adjacencies"]:
            adjacency["received_ns"] = received_ns
    statuses["c1"] |= {"interface": "c1-eth0", "received_ns": 0}
    repaired = {"r1-eth0": 10, "r2-eth0": 10}
    assert unconverged(statuses) == []
    assert unconverged(statuses, (), repaired) == ["r1 has received nothing over r1-eth0 since it came back"]
    statuses["r1"]["adjacencies"][0]["received_ns"] = 10
    assert unconverged(statuses, (), repaired) == []
    repaired["c1-eth0"] = 1
    assert unconverged(statuses, (), repaired) == ["c1 has received nothing over c1-eth0 since it came back"]


def test_the_parts_of_a_network_need_not_agree_with_each_other() -> None:
    statuses = copy.deepcopy(CONVERGED)
    for name in ("r1", "r2"):
        statuses[name]["adjacencies"][0]["state"] = "down"
        statuses[name]["link_state_digest"] = name
    assert unconverged(statuses, down=["r1-eth0", "r2-eth0"]) == []


def test_a_client_out_of_reach_must_know_it_and_owes_nothing_else() -> None:
    statuses = copy.deepcopy(CONVERGED)
    statuses["r1"]["adjacencies"][1] |= {"state": "down", "subscriptions_digest": ""}
    down = ["r1-eth1", "c1-eth0"]
    assert unconverged(statuses, down) == ["c1 has not noticed that its router is out of reach"]
    statuses["c1"] |= {"attached": False, "subscriptions_acknowledged": 0}
    assert unconverged(statuses, down) == []

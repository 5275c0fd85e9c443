"""Publishing and subscribing by hand, through the admin socket of a running client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nodes.config import Action
from nodes.wire.packets import Role
from testbed.live.clients import AdminError


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def net(loopback: Any) -> Any:
    """A router with two clients; c3's script takes subscription 7 a year from now.

    c2 --- r1 --- c3
    """
    for name, node_id, role in (("r1", 1, Role.ROUTER), ("c2", 2, Role.CLIENT), ("c3", 3, Role.CLIENT)):
        loopback.node(name, node_id, role)
    loopback.link("r1", "c2")
    loopback.link("r1", "c3")
    loopback.start("r1")
    loopback.start("c2")
    loopback.start("c3", script=[Action(10**15, "subscribe", 7, "never any integer")])
    loopback.ready()
    return loopback


def subscribed(net: Any, predicate: str, **more: object) -> int:
    number = net.admins["c3"].ask("subscribe", predicate=predicate, **more)["subscription"]
    net.until(
        lambda: net.cores()["c3"]["subscriptions_acknowledged"] == net.cores()["c3"]["subscriptions"], ""
    )
    net.ready()
    return int(number)


def test_what_is_published_by_hand_comes_to_who_subscribed_by_hand(net: Any) -> None:
    number = subscribed(net, 'dest = "ORD"')
    assert number == 8, "an id of the script would be taken from under it"
    output = net.admins["c2"].ask("publish", message='dest = "ORD", n = 1')
    net.admins["c2"].ask("publish", message='dest = "JFK", n = 1', count=3)
    assert (output["source"], output["sequence"]) == (2, 1)
    net.until(lambda: net.cores()["c3"]["delivered"] == 1, "the delivery")
    received = net.admins["c3"].ask("deliveries", subscription=number)
    (row,) = received["deliveries"]
    assert (row["source"], row["sequence"], row["hop_count"]) == (2, 1, 1)
    assert row["message"] == 'dest = "ORD", n = 1'
    assert row["latency_ns"] > 0
    assert net.admins["c3"].ask("latency")["p50_ns"] == row["latency_ns"]
    net.admins["c3"].ask("unsubscribe", subscription=number)
    net.stop()
    output = [e["event"] for e in events(net.folder / "c3.events.jsonl")]
    assert output == ["subscribe", "deliver", "unsubscribe"]
    published = [e["sequence"] for e in events(net.folder / "c2.events.jsonl")]
    assert published == [1, 2, 3, 4]


def test_a_reader_that_is_too_slow_loses_the_oldest_deliveries_and_learns_how_many(net: Any) -> None:
    number = subscribed(net, "n any integer", keep=3)
    for n in range(5):
        net.admins["c2"].ask("publish", message=f"n = {n}")
    net.until(lambda: net.cores()["c3"]["delivered"] == 5, "five deliveries")
    received = net.admins["c3"].ask("deliveries", subscription=number, most=2)
    assert [row["sequence"] for row in received["deliveries"]] == [3, 4]
    assert (received["waiting"], received["dropped"]) == (1, 2)


@pytest.mark.parametrize(
    ("do", "arguments", "why"),
    [
        ("publish", {}, 'expected "message", a text'),
        ("publish", {"message": "dest ="}, "dest"),
        ("publish", {"message": "n = 1", "count": 0}, '"count", a number from 1'),
        ("publish", {"message": "n = 1", "count": True}, '"count", a number from 1'),
        ("publish", {"message": f's = "{"x" * 3000}"'}, "bytes"),
        ("subscribe", {"predicate": "and and"}, "and"),
        ("subscribe", {"predicate": "n = 1", "keep": 10**9}, "can be kept"),
        ("unsubscribe", {"subscription": 99}, "no subscription 99"),
        ("deliveries", {"subscription": 99}, "nobody listens"),
        ("deliveries", {}, '"subscription", a number'),
    ],
)
def test_a_wrong_request_is_answered_and_changes_nothing(
    net: Any, do: str, arguments: dict[str, Any], why: str
) -> None:
    before = net.cores()["c3"]
    with pytest.raises(AdminError, match=why):
        net.admins["c3"].ask(do, **arguments)
    after = net.cores()["c3"]
    assert [after[k] for k in ("subscriptions", "published")] == [
        before[k] for k in ("subscriptions", "published")
    ]


def test_a_message_beyond_what_a_packet_can_hold_is_refused_and_the_client_lives_on(net: Any) -> None:
    huge = ", ".join(f"n{n} = {n}" for n in range(4500))
    assert len(huge) < 65_000, "the request itself must be one that the client reads"
    with pytest.raises(AdminError, match="expected at most 65535"):
        net.admins["c2"].ask("publish", message=huge)
    assert net.admins["c2"].ask("publish", message="n = 1")["sequence"] == 1


def test_a_router_neither_publishes_nor_subscribes(net: Any) -> None:
    with pytest.raises(AdminError, match="expected"):
        net.admins["r1"].ask("publish", message="n = 1")

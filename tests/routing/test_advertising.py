"""Publishers that have to advertise: what the first router takes from them, and what it tells them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fastpath.fib import DropReason
from nodes.config import Action
from nodes.model import format_filter, parse_predicate
from nodes.routing.advertisements import PART_FILTERS
from nodes.scheme_catalog import CATALOG
from nodes.wire.codec import decode_filter
from tests.routing.fabric import MS, SECOND, Network, configure

SCHEMES = [name for name, entry in CATALOG.items() if any(o.name == "advertisements" for o in entry.options)]


def network(scheme: str = "pif", **scripts: list[Action]) -> Network:
    """c1 at r1, c2 at r2; c2 wants everything."""
    configs = {
        name: replace(config, scheme=scheme, scheme_options={"advertisements": True})
        for name, config in configure([(1, 2, 1)], {"c1": 1, "c2": 2}, routers=2).items()
    }
    scripts.setdefault("c2", [Action(-1, "subscribe", 1, "all")])
    made = Network(configs, 1, scripts=scripts)
    made.converge(within_ns=5 * SECOND)
    return made


def publish(net: Network, *values: int) -> None:
    for value in values:
        net.client("c1").core.publish(net.now_ns, {"x": value})
    net.after("c1")
    net.run(2 * SECOND)


def delivered(net: Network) -> list[Any]:
    return [e["sequence"] for e in net.events if e["event"] == "deliver"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_advertised_arrives_and_the_rest_is_refused_at_the_first_router(scheme: str) -> None:
    net = network(scheme, c1=[Action(-1, "advertise", 1, "x < 5")])
    publish(net, 1, 7, 2)
    assert delivered(net) == [1, 3]
    assert [(name, reason) for name, reason in net.forward_drops] == [("r1", DropReason.UNADVERTISED)]
    assert net.client("c1").status()["refused"] == {"unadvertised": 1}


def test_who_advertises_nothing_is_refused_everything_and_told_how_many() -> None:
    net = network()
    publish(net, 1, 2)
    publish(net, 3)
    assert delivered(net) == []
    assert net.client("c1").status()["refused"] == {"unadvertised": 3}
    logs = [log.fields for _, name, log in net.logs if name == "c1" and log.event == "refused"]
    assert logs[-1] == {"reason": "unadvertised", "count": 3, "sequence": 3}


def test_an_advertisement_counts_as_soon_as_it_is_acknowledged_and_until_it_is_withdrawn() -> None:
    net = network()
    core = net.client("c1").core
    number = core.advertise(net.now_ns, parse_predicate("x any integer"))
    net.after("c1")
    while not core.link.quiet:
        net.run(MS)
    publish(net, 1)
    assert net.forward_drops == []
    core.unadvertise(net.now_ns, number)
    net.after("c1")
    net.run(50 * MS)
    publish(net, 2)
    assert [(name, reason) for name, reason in net.forward_drops] == [("r1", DropReason.UNADVERTISED)]
    assert net.reasons() == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_E14_interest_that_waited_is_told_when_something_is_advertised_that_it_overlaps(scheme: str) -> None:
    net = network(scheme, c2=[Action(-1, "subscribe", 1, "x > 5")])
    assert told(net) == set()
    core = net.client("c1").core
    number = core.advertise(net.now_ns, parse_predicate("x = 3"))
    net.after("c1")
    net.converge()
    assert told(net) == set(), "it overlaps nothing"
    core.advertise(net.now_ns, parse_predicate("x < 8 and y any string"), number)
    net.after("c1")
    net.converge()
    assert told(net) == {"x > 5"}
    publish(net, 7, 2)
    assert delivered(net) == [1]
    core.unadvertise(net.now_ns, number)
    net.after("c1")
    net.converge()
    assert told(net) == set()


def told(net: Network) -> set[str]:
    """What r1 sends r2 messages by."""
    towards = next(i.index for i in net.configs["r1"].interfaces if i.peer_name == "r2")
    contents = net.router("r1").installer.contents()
    filters = set[bytes]().union(*(table.get(towards, ()) for table in contents))
    return {format_filter(decode_filter(each)) for each in filters}


def test_counts_of_refused_messages_begin_anew_with_a_session() -> None:
    net = network()
    publish(net, 1, 2)
    net.cut("c1", "r1")
    net.run(20 * SECOND)
    net.cut("c1", "r1", down=False)
    net.converge()
    assert net.client("c1").status()["refused"] == {}
    publish(net, 3)
    assert net.client("c1").status()["refused"] == {"unadvertised": 1}


def test_a_restarted_router_takes_nothing_until_it_is_told_again() -> None:
    net = network(c1=[Action(-1, "advertise", 1, "x any integer")])
    net.kill("r1")
    net.run(10 * MS)
    net.start("r1")
    net.converge()
    publish(net, 1)
    assert delivered(net) == [1]


def test_without_the_option_advertisements_have_no_effect() -> None:
    configs = configure([], {"c1": 1, "c2": 1}, routers=1)
    net = Network(
        configs,
        1,
        scripts={"c1": [Action(-1, "advertise", 1, "y = 1")], "c2": [Action(-1, "subscribe", 1, "all")]},
    )
    net.converge()
    publish(net, 1)
    assert delivered(net) == [1]


def test_a_publisher_of_many_advertisements_may_publish_within_each_until_it_withdraws_that_one() -> None:
    """More than one part of what the gate is told, and fewer again."""
    net, count = network("pif"), 4 * PART_FILTERS + 7
    client = net.client("c1").core
    for number in range(count):
        client.advertise(net.now_ns, parse_predicate(f"x = {number}"), number)
    net.after("c1")
    net.converge(within_ns=20 * SECOND)
    step = PART_FILTERS // 16
    publish(net, *range(0, count, step))
    assert len(delivered(net)) == len(range(0, count, step))
    for number in range(0, count, 2):
        client.unadvertise(net.now_ns, number)
    net.after("c1")
    net.converge(within_ns=20 * SECOND)
    publish(net, *range(64))
    assert net.client("c1").status()["refused"] == {"unadvertised": 32}
    for number in range(1, count, 2):
        client.unadvertise(net.now_ns, number)
    net.after("c1")
    net.converge(within_ns=20 * SECOND)
    publish(net, 1)
    assert net.client("c1").status()["refused"] == {"unadvertised": 33}

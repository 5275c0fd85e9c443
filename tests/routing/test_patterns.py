"""Clients that seek patterns over real routers and unkind links: c1 - r1 - r2 - c2."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from nodes.client.core import ClientCore
from nodes.config import Action
from nodes.model import Occurrence, format_predicate, matches_of, parse_pattern
from nodes.scheme_catalog import CATALOG
from tests.routing.fabric import MS, SECOND, Conditions, Network, configure

UNKIND = Conditions(jitter_ns=60 * MS, duplicate=0.3)
PATTERN = "[x = 1] then [x = 2] within 2s"


def network(pattern: str = PATTERN, scheme: str = "pif", conditions: Conditions | None = None) -> Network:
    configs = configure([(1, 2, 1)], {"c1": 1, "c2": 2}, routers=2)
    union = format_predicate(parse_pattern(pattern).union)
    script = [Action(-1, "subscribe", 1, union), Action(-1, "subscribe_pattern", 1, pattern)]
    configs = {name: replace(config, scheme=scheme) for name, config in configs.items()}
    net = Network(configs, 1, conditions or Conditions(), {"c2": script})
    net.converge(within_ns=20 * SECOND)
    net.run(SECOND)
    return net


def publish(net: Network, value: int, then_ns: int = 100 * MS) -> tuple[Occurrence, dict[str, Any]]:
    identity = net.client("c1").core.publish(net.now_ns, {"x": value})
    published = Occurrence(net.now_ns, *identity), {"x": value}
    net.after("c1")
    net.run(then_ns)
    return published


def told(net: Network) -> list[Any]:
    rows: list[Any] = [event for event in net.events if event["event"] == "deliver_match"]
    return [tuple(Occurrence(t, source, n) for source, n, t in row["components"]) for row in rows]


@pytest.mark.parametrize("scheme", CATALOG)
def test_under_every_scheme_what_is_told_is_what_the_reference_says(scheme: str) -> None:
    net, rng = network(scheme=scheme), random.Random(3)
    published = [publish(net, rng.randint(1, 3), rng.randrange(1, 300) * MS) for _ in range(60)]
    net.run(5 * SECOND)
    assert told(net) == matches_of(parse_pattern(PATTERN), published)
    assert len(told(net)) > 20


@pytest.mark.parametrize("pairing", ["every", "first", "once"])
def test_links_that_repeat_and_reorder_change_nothing(pairing: str) -> None:
    pattern = f"{PATTERN} pairing {pairing} wait 500ms"
    net, rng = network(pattern, conditions=UNKIND), random.Random(5)
    published = [publish(net, rng.randint(1, 3), rng.randrange(40) * MS) for _ in range(80)]
    net.run(5 * SECOND)
    assert told(net) == matches_of(parse_pattern(pattern), published)
    counts: Any = net.client("c2").status()["recogniser"]
    assert set(counts) <= {"sought", "held", "duplicate", "late"}


def test_a_router_that_crashes_in_mid_pattern_takes_no_match_along() -> None:
    net = network("[x = 1] then [x = 2] within 1min")
    published = [publish(net, 1)]
    net.kill("r2")
    net.run(SECOND)
    net.start("r2")
    net.converge(within_ns=30 * SECOND)
    net.run(SECOND)
    published.append(publish(net, 2, SECOND))
    assert told(net) == [tuple(occurrence for occurrence, _ in published)]


def test_a_pattern_that_is_sought_no_longer_is_not_told() -> None:
    net = network()
    publish(net, 1)
    client = net.client("c2")
    client.unsubscribe(net.now_ns, 1)
    net.after("c2")
    publish(net, 2, 5 * SECOND)
    assert told(net) == []
    assert "recogniser" not in client.status()


def test_who_steps_aside_forgets_what_it_had_kept_and_seeks_again_when_it_comes_back() -> None:
    net = network("[x = 1] then [x = 2] within 1min")
    publish(net, 1)
    client = net.client("c2")
    client.step_aside(net.now_ns)
    net.after("c2")
    net.run(5 * SECOND)
    client.come_back(net.now_ns, ClientCore(net.configs["c2"], random.Random(9)), len(net.events))
    net.after("c2")
    net.converge(within_ns=20 * SECOND)
    publish(net, 2)
    begun, ended = publish(net, 1), publish(net, 2, SECOND)
    assert told(net) == [(begun[0], ended[0])]
    assert [event["event"] for event in net.events].count("subscribe_pattern") == 2


def test_a_client_says_that_it_holds_messages_back_until_what_they_may_complete_was_told() -> None:
    """By its status a network in real time waits for it at the end of a run, as the simulator does."""
    net = network("[x = 1] wait 300ms")
    client = net.client("c2")
    assert client.status()["recognising"] is False
    publish(net, 1, 200 * MS)
    assert client.status()["recognising"] is True
    assert told(net) == []
    net.run(200 * MS)
    assert client.status()["recognising"] is False
    assert len(told(net)) == 1

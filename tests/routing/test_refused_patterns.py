"""More patterns than a router takes: who is told, and what is recognised all the same."""

from __future__ import annotations

import pytest

from fastpath.wire.codec import encode_refused
from nodes.config import LimitConfig
from nodes.model import parse_pattern
from nodes.wire.packets import Kind, Refusal
from tests.routing.fabric import MS, SECOND, line
from tests.routing.pattern_networks import (
    ALARM,
    CHAIN,
    HALF,
    SCHEMES,
    X,
    chain,
    counts,
    pattern_network,
)

in_every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def test_more_patterns_than_a_neighbour_may_have_are_dropped_and_the_others_go_on() -> None:
    net = chain(limits=LimitConfig(patterns_per_neighbour=2))
    patterns = [f"[x = {n}] then [x = 2] within 5s" for n in range(4)]
    for text in patterns:
        net.core("s").subscribe_pattern(net.now_ns, parse_pattern(text))
    net.after("s")
    net.run(SECOND)
    drops = net.router("r1").status()["drops"]
    assert drops == {"too_many_patterns": 2}
    logged = [log.fields for _, name, log in net.logs if name == "r1" and log.event == "too_many_patterns"]
    assert [each["setting"] for each in logged] == ["limits.patterns_per_neighbour"]
    assert net.reasons() == ["r1 does not hold what s seeks: it has refused 2 of them (too_many_patterns)"]
    net.publish("a", "x = 1", "x = 2")
    net.run(SECOND)
    assert len(net.matches("s", 2)) == 1


def test_a_client_is_told_which_of_its_patterns_are_not_sought_and_may_seek_them_when_there_is_room() -> None:
    net = chain(limits=LimitConfig(patterns_per_neighbour=1))
    core = net.core("s")
    first = net.seek("s", ALARM)[0]
    second = core.subscribe_pattern(net.now_ns, parse_pattern(HALF))
    net.after("s")
    net.run(SECOND)
    assert core.why_refused(first) is None
    assert core.why_refused(second) == (
        "r1 does not seek the pattern: it seeks as many of s as it may (limits.patterns_per_neighbour)"
    )
    assert core.refused == {"too_many_patterns": 1}
    logged = [log.fields for _, name, log in net.logs if (name, log.event) == ("s", "refused")]
    assert logged == [{"reason": "too_many_patterns", "count": 1, "pattern": second}]
    for number in (second, first):
        core.unsubscribe_pattern(net.now_ns, number)
    net.after("s")
    assert net.seek("s", HALF) == [1]
    assert core.refused_patterns == {}
    assert net.router("r1").status()["drops"] == {"too_many_patterns": 1}, (
        "no withdrawal of what it never had"
    )
    net.publish("a", "x = 1", "x = 2")
    net.run(SECOND)
    assert net.matches("s") == net.reference("s", HALF) != []


def test_in_the_place_of_a_pattern_that_is_refused_the_one_before_is_not_sought() -> None:
    net = chain(limits=LimitConfig(pattern_bytes=40))
    net.seek("s", ALARM)
    net.core("s").subscribe_pattern(net.now_ns, parse_pattern(f"{ALARM} pairing once keep 77"), 1)
    net.after("s")
    net.run(SECOND)
    assert net.asked("r1") == net.asked("r2") == []
    why = net.core("s").why_refused(1)
    assert why is not None
    assert why.endswith("the pattern is longer than it takes (limits.pattern_bytes)")


REVERSED = "[x = 2] then [x = 1] within 5s"


@in_every_scheme
def test_what_a_neighbour_refuses_is_recognised_by_who_would_have_delegated_it(scheme: str) -> None:
    """r2 seeks one pattern for r1, whose clients seek two."""
    one = LimitConfig(patterns_per_neighbour=1)
    net = pattern_network(CHAIN, {"s": 1, "t": 1, "a": 3}, {"a": X}, scheme, limits=one)
    net.seek("s", ALARM)
    net.seek("t", REVERSED)
    assert [line.split(": ", 2)[-1] for line in net.asked("r1")] == [
        f"asks r1-eth0 for {ALARM}",
        "subscribes to [x = 2]",
        "subscribes to [x = 1]",
    ]
    assert counts(net, "r1")["refused"] == 1
    assert net.router("r2").status()["drops"] == {"too_many_patterns": 1}
    net.publish("a", "x = 1", "x = 2", "x = 1")
    net.run(SECOND)
    assert net.matches("s") == net.reference("s", ALARM) != []
    assert net.matches("t") == net.reference("t", REVERSED) != []


def test_a_neighbour_that_comes_back_is_asked_again_for_what_it_had_refused() -> None:
    one = LimitConfig(patterns_per_neighbour=1)
    net = pattern_network(CHAIN, {"s": 1, "t": 1, "a": 3}, {"a": X}, limits=one)
    net.seek("s", ALARM)
    net.seek("t", REVERSED)
    net.core("s").unsubscribe_pattern(net.now_ns, 1)
    net.after("s")
    net.kill("r2")
    net.run(3 * SECOND)
    net.start("r2")
    net.run(100 * MS)
    net.converge()
    assert net.asked("r1") == [f"pattern 1 of r1-eth2: {REVERSED}: asks r1-eth0 for {REVERSED}"]
    assert counts(net, "r1")["refused"] == 0


def test_a_refusal_of_what_was_never_asked_for_is_dropped_and_counted() -> None:
    net = chain()
    net.seek("s", ALARM)
    neighbour = next(each for each in net.router("r2").links if each.interface.peer_name == "r1")
    for name, link in (("r2", neighbour), ("s", net.core("s").link)):
        link.send(net.now_ns, Kind.REFUSED, encode_refused(Refusal.TOO_MANY_PATTERNS, 1, 77_777))
        net.after(name)
    net.run(SECOND)
    assert net.router("r1").status()["drops"] == {"unexpected_kind": 1, "unknown_pattern": 1}
    assert net.reasons() == []


def test_ten_thousand_patterns_of_one_client_are_held_and_one_more_is_refused() -> None:
    net = pattern_network(line(2), {"s": 1, "a": 2}, {"a": X})
    core = net.core("s")
    for number in range(10_001):
        core.subscribe_pattern(net.now_ns, parse_pattern(f"[x = {number}] then [x = 2] within 5s"))
    net.after("s")
    net.run(60 * SECOND)
    assert counts(net, "r1")["sought"] == counts(net, "r2")["sought"] == 10_000
    assert net.router("r1").status()["drops"] == {"too_many_patterns": 1}
    assert core.refused_patterns == {10_001: Refusal.TOO_MANY_PATTERNS}
    net.publish("a", "x = 7", "x = 2")
    net.run(SECOND)
    assert [each.pattern for each in net.told] == [8]

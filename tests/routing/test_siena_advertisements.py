"""Siena with advertisements: what is said where, by example (ADR 2.4.2, 3.5; S1, E14, E15)."""

from __future__ import annotations

import pytest

from nodes.model import parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.schemes.base import Options
from nodes.wire.packets import Kind
from tests.routing.fabric import SECOND, Network, line
from tests.routing.siena_cases import ADVERTISED, SHARED, SOURCE_ADVERTISED
from tests.routing.test_hostile import drops
from tests.routing.test_siena import output, quiet, subscribe, unsubscribe
from tests.routing.test_siena_faults import hostile
from tests.routing.test_siena_faults import output as payload

KINDS = {
    int(Kind.SIENA_SUBSCRIBE): "subscribe",
    int(Kind.SIENA_UNSUBSCRIBE): "unsubscribe",
    int(Kind.SIENA_ADVERTISE): "advertise",
    int(Kind.SIENA_UNADVERTISE): "unadvertise",
}
BOTH = [ADVERTISED, SOURCE_ADVERTISED]


def advertise(net: Network, client: str, wanted: str, number: int = 1) -> None:
    net.client(client).core.advertise(net.now_ns, parse_predicate(wanted), number)
    net.after(client)
    net.converge(within_ns=2 * SECOND)


def unadvertise(net: Network, client: str, number: int = 1) -> None:
    net.client(client).core.unadvertise(net.now_ns, number)
    net.after(client)
    net.converge(within_ns=2 * SECOND)


def steps(net: Network, since: int = 0) -> list[str]:
    """`r1 r2 subscribe x > 1`, a line for each filter that was sent."""
    said = output(net, since)
    return [f"{a} {b} {KINDS[kind]} {text}" for a, b, kind, _, texts in said for text in texts]


@pytest.mark.parametrize("options", BOTH, ids=str)
def test_E14_a_subscription_waits_for_who_advertises_what_it_overlaps_and_goes_there_alone(
    options: Options,
) -> None:
    net = quiet([*line(4), (2, 5, 1)], {"s": 1, "p": 4, "q": 5}, options)
    subscribe(net, "s", "x > 6")
    assert steps(net) == [], "nobody advertises anything"
    advertise(net, "q", "y any integer")
    mark = len(net.sent)
    advertise(net, "p", "x = 5 and x = 9")
    drawn = [step for step in steps(net, mark) if " subscribe " in step]
    assert drawn == ["r1 r2 subscribe x > 6", "r2 r3 subscribe x > 6", "r3 r4 subscribe x > 6"]
    mark = len(net.sent)
    subscribe(net, "s", "x > 6 and y = 1", 2)
    assert steps(net, mark) == [], "p does not declare y; q does not declare x"
    unadvertise(net, "p")
    withdrawn = [step for step in steps(net, mark) if " unsubscribe " in step]
    assert sorted(withdrawn) == [f"r{n} r{n + 1} unsubscribe x > 6" for n in (1, 2, 3)]


def test_S1_an_advertisement_goes_nowhere_where_one_that_covers_it_went() -> None:
    net = quiet(line(3), {"p": 1, "q": 1}, ADVERTISED)
    advertise(net, "p", "x any integer and y = 1")
    assert steps(net) == [
        "r1 r2 advertise x any integer and y = 1",
        "r2 r3 advertise x any integer and y = 1",
    ]
    mark = len(net.sent)
    advertise(net, "q", "x > 5")
    assert steps(net, mark) == []
    unadvertise(net, "p")
    assert steps(net, mark) == [
        "r1 r2 advertise x > 5",
        "r1 r2 unadvertise x any integer and y = 1",
        "r2 r3 advertise x > 5",
        "r2 r3 unadvertise x any integer and y = 1",
    ], "E15: what was hidden is announced before what hid it is withdrawn"


@pytest.mark.parametrize("options", BOTH, ids=str)
def test_E15_a_subscription_stays_while_one_of_several_advertisements_goes(options: Options) -> None:
    net = quiet(line(3), {"s": 1, "p": 3, "q": 3}, options)
    subscribe(net, "s", "x > 6")
    advertise(net, "p", "x any integer")
    advertise(net, "q", "x = 7")
    mark = len(net.sent)
    unadvertise(net, "p")
    assert [step for step in steps(net, mark) if "subscribe" in step] == []


def test_where_publishers_moved_to_another_branch_of_the_same_tree_subscriptions_follow() -> None:
    """Router 1 has the same children in its tree before and after; the publisher is below the other one."""
    net = quiet([(1, 2, 1), (1, 3, 1), (2, 4, 1), (3, 4, 2)], {"s": 1, "p": 4}, SOURCE_ADVERTISED)
    advertise(net, "p", "x any integer")
    subscribe(net, "s", "x > 6")
    assert [s for s in steps(net) if " subscribe " in s] == [
        "r1 r2 subscribe x > 6",
        "r2 r4 subscribe x > 6",
    ]
    mark = len(net.sent)
    net.cut("r2", "r4")
    net.run(3 * SECOND)
    said = [s for s in steps(net, mark) if "subscribe" in s and "r4" not in s.split()[0]]
    assert "r1 r3 subscribe x > 6" in said
    assert "r1 r2 unsubscribe x > 6" in said


def test_unsubscribing_asks_nobody_who_was_not_asked_before() -> None:
    net = quiet(line(3), {"s": 1, "p": 3}, ADVERTISED)
    subscribe(net, "s", "x > 6")
    mark = len(net.sent)
    unsubscribe(net, "s")
    assert steps(net, mark) == []


def test_advertisements_are_unexpected_where_they_do_not_count() -> None:
    net, impostor = hostile(SHARED)
    impostor.send(Kind.SIENA_ADVERTISE, payload(0, "x = 1"))
    assert drops(net)[Reason.UNEXPECTED_KIND] == 1


def test_an_advertisement_that_was_never_sent_cannot_be_withdrawn() -> None:
    net, impostor = hostile(ADVERTISED)
    impostor.send(Kind.SIENA_UNADVERTISE, payload(0, "never = 1"))
    assert drops(net)[Reason.UNKNOWN_ADVERTISEMENT] == 1

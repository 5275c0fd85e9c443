"""`bp`, `bs` and `amsp` where clients, neighbours and demand misbehave (MM; K7, K8)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from fastpath.fib import DropReason
from nodes.model import parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.schemes.base import learned
from nodes.routing.schemes.matchmaker_links import Link
from nodes.scheme_catalog import OptionValue
from nodes.wire.codec import decode_datagram
from nodes.wire.matchmaker_payloads import MarkingChange
from nodes.wire.packets import Control, Kind
from tests.routing.fabric import MS, SECOND, Network, configure, line
from tests.routing.matchmaker_cases import (
    adaptive,
    faults,
    marking_faults,
    of_scheme,
    routers_of,
    said,
    whole_of,
)

SCHEMES = ["amsp", "bp", "bs"]
BOTH = pytest.mark.parametrize("scheme", SCHEMES)
OPTIONS: Mapping[str, OptionValue] = {"advertisements": True}
QUICK: Mapping[str, OptionValue] = {**OPTIONS, "interval_ms": 500, "alpha": 0.9, "reply_timeout_ms": 300}


def quiet(scheme: str, options: Mapping[str, OptionValue] = OPTIONS, routers: int = 3) -> Network:
    """Routers in a line, a client at each end."""
    configs = configure(line(routers), {"p": 1, "s": routers})
    net = Network(of_scheme(configs, scheme, options), 1)
    net.converge(within_ns=2 * SECOND)
    return net


def do(net: Network, client: str, what: str, *arguments: object) -> None:
    texts = [parse_predicate(each) if isinstance(each, str) else each for each in arguments]
    getattr(net.client(client).core, what)(net.now_ns, *texts)
    net.after(client)


def publish(net: Network, x: int) -> None:
    net.client("p").core.publish(net.now_ns, {"x": x})
    net.after("p")
    net.run(20 * MS)


def delivered(net: Network) -> int:
    return sum(e["event"] == "deliver" for e in net.events)


def hold_at_the_end(net: Network, options: Mapping[str, OptionValue]) -> None:
    """Tables are those of a central computation, marks those of top-down marking."""
    assert faults(net, "amsp", options) == []
    assert marking_faults(routers_of(net), whole_of(net, options)) == []


@BOTH
def test_who_publishes_without_an_advertisement_is_refused_by_its_router_until_it_has_one(
    scheme: str,
) -> None:
    net = quiet(scheme)
    do(net, "s", "subscribe", "x > 0", 1)
    net.run(SECOND)
    publish(net, 1)
    assert delivered(net) == 0
    assert ("r1", DropReason.UNADVERTISED) in net.forward_drops
    do(net, "p", "advertise", "x > 0", 1)
    net.run(SECOND)
    publish(net, 2)
    assert delivered(net) == 1


@BOTH
def test_descriptors_that_never_match_leave_nothing_when_they_go(scheme: str) -> None:
    net, count = quiet(scheme), 40
    for number in range(count):
        do(net, "p", "advertise", f"x = {number}", number)
        do(net, "s", "subscribe", f"x = {-number - 1}", number)
    net.converge(within_ns=2 * SECOND)
    told = said(net)
    assert not any("MCD" in each for each in told)
    assert told.total() >= 2 * count
    assert net.router("r2").store.filters(learned(3)) == frozenset()
    for number in range(count):
        do(net, "p", "unadvertise", number)
        do(net, "s", "unsubscribe", number)
    net.converge(within_ns=2 * SECOND)
    for router in routers_of(net).values():
        assert router._scheme._meeting.held() == {}  # type: ignore[attr-defined]


@BOTH
def test_ten_thousand_descriptors_of_one_client_are_held_where_they_belong(scheme: str) -> None:
    """Of what is told to the router at the other end, one in a hundred matches (`make bench-one-client`)."""
    net, count = quiet(scheme, routers=2), 10_000
    do(net, "p", "advertise", "x < 100", 1)
    do(net, "s", "subscribe", " or ".join(f"x = {number}" for number in range(count)), 1)
    net.converge(within_ns=60 * SECOND)
    assert len(net.router("r1").store.filters(learned(2))) == 100
    held = net.router("r1").scheme_exchange.account(0)
    assert held["received_digest"] == net.router("r2").scheme_exchange.account(0)["sent_digest"]
    publish(net, 7)
    assert delivered(net) == 1
    do(net, "s", "unsubscribe", 1)
    net.converge(within_ns=60 * SECOND)
    assert net.router("r1").store.filters(learned(2)) == frozenset()


@BOTH
def test_thousands_of_advertisements_of_one_client_each_count_and_go(scheme: str) -> None:
    net, count = quiet(scheme, routers=2), 3_000
    do(net, "s", "subscribe", "x < 100", 1)
    for number in range(count):
        do(net, "p", "advertise", f"x = {number}", number)
    net.converge(within_ns=60 * SECOND)
    publish(net, 7)
    publish(net, count - 1)
    assert delivered(net) == 1
    assert net.forward_drops == []
    for number in range(count):
        do(net, "p", "unadvertise", number)
    net.converge(within_ns=60 * SECOND)
    publish(net, 7)
    assert ("r1", DropReason.UNADVERTISED) in net.forward_drops
    for router in routers_of(net).values():
        assert all(not publisher for publisher, *_ in router._scheme._meeting.held())  # type: ignore[attr-defined]


def changes_of_marks(net: Network, since: int = 0) -> list[MarkingChange]:
    """What was asked for over links, on quiet wires."""
    return [
        MarkingChange.decode(packet.fragment)
        for *_, datagram in net.sent[since:]
        for packet in decode_datagram(datagram)
        if isinstance(packet, Control) and packet.kind == Kind.CHANGE_MARKING
    ]


def test_K8_demand_that_oscillates_faster_than_the_interval_does_not_make_marks_oscillate() -> None:
    """Both ends change what they hold 25 times a second, in turns of a tenth of a second."""
    net = quiet("amsp", {**QUICK, "alpha": 0.25})
    do(net, "p", "advertise", "x any integer", 99)
    do(net, "s", "subscribe", "x = 0", 99)
    net.converge(within_ns=2 * SECOND)
    mark, sent = len(net.sent), 0
    for turn in range(60):
        client, what = (("p", "advertise"), ("s", "subscribe"))[turn % 2]
        for number in range(5):
            do(net, client, what, f"x = {100 + 5 * turn + number}", number)
            net.run(10 * MS)
        publish(net, 0)
        sent += 1
    turns, intervals, links = 60, 60 * 70 // 450 + 1, 4
    assert len(changes_of_marks(net, mark)) <= intervals * links
    assert intervals < turns / 4
    net.run(SECOND)
    assert delivered(net) == sent, "what both ends keep holding is delivered all the time"
    net.converge(within_ns=10 * SECOND)
    hold_at_the_end(net, QUICK)


def with_a_match(marking: str) -> Network:
    """Marks that rates do not move: with so much hysteresis all stay as they began."""
    net = quiet("amsp", {**QUICK, "marking": marking, "hysteresis": 1e6})
    do(net, "p", "advertise", "x < 100", 1)
    do(net, "s", "subscribe", "x > 0", 1)
    net.converge(within_ns=2 * SECOND)
    return net


@pytest.mark.parametrize("marking", ["s", "p"])
def test_K7_ends_that_have_marked_a_link_differently_are_noticed_counted_and_made_to_agree(
    marking: str,
) -> None:
    """Router 1 says that it has changed the mark of its link to router 2, and has not."""
    net = with_a_match(marking)
    wrong = MarkingChange(77, int(marking == "s"), ())
    net.router("r1").scheme_exchange.send(net.now_ns, 0, Kind.CHANGE_MARKING, wrong.encode())
    net.after("r1")
    net.converge(within_ns=2 * SECOND)
    assert net.router("r1").drops[Reason.MARKING_DISAGREES] == 1
    assert marks_at(net) == {(1, 2): marking == "p", (2, 3): marking == "p"}
    assert faults(net, "amsp", QUICK) == []
    do(net, "p", "advertise", "x > 200", 2)
    do(net, "s", "subscribe", "x = 300", 2)
    net.converge(within_ns=2 * SECOND)
    assert faults(net, "amsp", QUICK) == []
    publish(net, 300)
    assert delivered(net) == 1


def marked_otherwise_at_the_start(options: Mapping[str, OptionValue]) -> Network:
    """Router 2 begins with p-links, the others with s-links: no descriptor crosses the link from 1 to 2."""
    configs = of_scheme(
        configure(line(3), {"p": 1, "s": 3}), "amsp", {**QUICK, "hysteresis": 1e6, **options, "marking": "s"}
    )
    configs["r2"] = replace(configs["r2"], scheme_options={**configs["r2"].scheme_options, "marking": "p"})
    net = Network(configs, 1)
    do(net, "p", "advertise", "x < 100", 1)
    do(net, "s", "subscribe", "x > 0", 1)
    return net


def test_K7_ends_that_differ_from_the_start_are_noticed_though_nothing_that_crosses_the_link_says_so() -> (
    None
):
    net = marked_otherwise_at_the_start({})
    net.converge(within_ns=5 * SECOND)
    assert net.router("r1").drops[Reason.MARKING_DISAGREES] == 1
    assert marks_at(net) == {(1, 2): False, (2, 3): False}
    assert faults(net, "amsp", QUICK) == []
    publish(net, 7)
    assert delivered(net) == 1


def test_K7_ends_that_differ_and_are_not_made_to_agree_are_no_fixpoint() -> None:
    net = marked_otherwise_at_the_start({"reply_timeout_ms": 0})
    net.run(5 * SECOND)
    assert net.router("r1").drops[Reason.MARKING_DISAGREES] == 0
    assert "r2 has not received all that r1 has sent it" in net.reasons(())
    publish(net, 7)
    assert delivered(net) == 0


def marks_at(net: Network) -> dict[tuple[int, int], bool]:
    """The marks away from the publisher, which both ends must have alike."""
    found = {}
    for a, b in ((1, 2), (2, 3)):
        [link] = [each for each in adaptive(net.router(f"r{a}"))._links.values() if each.neighbour == b]
        [far] = [each for each in adaptive(net.router(f"r{b}"))._links.values() if each.neighbour == a]
        assert link.is_p_out is far.is_p_in
        found[a, b] = link.is_p_out
    return found


def test_K7_subscriptions_over_a_link_that_is_a_p_link_to_its_upstream_end_are_such_a_difference() -> None:
    """The two were told to begin with different marks."""
    configs = configure(line(2), {"p": 1, "s": 2})
    of = {name: "s" if name in ("r2", "s") else "p" for name in configs}
    parts = [
        of_scheme({name: config}, "amsp", {**QUICK, "marking": of[name], "hysteresis": 1e6})
        for name, config in configs.items()
    ]
    net = Network({name: config for part in parts for name, config in part.items()}, 1)
    do_later(net)
    net.run(5 * SECOND)
    assert net.router("r1").drops[Reason.MARKING_DISAGREES] == 1
    publish(net, 5)
    assert delivered(net) == 1


def do_later(net: Network) -> None:
    net.run(SECOND)
    do(net, "p", "advertise", "x < 100", 1)
    do(net, "s", "subscribe", "x > 0", 1)


def turn_to_p(net: Network) -> None:
    """What is subscribed to changes often, so that links become p-links."""
    for number in range(30):
        do(net, "s", "subscribe", f"x = {1000 + number}", 50)
        net.run(20 * MS)


@pytest.fixture
def silent() -> Callable[[Network, str], Callable[[], None]]:
    """Lets a router answer no change of a mark; what is returned lets it answer again."""

    def silence(net: Network, name: str) -> Callable[[], None]:
        handlers = adaptive(net.router(name))._handlers
        answer, handlers[Kind.CHANGE_MARKING] = handlers[Kind.CHANGE_MARKING], lambda *_: None
        return lambda: handlers.update({Kind.CHANGE_MARKING: answer})

    return silence


def test_K7_while_a_reply_does_not_come_it_is_asked_for_again_and_nothing_is_lost(
    silent: Callable[[Network, str], Callable[[], None]],
) -> None:
    net = quiet("amsp", QUICK)
    do(net, "p", "advertise", "x any integer", 1)
    do(net, "s", "subscribe", "x = 0", 1)
    net.converge(within_ns=2 * SECOND)
    speak = silent(net, "r2")
    mark = len(net.sent)
    turn_to_p(net)
    net.run(3 * SECOND)
    link = adaptive(net.router("r1"))._links[0]
    assert waits(link)
    asked = [each for each in changes_of_marks(net, mark) if each.number > 0]
    assert len(asked) >= 8, "every 300 ms, by the first router"
    assert len({each.number for each in asked}) >= 8
    publish(net, 0)
    do(net, "s", "subscribe", "x = 5", 2)
    net.run(SECOND)
    publish(net, 5)
    assert delivered(net) == 2, "what matched before, and what matches since"
    speak()
    net.converge(within_ns=10 * SECOND)
    assert not waits(link)
    hold_at_the_end(net, QUICK)


def until_a_mark_changes(net: Network) -> None:
    """As `turn_to_p`, up to the moment at which a reply is awaited."""
    links = [link for router in routers_of(net).values() for link in adaptive(router)._links.values()]
    for step in range(3000):
        if step % 20 == 0:
            do(net, "s", "subscribe", f"x = {1000 + step}", 50)
        net.run(MS)
        if any(map(waits, links)):
            return
    pytest.fail("no mark has changed")


def waits(link: Link) -> bool:
    return link.asked_ns is not None


@pytest.mark.parametrize("restarting", ["r1", "r2", "r3"])
def test_K7_a_router_that_restarts_while_a_mark_changes_leaves_marks_and_matches_right(
    restarting: str,
) -> None:
    rng = random.Random(f"{restarting}/restart")
    net = quiet("amsp", QUICK)
    do(net, "p", "advertise", "x any integer", 1)
    do(net, "s", "subscribe", "x = 0", 1)
    net.converge(within_ns=2 * SECOND)
    for _ in range(3):
        until_a_mark_changes(net)
        net.kill(restarting)
        net.run(rng.choice([10 * MS, 2 * SECOND]))
        net.start(restarting)
        net.converge(within_ns=20 * SECOND)
        hold_at_the_end(net, QUICK)
        net.run(5 * SECOND)  # so that rates go down, and marks back
        net.converge(within_ns=20 * SECOND)
        hold_at_the_end(net, QUICK)
    before = delivered(net)
    publish(net, 0)
    assert delivered(net) == before + 1

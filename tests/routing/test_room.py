"""What a client may hold at most: what is more is refused by name, and taken when there is room."""

from __future__ import annotations

import random

import pytest

from nodes.config import LimitConfig
from nodes.model import parse_predicate
from nodes.routing.holdings import RECORD_BYTES, Size
from nodes.routing.room import Waiting
from nodes.wire.codec import encode_predicate
from nodes.wire.packets import ALL_REFUSED, NAMES_KEPT, Refused
from tests.routing.fabric import SECOND, Network, configure, line

THREE = {
    "filters_per_neighbour": LimitConfig(filters_per_neighbour=3),
    "constraints_per_neighbour": LimitConfig(constraints_per_neighbour=3),
    "bytes_per_neighbour": LimitConfig(
        bytes_per_neighbour=3 * (RECORD_BYTES + len(encode_predicate(parse_predicate("x = 1"))))
    ),
}
REASONS = {
    "filters_per_neighbour": "too_many_filters",
    "constraints_per_neighbour": "too_many_constraints",
    "bytes_per_neighbour": "too_much_held",
}
LIMITS = pytest.mark.parametrize("setting", THREE)


def network(limits: LimitConfig) -> Network:
    net = Network(configure(line(2), {"c1": 1, "c2": 2}, limits=limits), 1)
    net.converge()
    return net


def subscribe(net: Network, text: str, number: int, client: str = "c1") -> None:
    net.client(client).core.subscribe(net.now_ns, parse_predicate(text), number)
    net.after(client)


def unsubscribe(net: Network, number: int) -> None:
    net.client("c1").core.unsubscribe(net.now_ns, number)
    net.after("c1")


def refused(net: Network) -> list[int]:
    """The subscriptions of c1 that are not taken."""
    core = net.client("c1").core
    return [number for number in core.held if core.why_refused(number) is not None]


def logged(net: Network, event: str, name: str) -> list[dict[str, object]]:
    return [dict(log.fields) for _, node, log in net.logs if (node, log.event) == (name, event)]


def delivered(net: Network, **message: int) -> bool:
    """Whether c1 is delivered what c2 publishes."""
    before = net.client("c1").core.status()["delivered"]
    net.client("c2").core.publish(net.now_ns, message)
    net.after("c2")
    net.run(SECOND)
    return net.client("c1").core.status()["delivered"] != before


@LIMITS
def test_what_is_more_is_refused_by_name_and_the_rest_is_held_and_the_network_converges(setting: str) -> None:
    net = network(THREE[setting])
    for number in range(1, 6):
        subscribe(net, f"x = {number}", number)
    net.converge()
    core = net.client("c1").core
    assert refused(net) == [4, 5]
    assert setting in str(core.why_refused(4))
    assert "r1 does not take the subscription" in str(core.why_refused(4))
    told = [(each["reason"], each["subscription"]) for each in logged(net, "refused", "c1")]
    assert told == [("subscription_over_limit", 4), ("subscription_over_limit", 5)]
    assert core.status()["over_limit"] == {"subscription": 2}
    assert core.status()["not_permitted"] == {}
    assert net.router("r1").status()["drops"] == {REASONS[setting]: 2}
    assert [each["setting"] for each in logged(net, REASONS[setting], "r1")] == [f"limits.{setting}"]
    assert [delivered(net, x=number) for number in range(1, 6)] == [True, True, True, False, False]


@LIMITS
def test_when_there_is_room_it_is_taken_without_being_asked_for_again(setting: str) -> None:
    net = network(THREE[setting])
    for number in range(1, 7):
        subscribe(net, f"x = {number}", number)
    net.converge()
    unsubscribe(net, 1)
    net.converge()
    assert refused(net) == [5, 6]
    assert delivered(net, x=4)
    unsubscribe(net, 3)
    unsubscribe(net, 2)
    net.converge()
    assert refused(net) == []
    assert [delivered(net, x=number) for number in range(1, 7)] == [False, False, False, True, True, True]
    assert net.client("c1").core.status()["over_limit"] == {}


def test_what_is_smaller_in_the_place_of_another_makes_room_too() -> None:
    net = network(THREE["filters_per_neighbour"])
    subscribe(net, "x = 1 or x = 2 or x = 3", 1)
    subscribe(net, "x = 4", 2)
    net.converge()
    assert refused(net) == [2]
    subscribe(net, "x = 1", 1)
    net.converge()
    assert refused(net) == []


def test_what_is_too_much_takes_the_place_of_none() -> None:
    net = network(THREE["filters_per_neighbour"])
    subscribe(net, "x = 1", 1)
    net.converge()
    subscribe(net, "x = 1 or x = 2 or x = 3 or x = 4", 1)
    net.converge()
    assert refused(net) == [1]
    assert not delivered(net, x=1)


def test_what_was_refused_and_withdrawn_is_not_offered_room() -> None:
    net = network(THREE["filters_per_neighbour"])
    for number in range(1, 6):
        subscribe(net, f"x = {number}", number)
    unsubscribe(net, 4)  # before the router has answered
    net.converge()
    unsubscribe(net, 1)
    net.converge()
    assert refused(net) == []
    assert net.client("c1").core.held == (2, 3, 5)
    assert "unknown_subscription" not in net.router("r1").status()["drops"]  # type: ignore[operator]


def test_a_smaller_one_is_taken_although_an_earlier_one_does_not_fit() -> None:
    net = network(THREE["filters_per_neighbour"])
    subscribe(net, "x = 1 or x = 2", 1)
    subscribe(net, "x = 3", 2)
    subscribe(net, "x = 4 or x = 5", 3)
    subscribe(net, "x = 6", 4)
    net.converge()
    unsubscribe(net, 2)
    net.converge()
    assert refused(net) == [3]


def test_advertisements_are_refused_and_taken_likewise() -> None:
    net = network(THREE["filters_per_neighbour"])
    core = net.client("c1").core
    for number in range(1, 6):
        core.advertise(net.now_ns, parse_predicate(f"x = {number}"), number)
    net.after("c1")
    net.converge()
    assert core.status()["over_limit"] == {"advertisement": 2}
    assert "r1 does not take the advertisement" in str(core.why_not_advertised(5))
    core.unadvertise(net.now_ns, 1)
    net.after("c1")
    net.converge()
    assert [core.why_not_advertised(number) is None for number in range(2, 6)] == [True, True, True, False]


def test_what_one_client_holds_takes_no_room_of_another() -> None:
    net = Network(configure(line(2), {"c1": 1, "c2": 1}, limits=THREE["filters_per_neighbour"]), 1)
    net.converge()
    for number in range(1, 10):
        subscribe(net, f"x = {number}", number)
    for number in range(1, 4):
        subscribe(net, f"x = {number}", number, "c2")
    net.converge()
    assert net.client("c2").core.status()["over_limit"] == {}


def test_after_the_router_has_come_back_what_was_refused_is_asked_for_again() -> None:
    net = network(THREE["filters_per_neighbour"])
    for number in range(1, 6):
        subscribe(net, f"x = {number}", number)
    net.converge()
    net.kill("r1")
    net.run(5 * SECOND)
    unsubscribe(net, 1)
    net.start("r1")
    net.converge()
    assert refused(net) == [5]


def test_of_more_than_the_router_keeps_the_names_all_are_taken_in_the_end() -> None:
    most = 600
    net = network(LimitConfig(filters_per_neighbour=most))
    count = NAMES_KEPT + 2 * most
    for number in range(1, count + 1):
        subscribe(net, f"x = {number}", number)
    net.converge()
    assert len(refused(net)) == count - most
    core = net.client("c1").core
    while refused(net):
        for number in [n for n in core.held if core.why_refused(n) is None]:
            core.unsubscribe(net.now_ns, number)
        net.after("c1")
        left = len(refused(net))
        net.converge()
        assert len(refused(net)) == max(0, left - most)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_refused_that_would_fit(seed: int) -> None:
    rng, most = random.Random(seed), 12
    net = network(LimitConfig(filters_per_neighbour=most))
    core = net.client("c1").core
    sizes: dict[int, int] = {}
    for _ in range(120):
        number = rng.randrange(1, 12)
        if number in sizes and rng.random() < 0.5:
            del sizes[number]
            unsubscribe(net, number)
        else:
            sizes[number] = rng.randrange(1, 6)
            subscribe(net, " or ".join(f"x = {10 * number + n}" for n in range(sizes[number])), number)
        if rng.random() < 0.3:
            net.run(SECOND // 100)
        if rng.random() < 0.1:
            net.converge()
            free = most - sum(size for n, size in sizes.items() if core.why_refused(n) is None)
            assert free >= 0, f"seed {seed}"
            assert all(sizes[number] > free for number in refused(net)), f"seed {seed}"


def test_of_what_waits_only_what_fits_together_is_offered() -> None:
    waiting = Waiting()
    for number, filters in enumerate((5, 2, 4, 1), 1):
        waiting.add(Refused(number, 0), Size(filters, filters, 100))
    assert list(waiting.fitting(Size(0, 10, 1000))) == []
    assert [each.number for each in waiting.fitting(Size(4, 4, 1000))] == [2, 4]
    assert list(waiting.fitting(Size(4, 4, 1000))) == []
    assert waiting.remove(2)
    assert waiting.remove(4)
    assert [each.number for each in waiting.fitting(Size(9, 9, 199))] == [1]
    assert waiting.remove(3)
    assert not waiting.remove(3)
    assert list(waiting.fitting(Size(100, 100, 10_000))) == []


def test_all_is_offered_once_nothing_is_left_of_which_the_name_is_known() -> None:
    waiting = Waiting()
    for number in range(NAMES_KEPT + 1):
        waiting.add(Refused(number, 0), Size(1, 1, 1))
    assert len(list(waiting.fitting(Size(10, 10, 10)))) == 10
    assert list(waiting.fitting(Size(NAMES_KEPT, NAMES_KEPT, NAMES_KEPT)))[-1] == ALL_REFUSED
    assert list(waiting.fitting(Size(NAMES_KEPT, NAMES_KEPT, NAMES_KEPT))) == []

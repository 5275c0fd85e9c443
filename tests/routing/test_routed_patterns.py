"""Patterns that routers recognise: how they are taken apart, who is asked, and what clients are told.

s - r1 - r2 - r3 - a        the chain; b hangs off r2

s - r1 - r2 - r3 - a        the tree
          |
          r4 - b
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from fastpath.wire.codec import encode_match
from nodes.config import LimitConfig
from nodes.model import matches, parse_pattern, parse_predicate
from nodes.wire.codec import encode
from nodes.wire.packets import Kind, Message
from tests.routing.fabric import MS, SECOND, Conditions, random_graph, ring
from tests.routing.pattern_networks import (
    ALARM,
    CHAIN,
    HALF,
    SCHEMES,
    TREE,
    PatternNetwork,
    X,
    Y,
    chain,
    counts,
    drawn_pattern,
    pattern_network,
    tree,
)

BOTH = "([x = 1] then [x = 2]) and [y = 1] within 5s"


in_every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


@in_every_scheme
def test_on_a_chain_a_pattern_goes_whole_to_the_router_of_its_messages(scheme: str) -> None:
    net = chain(scheme)
    net.seek("s", ALARM)
    assert net.asked("r1") == [f"pattern 1 of r1-eth1: {ALARM}: asks r1-eth0 for {ALARM}"]
    assert [line.split(": ", 1)[1] for line in net.asked("r2")] == [f"{ALARM}: asks r2-eth1 for {ALARM}"]
    assert [line.rsplit(": ", 1)[1] for line in net.asked("r3")] == [
        "subscribes to [x = 1]",
        "subscribes to [x = 2]",
    ]
    assert [counts(net, f"r{n}")["monitors"] for n in (1, 2, 3)] == [0, 0, 1]
    net.publish("a", "x = 1", "x = 3", "x = 2", "x = 2")
    net.run(SECOND)
    assert net.matches("s") == net.reference("s", ALARM)
    assert len(net.matches("s")) == 2
    assert net.told[0].contents == ({"x": 1}, {"x": 2})


@in_every_scheme
def test_messages_that_belong_to_no_match_do_not_leave_the_router_that_recognises(scheme: str) -> None:
    net = chain(scheme)
    net.seek("s", ALARM)
    before = net.wires["r3", 0].datagrams
    net.publish("a", *["x = 2"] * 20, apart_ns=MS)
    assert net.wires["r3", 0].datagrams - before <= 2, "hellos at most"


@in_every_scheme
def test_where_the_ways_part_a_sub_pattern_is_delegated_and_the_rest_subscribed_to(scheme: str) -> None:
    net = tree(scheme)
    net.seek("s", BOTH)
    assert net.asked("r1") == [f"pattern 1 of r1-eth1: {BOTH}: asks r1-eth0 for {BOTH}"]
    assert [line.split(f"{BOTH}: ")[1] for line in net.asked("r2")] == [
        f"asks r2-eth1 for {HALF}",
        "subscribes to [y = 1]",
    ]
    assert [line.split(": ")[1] for line in net.asked("r3")] == [HALF, HALF]
    assert net.asked("r4") == []
    net.publish("a", "x = 1", "x = 2")
    net.publish("b", "y = 2", "y = 1")
    net.publish("a", "x = 2")
    net.run(SECOND)
    assert net.matches("s") == net.reference("s", BOTH)
    assert len(net.matches("s")) == 2


@in_every_scheme
def test_a_part_that_two_provide_is_subscribed_to_and_not_delegated(scheme: str) -> None:
    net = tree(scheme, a=X, b=X)
    net.seek("s", ALARM)
    assert [line.split(": ", 2)[2] for line in net.asked("r2")] == [
        "subscribes to [x = 1]",
        "subscribes to [x = 2]",
    ]
    net.publish("a", "x = 1")
    net.publish("b", "x = 2", "x = 1")
    net.publish("a", "x = 2")
    net.run(SECOND)
    assert net.matches("s") == net.reference("s", ALARM)
    assert len(net.matches("s")) == 3


@in_every_scheme
def test_a_pattern_waits_for_parts_that_nobody_provides_and_subscribes_to_nothing(scheme: str) -> None:
    net = chain(scheme)
    pattern = "[x = 1] then [z = 1] within 5s"
    net.seek("s", pattern)
    assert net.asked("r1") == [f"pattern 1 of r1-eth1: {pattern}: waits for [z = 1]"]
    assert (counts(net, "r1")["waiting"], counts(net, "r1")["lacking"]) == (1, ["[z = 1]"])
    assert net.asked("r2") == net.asked("r3") == []
    assert all("monitors:" not in net.router(f"r{n}").tables() for n in (1, 2, 3))
    net.core("b").advertise(net.now_ns, parse_predicate("z any integer"))
    net.after("b")
    net.converge()
    net.publish("a", "x = 1")
    net.publish("b", "z = 1")
    net.run(SECOND)
    assert net.matches("s") == net.reference("s", pattern) != []


@in_every_scheme
def test_a_provider_that_leaves_is_asked_no_more_and_what_others_sent_is_kept(scheme: str) -> None:
    pattern = "[x = 1] and [y = 1] within 5s"
    net = pattern_network(TREE, {"s": 1, "a": 3, "b": 4, "c": 2}, {"a": X, "b": Y, "c": Y}, scheme)
    net.seek("s", pattern)
    net.publish("a", "x = 1")
    net.run(SECOND)
    net.core("b").unadvertise(net.now_ns, 1)
    net.after("b")
    net.converge()
    net.publish("c", "y = 1")
    net.run(SECOND)
    assert net.matches("s") == net.reference("s", pattern) != []
    net.core("c").unadvertise(net.now_ns, 1)
    net.after("c")
    net.converge()
    assert net.asked("r1") == [f"pattern 1 of r1-eth1: {pattern}: waits for [y = 1]"]
    assert net.asked("r2") == []


@in_every_scheme
def test_what_is_withdrawn_leaves_nothing_behind(scheme: str) -> None:
    net = tree(scheme)
    tables = [net.router(f"r{n}").tables() for n in range(1, 5)]
    for number in net.seek("s", ALARM, BOTH):
        net.core("s").unsubscribe_pattern(net.now_ns, number)
    net.after("s")
    net.converge()
    net.run(SECOND)
    assert [net.router(f"r{n}").tables() for n in range(1, 5)] == tables
    assert all(
        not any(counts(net, f"r{n}")[what] for what in ("sought", "requests", "monitors")) for n in (1, 2, 3)
    )


def test_equal_requests_of_several_patterns_are_one() -> None:
    net = pattern_network(TREE, {"s": 1, "t": 1, "a": 3, "b": 4}, {"a": X, "b": Y})
    net.seek("s", ALARM)
    net.seek("t", ALARM, f"{ALARM} pairing first")
    assert counts(net, "r1")["requests"] == 2
    assert counts(net, "r3")["monitors"] == 2
    net.publish("a", "x = 1", "x = 2", "x = 2")
    net.run(SECOND)
    assert len(net.matches("s")) == len(net.matches("t", 1)) == 2
    assert net.matches("t", 2) == net.reference("t", f"{ALARM} pairing first")


@in_every_scheme
def test_nobody_is_told_of_its_own_messages(scheme: str) -> None:
    net = pattern_network(CHAIN, {"s": 1, "a": 3, "t": 1}, {"s": X, "a": X}, scheme)
    net.seek("s", ALARM)
    net.seek("t", ALARM)
    net.publish("s", "x = 1")
    net.publish("a", "x = 1")
    net.publish("s", "x = 2")
    net.publish("a", "x = 2")
    net.run(SECOND)
    assert net.matches("s") == net.reference("s", ALARM)
    assert net.matches("t") == net.reference("t", ALARM)
    assert (len(net.matches("s")), len(net.matches("t"))) == (1, 4)


@in_every_scheme
def test_around_a_ring_requests_go_towards_the_messages_and_end_there(scheme: str) -> None:
    net = pattern_network(ring(6), {"s": 1, "a": 4, "b": 3}, {"a": X, "b": Y}, scheme)
    net.seek("s", ALARM, BOTH)
    assert sum(int(str(counts(net, f"r{n}")["monitors"])) for n in range(1, 7)) == 3
    net.publish("a", "x = 1", "x = 2")
    net.publish("b", "y = 1")
    net.run(SECOND)
    assert net.matches("s", 1) == net.reference("s", ALARM) != []
    assert net.matches("s", 2) == net.reference("s", BOTH) != []


@in_every_scheme
def test_a_router_that_crashes_is_told_again_and_recognises_what_comes_then(scheme: str) -> None:
    net = tree(scheme)
    net.seek("s", BOTH)
    net.kill("r2")
    net.run(3 * SECOND)
    assert net.asked("r1") == [f"pattern 1 of r1-eth1: {BOTH}: waits for [x = 1], [x = 2], [y = 1]"]
    net.start("r2")
    net.run(100 * MS)
    net.converge()
    net.run(6 * SECOND)
    net.published.clear()
    net.publish("a", "x = 1", "x = 2")
    net.publish("b", "y = 1")
    net.run(SECOND)
    assert net.matches("s") == net.reference("s", BOTH) != []


def test_a_client_that_comes_back_is_told_again_what_it_seeks_then() -> None:
    net = tree()
    net.seek("s", ALARM)
    net.kill("s")
    net.run(5 * SECOND)
    assert net.asked("r1") == net.asked("r3") == []
    net.start("s")
    net.run(100 * MS)
    net.converge()
    net.seek("s", BOTH)
    net.publish("a", "x = 1", "x = 2")
    net.publish("b", "y = 1")
    net.run(SECOND)
    assert net.matches("s") == net.reference("s", BOTH) != []


def test_links_that_repeat_and_reorder_change_nothing() -> None:
    unkind = Conditions(jitter_ns=30 * MS, duplicate=0.3)
    net = pattern_network(TREE, {"s": 1, "a": 3, "b": 4}, {"a": X, "b": Y}, conditions=unkind)
    pattern = f"{BOTH} wait 2s"
    net.seek("s", pattern)
    rng = random.Random(7)
    for _ in range(60):
        net.publish(
            *rng.choice([("a", "x = 1"), ("a", "x = 2"), ("b", "y = 1")]), apart_ns=rng.randrange(90) * MS
        )
    net.run(9 * SECOND)
    assert net.matches("s") == net.reference("s", pattern)
    assert len(net.matches("s")) > 100


@in_every_scheme
@pytest.mark.parametrize("seed", range(6))
def test_what_is_told_is_what_the_reference_tells_over_drawn_networks(scheme: str, seed: int) -> None:
    print(f"again with: seed {seed}, scheme {scheme}")
    rng = random.Random(f"routed patterns/{seed}")
    routers = rng.randint(2, 7)
    clients = {f"{role}{n}": rng.randint(1, routers) for role in "ps" for n in range(2)}
    values = {name: rng.sample(range(5), rng.randint(1, 3)) for name in clients if name != "s0"}
    advertise = {name: " or ".join(f"x = {value}" for value in each) for name, each in values.items()}
    edges = random_graph(rng, routers, rng.randint(0, 4))
    net = pattern_network(edges, clients, advertise, scheme, seed=seed)
    sought = {name: [drawn_pattern(rng, range(5)) for _ in range(3)] for name in ("s0", "s1")}
    for name, patterns in sought.items():
        net.seek(name, *patterns)
    for _ in range(40):
        name = rng.choice(sorted(values))
        net.publish(name, f"x = {rng.choice(values[name])}", apart_ns=rng.randrange(1, 120) * MS)
    net.run(3 * SECOND)
    for name, patterns in sought.items():
        for number, pattern in enumerate(patterns, 1):
            assert net.matches(name, number) == net.reference(name, pattern), pattern
    assert all(not counts(net, f"r{n}")["unused"] for n in range(1, routers + 1))


BAD = {
    "no pattern": (b"\0\0\0\1[x = ", "malformed_payload"),
    "another form of one": (b"\0\0\0\1[x=1] then [x=2] within 5s", "malformed_payload"),
    "no window": (b"\0\0\0\1[x = 1] then [x = 2]", "malformed_payload"),
    "no text": (b"\0\0\0\1", "malformed_payload"),
    "more than fits": (b"\0\0\0\1[x = 1] or [x = 2] or [x = 333333333333333333]", "oversize_pattern"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_pattern_is_dropped_and_counted(name: str) -> None:
    payload, reason = BAD[name]
    net = chain(limits=LimitConfig(pattern_bytes=40))
    net.core("s").link.send(net.now_ns, Kind.SUBSCRIBE_PATTERN, payload)
    net.after("s")
    net.run(SECOND)
    assert net.router("r1").status()["drops"] == {reason: 1}
    assert net.asked("r1") == []


def test_matches_and_withdrawals_that_nobody_asked_for_are_dropped_and_counted() -> None:
    net = chain()
    link = net.core("s").link
    link.send(net.now_ns, Kind.UNSUBSCRIBE_PATTERN, b"\0\0\0\7")
    link.send(net.now_ns, Kind.MATCH, b"\0\0\0\7")
    net.after("s")
    net.run(SECOND)
    assert net.router("r1").status()["drops"] == {"unexpected_kind": 1, "unknown_pattern": 1}


def test_forged_matches_of_a_neighbour_are_dropped_and_counted() -> None:
    net = chain()
    net.seek("s", ALARM, BOTH)
    link = next(each for each in net.router("r2").links if each.interface.peer_name == "r1")
    packet = encode(Message(9, 1, net.now_ns, {"x": 1}))
    known = int(next(line for line in net.asked("r2") if "asks" in line).split()[1])
    link.send(net.now_ns, Kind.MATCH, encode_match(known, [packet] * 40))
    link.send(net.now_ns, Kind.MATCH, encode_match(77_777, [packet]))
    link.send(net.now_ns, Kind.MATCH, b"\0\0\0\1" + packet[:-1])
    net.after("r2")
    net.run(SECOND)
    assert net.router("r1").status()["drops"] == {"malformed_payload": 2, "unknown_pattern": 1}
    assert net.told == []


def test_matches_from_the_future_or_long_past_are_not_used_by_who_delegated() -> None:
    net = tree()
    net.seek("s", BOTH)
    net.run(3 * SECOND)
    net.publish("b", "y = 1")
    net.run(SECOND)
    link = next(each for each in net.router("r3").links if each.interface.peer_name == "r2")
    number = int(net.asked("r3")[0].split()[1])
    for late_ns in (-3600 * SECOND, 2 * SECOND):
        packets = [encode(Message(9, n, net.now_ns - late_ns, {"x": n})) for n in (1, 2)]
        link.send(net.now_ns, Kind.MATCH, encode_match(number, packets))
    net.after("r3")
    net.run(SECOND)
    assert counts(net, "r2")["unused"] == {"ahead": 1, "late": 1}
    assert net.told == []


def test_a_network_is_settled_while_matches_are_on_their_way_and_recognising_until_they_arrive() -> None:
    net = chain()
    net.seek("s", ALARM)
    assert not any(net.router(f"r{n}").recognising for n in (1, 2, 3))
    net.publish("a", "x = 1", "x = 2", apart_ns=MS)
    net.run(98 * MS)
    while not net.router("r3").recognising or net.router("r3").patterns.next_deadline() is not None:
        net.run(MS // 4)
    assert net.router("r3").settled
    assert net.router("r3").links[0].quiet
    assert not net.router("r3").links[0].idle
    net.run(SECOND)
    assert not any(net.router(f"r{n}").recognising for n in (1, 2, 3))
    assert len(net.matches("s")) == 1


def test_a_client_that_takes_no_matches_makes_its_router_drop_them_and_hold_no_more_than_so_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nodes.routing.patterns.WAITING_MAX", 10)
    net = chain()
    net.seek("s", ALARM)
    net.cut("r1", "s")
    net.publish("a", *["x = 1"] * 10, *["x = 2"] * 10, apart_ns=MS)
    net.run(SECOND)
    link = net.router("r1").links[1]
    assert link.waiting <= 10
    held = net.configs["r1"].limits.window_packets + link.waiting
    assert net.router("r1").status()["drops"]["match_overflow"] == len(net.reference("s", ALARM)) - held
    net.cut("r1", "s", down=False)
    net.run(SECOND)
    assert set(net.matches("s")) <= set(net.reference("s", ALARM))


def test_without_the_option_a_pattern_is_of_an_unexpected_kind() -> None:
    net = chain()
    configs = net.configs
    plain = {"advertisements": True}
    union = {name: replace(config, scheme_options=plain) for name, config in configs.items()}
    net = PatternNetwork(union, 1)
    net.converge()
    net.core("s").link.send(net.now_ns, Kind.SUBSCRIBE_PATTERN, b"\0\0\0\1" + ALARM.encode())
    net.after("s")
    net.run(SECOND)
    assert net.router("r1").status()["drops"] == {"unexpected_kind": 1}


@in_every_scheme
@pytest.mark.parametrize("seed", range(4))
def test_after_any_changes_a_network_that_has_settled_tells_what_the_reference_tells(
    scheme: str, seed: int
) -> None:
    print(f"again with: seed {seed}, scheme {scheme}")
    rng = random.Random(f"routed patterns, changes/{seed}")
    routers = rng.randint(3, 6)
    clients = {f"{role}{n}": rng.randint(1, routers) for role in "ps" for n in range(2)}
    edges = random_graph(rng, routers, rng.randint(1, 4))
    net = pattern_network(edges, clients, {"p0": "x < 3", "p1": "x > 1"}, scheme, seed=seed)
    churn = Churn(net, rng, sorted(clients), routers)
    for _ in range(3):
        for _ in range(12):
            churn.step()
        churn.repair()
        net.run(2 * SECOND)
        net.published.clear()
        net.told.clear()
        for _ in range(25):
            churn.publish()
        net.run(2 * SECOND)
        churn.check()


class Churn:
    """Clients that change their minds while routers and links come and go."""

    def __init__(self, net: PatternNetwork, rng: random.Random, clients: list[str], routers: int) -> None:
        self.net, self.rng, self.clients = net, rng, clients
        self.down: set[str] = set()
        self.cut: set[tuple[str, str]] = set()
        self.sought: dict[tuple[str, int], str] = {}
        self.offered = {("p0", 1): "x < 3", ("p1", 1): "x > 1"}
        self.routers = [f"r{n}" for n in range(1, routers + 1)]

    def step(self) -> None:
        """One change, and a little time."""
        what = self.rng.choice(
            [self.seek, self.seek, self.withdraw, self.advertise, self.unadvertise, self.fault]
        )
        what(self.rng.choice(self.clients))
        self.net.run(self.rng.randrange(1, 400) * MS)

    def seek(self, client: str) -> None:
        text = drawn_pattern(self.rng, range(5))
        number = self.net.core(client).subscribe_pattern(self.net.now_ns, parse_pattern(text))
        self.sought[client, number] = text
        self.net.after(client)

    def withdraw(self, client: str) -> None:
        mine = [number for name, number in self.sought if name == client]
        if mine:
            number = self.rng.choice(mine)
            del self.sought[client, number]
            self.net.core(client).unsubscribe_pattern(self.net.now_ns, number)
            self.net.after(client)

    def advertise(self, client: str) -> None:
        text = f"x = {self.rng.randrange(5)}"
        number = self.net.core(client).advertise(self.net.now_ns, parse_predicate(text))
        self.offered[client, number] = text
        self.net.after(client)

    def unadvertise(self, client: str) -> None:
        mine = [number for name, number in self.offered if name == client]
        if mine:
            number = self.rng.choice(mine)
            del self.offered[client, number]
            self.net.core(client).unadvertise(self.net.now_ns, number)
            self.net.after(client)

    def fault(self, _: str) -> None:
        """A router crashes or comes back, or a link does."""
        if self.rng.random() < 0.5:
            router = self.rng.choice(self.routers)
            (self.start if router in self.down else self.kill)(router)
        else:
            edge = self.rng.choice(
                [
                    (name, peer)
                    for name, at in self.net.wires
                    if (peer := self.net.wires[name, at].target) in self.routers
                ]
            )
            self.cut ^= {edge}
            self.net.cut(*edge, down=edge in self.cut)

    def kill(self, router: str) -> None:
        self.down.add(router)
        self.net.kill(router)

    def start(self, router: str) -> None:
        self.down.discard(router)
        self.net.start(router)

    def repair(self) -> None:
        for router in sorted(self.down):
            self.start(router)
        for edge in sorted(self.cut):
            self.net.cut(*edge, down=False)
        self.cut.clear()
        self.net.run(5 * SECOND)
        self.net.converge(within_ns=120 * SECOND)

    def publish(self) -> None:
        """A message within what its publisher advertises; nothing if that is nothing."""
        client, value = self.rng.choice(self.clients), self.rng.randrange(5)
        texts = [text for (name, _), text in self.offered.items() if name == client]
        if any(matches(parse_predicate(text), {"x": value}) for text in texts):
            self.net.publish(client, f"x = {value}", apart_ns=self.rng.randrange(1, 120) * MS)

    def check(self) -> None:
        """Each match that is there, once, and no other."""
        for (client, number), text in self.sought.items():
            found, expected = self.net.matches(client, number), self.net.reference(client, text)
            assert sorted(found) == sorted(expected), (client, text)
        assert {(each.client, each.pattern) for each in self.net.told} <= self.sought.keys()

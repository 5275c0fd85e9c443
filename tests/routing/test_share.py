"""A neighbour's share of a router's time: who sends more is slowed down, and nobody else notices."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.wire.codec import encode_link_state
from nodes.config import LimitConfig, Neighbours
from nodes.model import parse_predicate
from nodes.routing.effects import Output, Shut
from nodes.routing.share import SECOND_NS, Bucket, Share
from nodes.wire.codec import encode, encode_predicate
from nodes.wire.packets import Ack, Kind
from nodes.wire.seal import KEY_BYTES, seal
from tests.draws import draws
from tests.routing.fabric import MS, SECOND, Conditions, Network, configure, line
from tests.routing.impostor import Impostor
from tests.routing.sealed import sealed

MANY = 400


def network(limits: LimitConfig, clients: dict[str, int], conditions: Conditions | None = None) -> Network:
    net = Network(configure(line(3), clients, limits=limits), 1, conditions or Conditions())
    net.converge()
    return net


def subscribe_to_many(net: Network, client: str) -> None:
    core = net.client(client).core
    for number in range(1, MANY + 1):
        core.subscribe(net.now_ns, parse_predicate(f"x = {number}"), number)
    net.after(client)


def down(net: Network) -> list[str]:
    """Who lost a neighbour at any time."""
    return [name for _, name, log in net.logs if log.event == "adjacency_down"]


@pytest.mark.parametrize("setting", ["control_packets_per_second", "changes_per_second"])
def test_who_sends_more_than_its_share_is_slowed_down_and_loses_nothing(setting: str) -> None:
    free = network(LimitConfig(), {"c1": 1, "c2": 3})
    subscribe_to_many(free, "c1")
    unlimited_ns = free.converge()
    net = network(LimitConfig(**{setting: 100}), {"c1": 1, "c2": 3})
    subscribe_to_many(net, "c1")
    took_ns = net.converge(within_ns=60 * SECOND)
    assert unlimited_ns < SECOND < 2 * SECOND < took_ns
    held = {
        a["peer"]: a["subscriptions"]
        for a in net.router("r1").status()["adjacencies"]
        if "subscriptions" in a
    }  # type: ignore[attr-defined]
    assert held == {"c1": MANY}
    assert net.router("r1").status()["drops"]["over_share"] > 0  # type: ignore[index]
    assert down(net) == []
    logged = [log.fields for _, name, log in net.logs if (name, log.event) == ("r1", "over_share")]
    assert [(each["peer"], each["setting"]) for each in logged] == [("c1", f"limits.{setting}")]


def test_while_one_client_is_slowed_down_another_at_the_same_router_is_not() -> None:
    net = network(LimitConfig(changes_per_second=50), {"c1": 1, "c2": 1})
    subscribe_to_many(net, "c1")
    net.run(200 * MS)
    began_ns = net.now_ns
    other = net.client("c2").core
    other.subscribe(net.now_ns, parse_predicate("y = 1"), 1)
    net.after("c2")
    while other.status()["subscriptions_acknowledged"] != 1 or not other.link.quiet:
        net.run(MS)
        assert net.now_ns - began_ns < SECOND
    assert not net.client("c1").core.link.quiet


def test_a_flood_of_records_costs_a_share_of_looking_and_no_adjacency() -> None:
    """100,000 packets in a second in the name of r1, which says nothing itself meanwhile."""
    share = 500
    net = network(LimitConfig(control_packets_per_second=share), {})
    at = next(i.index for i in net.configs["r2"].interfaces if i.peer_name == "r1")
    impostor = Impostor(net, at, "r2")
    before = net.router("r2").status()["drops"].get("over_share", 0)  # type: ignore[attr-defined]
    taken = 0
    for number in range(100_000):
        if number % 1000 == 0:
            net.now_ns += 10 * MS
        seen = impostor.next
        dropped = net.router("r2").drops["over_share"]
        impostor.send(Kind.LINK_STATE, encode_link_state(1 << 20 | number, 1, ((1, 1),)))
        if net.router("r2").drops["over_share"] > dropped:
            impostor.next = seen  # it was not looked at, so the number is free
        else:
            taken += 1
    assert taken <= 2 * share + 10
    assert net.router("r2").drops["over_share"] - before == 100_000 - taken
    assert down(net) == []
    assert all(a["state"] == "up" for a in net.router("r2").status()["adjacencies"])  # type: ignore[attr-defined]


class Watched(Network):
    """Notes what the shell of a router is told."""

    def see(self, name: str, output: Output) -> None:
        if isinstance(output, Shut):
            self.told.append((name, output.interface, output.shut))

    told: list[tuple[str, int, bool]]


@pytest.mark.parametrize("rate", [1, 7, 100])
def test_the_shell_is_told_once_when_a_link_is_shut_and_once_when_it_opens(rate: int) -> None:
    net = Watched(configure(line(2), {"c1": 1}, limits=LimitConfig(control_packets_per_second=rate)), 1)
    net.told = []
    net.run(10 * SECOND)
    at = next(i.index for i in net.configs["r1"].interfaces if i.peer_name == "c1")
    impostor = Impostor(net, at)
    net.told = []
    for _ in range(200):
        impostor.say(encode(Ack(impostor.ours, impostor.theirs, 0, 16)))
    assert net.told == [("r1", at, True)]
    net.run(3 * SECOND)
    assert net.told == [("r1", at, True), ("r1", at, False)]


def test_a_link_that_was_shut_opens_with_a_tenth_of_a_second() -> None:
    share = Share(LimitConfig(control_packets_per_second=100))
    for _ in range(100):
        assert not share.look(SECOND_NS)
        share.count_packet()
    assert share.look(SECOND_NS)
    assert share.shut_by == "limits.control_packets_per_second"
    assert share.opens_at == SECOND_NS + SECOND_NS // 10
    assert not share.look(share.opens_at - 1)
    assert share.look(share.opens_at)
    assert share.shut_by is None


@pytest.mark.parametrize("mode", [Neighbours.PERMISSIVE, Neighbours.REQUIRED])
def test_forged_packets_use_up_nothing_of_the_share_of_a_neighbour_that_seals(mode: Neighbours) -> None:
    limits = LimitConfig(control_packets_per_second=20, changes_per_second=20)
    net = Network(sealed(configure(line(3), {"c1": 1}, limits=limits), mode), 1)
    net.converge()
    at = next(i for i in net.configs["r1"].interfaces if i.peer_name == "c1")
    forged = seal(encode(Ack(1, 2, 0, 16)), bytes(KEY_BYTES), at.keys[0].key_id, 1)
    for _ in range(2_000):
        net.router("r1").receive(net.now_ns, at.index, forged)
    net.after("r1")
    core = net.client("c1").core
    core.subscribe(net.now_ns, parse_predicate("x = 1"))
    net.after("c1")
    began_ns = net.now_ns
    net.converge()
    assert net.now_ns - began_ns < SECOND
    drops = net.router("r1").status()["drops"]
    assert drops["wrong_seal"] == 2_000  # type: ignore[index]
    assert "over_share" not in drops  # type: ignore[operator]
    assert down(net) == []


def test_hellos_are_not_counted_and_acknowledgements_are() -> None:
    net = network(LimitConfig(control_packets_per_second=1), {"c1": 1})
    at = next(i.index for i in net.configs["r1"].interfaces if i.peer_name == "c1")
    net.run(60 * SECOND)
    assert down(net) == []
    impostor = Impostor(net, at)
    for _ in range(5):
        impostor.say(encode(Ack(impostor.ours, impostor.theirs, 0, 16)))
    assert net.router("r1").drops["over_share"] >= 4


def test_what_is_too_short_to_have_a_type_is_malformed_and_counts_against_nobody() -> None:
    net = network(LimitConfig(control_packets_per_second=5), {"c1": 1})
    router = net.router("r1")
    for packet in (b"", b"\1", b"\1\3"):
        for _ in range(20):
            router.receive(net.now_ns, 0, packet)
    net.after("r1")
    assert router.status()["drops"]["malformed"] >= 20  # type: ignore[index]
    net.run(5 * SECOND)
    assert down(net) == []


def test_a_large_payload_counts_as_several_changes() -> None:
    net = network(LimitConfig(changes_per_second=10), {"c1": 1})
    wide = " or ".join(f'x = {n} and k = "{"a" * 100}"' for n in range(200))
    assert len(encode_predicate(parse_predicate(wide))) > 20 * 1024
    core = net.client("c1").core
    core.subscribe(net.now_ns, parse_predicate(wide))
    net.after("c1")
    net.run(200 * MS)
    core.subscribe(net.now_ns, parse_predicate("y = 1"))
    net.after("c1")
    net.run(200 * MS)
    assert not core.link.quiet
    net.converge(within_ns=20 * SECOND)
    assert core.status()["subscriptions_acknowledged"] == 2


@settings(max_examples=draws(400), deadline=None)
@given(st.integers(1, 50), st.lists(st.tuples(st.integers(0, SECOND_NS), st.integers(1, 20)), max_size=60))
def test_in_no_time_is_more_taken_than_comes_back_in_it_and_one_second_more(
    rate: int, steps: list[tuple[int, int]]
) -> None:
    bucket, now_ns, taken = Bucket(rate), 10**18, []
    for wait_ns, tokens in steps:
        now_ns += wait_ns
        if bucket.has_some(now_ns):
            bucket.take(1)
            taken.append(now_ns)
            bucket.take(tokens - 1)
    for first, begin_ns in enumerate(taken):
        for last, end_ns in enumerate(taken[first:], first):
            assert last - first + 1 <= rate + 1 + rate * (end_ns - begin_ns) / SECOND_NS


def test_without_a_rate_there_is_always_a_token() -> None:
    bucket = Bucket(0)
    for now_ns in (0, 1, 10**18):
        bucket.take(10**9)
        assert bucket.has_some(now_ns)

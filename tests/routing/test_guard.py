"""Neighbours that prove who they are: what is refused, what is not, and what attackers come to."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.config import Action, Neighbours
from nodes.model import parse_predicate
from nodes.routing.adjacency import State
from nodes.routing.effects import Reason
from nodes.routing.guard import WINDOW, Guard, Window
from nodes.wire.codec import encode
from nodes.wire.packets import Hello, Kind, Role
from tests.routing.fabric import (
    EPOCH_NS,
    SECOND,
    Conditions,
    Network,
    configure,
    line,
    random_graph,
    ring,
    split,
)
from tests.routing.impostor import Impostor
from tests.routing.sealed import key_of, sealed, sealed_node
from tests.routing.workload import delivered, owed, scripts, start
from tests.wire.payloads import Interest, LinkState, encode_payload

SEALED_TYPES = (2, 3, 4)
WANTS = [Action(-1, "subscribe", 1, "x > 1")]
SEEDS = pytest.mark.parametrize("seed", range(4))
MODES = pytest.mark.parametrize("mode", [Neighbours.PERMISSIVE, Neighbours.REQUIRED], ids=str)


def network(mode: Neighbours = Neighbours.REQUIRED) -> Network:
    found = Network(sealed(configure(ring(3), {"c1": 1}), mode), 1, scripts={"c1": WANTS})
    found.converge(within_ns=SECOND)
    found.run(SECOND)
    return found


def known(net: Network) -> list[tuple[object, ...]]:
    """All that routing depends on at any router."""
    keys = ("link_state_digest", "interest_digest", "routers_known", "fib_serial", "settled")
    routers = [net.router(name) for name in ("r1", "r2", "r3")]
    return [(*(router.status()[key] for key in keys), router.tables()) for router in routers]


def drops(net: Network, name: str = "r1") -> dict[str, int]:
    return dict(net.router(name).drops)


# Counters.


@given(st.lists(st.integers(0, 3 * WINDOW), max_size=60))
def test_a_counter_is_known_exactly_if_it_came_or_is_too_old(counters: list[int]) -> None:
    window, came = Window(), set[int]()
    for counter in counters:
        highest = max(came, default=0)
        assert window.has(counter) == (counter in came or highest - counter >= WINDOW)
        if not window.has(counter):
            window.add(counter)
            came.add(counter)


# What goes on as before.


@SEEDS
@MODES
def test_sealed_networks_deliver_what_is_owed_over_links_that_lose_double_and_reorder(
    seed: int, mode: Neighbours
) -> None:
    rng = random.Random(seed)
    clients = {f"c{n}": rng.randrange(1, 7) for n in range(1, 5)}
    configs = sealed(configure(random_graph(rng, 6, 3), clients), mode)
    bad = Conditions(jitter_ns=3_000_000, loss=0.1, duplicate=0.1)
    net = Network(configs, seed, bad, scripts(rng, 4))
    net.converge()
    for wire in net.wires.values():
        wire.conditions = Conditions()
    net.run(5 * SECOND)
    start(net)
    net.run(3 * SECOND)
    assert delivered(net.events) == owed(net.events) != {}
    control = [p for _, _, _, datagram in net.sent for kind, p in split(datagram) if kind in SEALED_TYPES]
    assert all(packet[4] & 1 for packet in control)


def test_a_sealed_packet_fits_the_link() -> None:
    """`Network.transmit` holds every datagram to the link's size; here payloads have many fragments."""
    many = [Action(-1, "subscribe", n, f'name = "{"n" * 200}{n}"') for n in range(1, 60)]
    net = Network(sealed(configure(line(2), {"c1": 1}, mtu=576)), 1, scripts={"c1": many})
    net.converge()
    assert any(len(datagram) == 576 - 28 for _, _, _, datagram in net.sent)


def test_a_network_is_moved_from_off_to_required_node_by_node() -> None:
    off = configure(ring(3), {"c1": 1})
    stages = [
        {**off, "r2": sealed_node(off["r2"], Neighbours.PERMISSIVE)},
        sealed(off, Neighbours.PERMISSIVE),
        {**sealed(off, Neighbours.PERMISSIVE), "r2": sealed_node(off["r2"], Neighbours.REQUIRED)},
        sealed(off),
    ]
    for configs in stages:
        Network(configs, 1, scripts={"c1": WANTS}).converge()


def test_who_does_not_seal_is_no_neighbour_and_the_log_says_why() -> None:
    configs = configure(line(2))
    net = Network({**configs, "r1": sealed_node(configs["r1"], Neighbours.REQUIRED)}, 1)
    net.run(10 * SECOND)
    assert drops(net)[Reason.NO_SEAL] > 10
    assert not any(link.up for name in ("r1", "r2") for link in net.router(name).links)
    told = [log for _, name, log in net.logs if (name, log.event) == ("r1", Reason.NO_SEAL)]
    assert [log.fields["peer"] for log in told] == ["r2"]
    assert "security.neighbours" in str(told[0].fields["why"])


@pytest.mark.parametrize(("numbers", "reason"), [((2,), Reason.UNKNOWN_KEY), ((1,), Reason.WRONG_SEAL)])
def test_other_keys_make_no_neighbours(numbers: tuple[int, ...], reason: Reason) -> None:
    configs = sealed(configure(line(2)))
    one = configs["r1"].interfaces[0]
    key = replace(key_of(configs["r1"], one, 2), key_id=numbers[0])
    configs["r1"] = replace(configs["r1"], interfaces=(replace(one, keys=(key,)),))
    net = Network(configs, 1)
    net.run(5 * SECOND)
    assert drops(net, "r2")[reason] > 5
    assert not any(link.up for link in net.router("r2").links)


def give_keys(net: Network, name: str, *numbers: int) -> None:
    node = net.configs[name]
    for interface in node.interfaces:
        keys = tuple(key_of(node, interface, n) for n in numbers)
        net.cores[name].use_keys(net.now_ns, interface.index, keys)


@SEEDS
def test_keys_are_changed_without_losing_a_neighbour(seed: int) -> None:
    """First both ends take the new key, then each uses it and no other; nodes are told in any order."""
    net, rng = network(), random.Random(seed)
    marks = len(net.logs)
    for numbers in ((1, 2), (2,), (2, 3), (3,), (3, 1), (1,)):
        for name in rng.sample(sorted(net.configs), len(net.configs)):
            give_keys(net, name, *numbers)
            net.run(rng.randrange(SECOND // 4))
    net.run(5 * SECOND)
    assert [log.event for _, _, log in net.logs[marks:]] == []
    assert net.reasons() == []
    assert drops(net) == drops(net, "r2") == drops(net, "r3") == {}


def test_a_key_that_was_replaced_is_taken_for_a_hold_time_and_then_refused() -> None:
    net = network()
    for name in ("r1", "r3", "c1"):
        give_keys(net, name, 1, 2)
        give_keys(net, name, 2)
    net.run(SECOND)
    assert drops(net) == {}, "r2 goes on with the key of before"
    net.run(4 * SECOND)
    assert drops(net)[Reason.UNKNOWN_KEY] > 10
    assert [link.up for link in net.router("r2").links] == [False, False]


def test_keys_that_are_refused_are_not_held() -> None:
    node = sealed_node(configure(line(2))["r1"], Neighbours.REQUIRED)
    guard = Guard(node, node.interfaces[0])
    for number in range(2, 100):
        guard.use(EPOCH_NS + number * 60 * SECOND, (key_of(node, node.interfaces[0], number),))
    assert len(guard._theirs) == 2, "the one in use, and the one of before"
    assert len(guard._ends) == 1


def test_who_has_started_again_is_believed_at_once() -> None:
    net = network()
    net.kill("r2")
    net.run(SECOND)
    net.start("r2")
    assert net.converge() < SECOND


def test_who_has_started_again_with_a_clock_that_was_set_back_is_believed_after_the_hold_time() -> None:
    net = network()
    net.kill("r2")
    node = net.configs["r2"]
    net.start("r2")
    for link in net.router("r2").links:
        link._guard = Earlier(node, link.interface)
    assert SECOND < net.converge() < 6 * SECOND
    assert drops(net)[Reason.REPEATED_SEAL] > 0


class Earlier(Guard):
    """Of a node whose clock is an hour behind what it was."""

    def seal(self, now_ns: int, packet: bytes) -> bytes:
        return super().seal(now_ns - 3600 * SECOND, packet)


# Attacks of somebody who hears all on the link between r1 and r2 and says what he likes, without a key.


def another_life(speaker: Impostor) -> list[bytes]:
    """The neighbour seems to have started again, so r1 gives the session up."""
    return [encode(Hello(Role.ROUTER, 2, 77, 2000, 1, speaker.theirs))]


def links_gone(speaker: Impostor) -> list[bytes]:
    """r2 seems to have no link to r3."""
    return [speaker.packet(Kind.LINK_STATE, encode_payload(LinkState(2, 2**40, ((1, 1),))))]


def invented_interest(speaker: Impostor) -> list[bytes]:
    """r3 seems to want everything."""
    everything = parse_predicate("x any integer")
    return [speaker.packet(Kind.INTEREST, encode_payload(Interest(3, 2**40, everything)))]


def stolen_number(speaker: Impostor) -> list[bytes]:
    """What r2 says next has a number that r1 has taken already."""
    return [speaker.packet(99, b"anything")]


Attack = Callable[[Impostor], list[bytes]]
ATTACKS: list[Attack] = [another_life, links_gone, invented_interest, stolen_number]
EVERY_ATTACK = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: str(attack.__name__))


def attacked(net: Network, attack: Attack) -> bool:
    """Whether r1, or what others learn of it, is changed by it."""
    before, logged = known(net), len(net.logs)
    taken = net.router("r1").links[0]._channel._in.received  # type: ignore[union-attr]
    speaker = Impostor(net, 0)
    for packet in attack(speaker):
        speaker.say(packet)
    link = net.router("r1").links[0]
    changed = link._channel is None or link._channel._in.received != taken
    net.run(SECOND)
    events = {log.event for _, _, log in net.logs[logged:]}
    return changed or known(net) != before or "adjacency_down" in events


@EVERY_ATTACK
def test_without_seals_an_attack_succeeds(attack: Attack) -> None:
    assert attacked(network(Neighbours.OFF), attack)


def test_without_seals_numbers_that_were_stolen_end_the_session_and_the_next_is_right() -> None:
    net = network(Neighbours.OFF)
    speaker = Impostor(net, 0)
    for _ in range(5):
        speaker.send(99, b"anything")
    before = net.router("r2").links[0].incarnation
    net.router("r1").links[0].send(net.now_ns, Kind.RECORD_REQUEST, (7).to_bytes(4, "big"))
    net.after("r1")
    net.run(5 * SECOND)
    assert net.router("r2").links[0].incarnation != before
    assert drops(net, "r2")[Reason.IMPOSSIBLE_ACK] >= 8
    assert net.converge(within_ns=5 * SECOND) < 5 * SECOND


@EVERY_ATTACK
def test_permissive_neighbours_are_attacked_as_well_and_count_it(
    attack: Attack,
) -> None:
    net = network(Neighbours.PERMISSIVE)
    assert attacked(net, attack)
    assert drops(net)[Reason.NO_SEAL] == 1


@EVERY_ATTACK
def test_with_seals_it_changes_nothing(attack: Attack) -> None:
    net = network()
    assert not attacked(net, attack)
    assert drops(net) == {Reason.NO_SEAL: 1}


@pytest.mark.parametrize("mode", [Neighbours.OFF, Neighbours.REQUIRED], ids=str)
def test_a_dead_neighbour_is_kept_alive_by_repeating_it_unless_counters_are_known(mode: Neighbours) -> None:
    net = network(mode)
    hellos = [d for _, name, to, d in net.sent if (name, net.wires[name, to].target) == ("r2", "r1")]
    hello = [d for d in hellos if d[1] == 2][-1]
    net.kill("r2")
    for _ in range(20):
        net.router("r1").receive(net.now_ns, 0, hello)
        net.after("r1")
        net.run(SECOND // 2)
    assert net.router("r1").links[0].up is (mode is Neighbours.OFF)


def test_recorded_packets_of_a_dead_neighbour_begin_no_adjacency() -> None:
    net = network()
    said = [d for _, name, to, d in net.sent if (name, net.wires[name, to].target) == ("r2", "r1")]
    recorded = [packet for datagram in said for _, packet in split(datagram)]
    net.kill("r2")
    net.run(5 * SECOND)
    for packet in recorded:
        net.router("r1").receive(net.now_ns, 0, packet)
        net.after("r1")
    assert net.router("r1").links[0].state is State.DOWN
    assert drops(net) == {Reason.REPEATED_SEAL: len(recorded)}
    assert len(recorded) > 5


def test_what_one_end_sent_is_not_taken_when_it_comes_back() -> None:
    net = network()
    ours = [d for _, name, to, d in net.sent if (name, net.wires[name, to].target) == ("r1", "r2")]
    for datagram in ours:
        for _, packet in split(datagram):
            net.router("r1").receive(net.now_ns, 0, packet)
    net.after("r1")
    assert drops(net).keys() == {Reason.WRONG_SEAL}


def test_repeated_cut_short_and_changed_packets_change_nothing() -> None:
    """Of all that crossed the link, in any order, 20,000 in each way."""
    net = network()
    net.run(3 * SECOND)
    before, logged, rng = known(net), len(net.logs), random.Random(3)
    heard = [d for _, name, to, d in net.sent if (name, net.wires[name, to].target) == ("r2", "r1")]
    packets = [packet for datagram in heard for kind, packet in split(datagram) if kind in SEALED_TYPES]
    assert len(packets) > 20
    for n in range(60_000):
        packet = bytearray(rng.choice(packets))
        if n % 3 == 1:
            packet = packet[: rng.randrange(len(packet))]
        if n % 3 == 2:
            packet[rng.randrange(4, len(packet))] ^= 1 << rng.randrange(8)
        net.router("r1").receive(net.now_ns, 0, bytes(packet))
    net.after("r1")
    net.run(SECOND)
    assert known(net) == before
    refused = {Reason.NO_SEAL, Reason.UNKNOWN_KEY, Reason.WRONG_SEAL, Reason.REPEATED_SEAL, Reason.MALFORMED}
    assert drops(net).keys() <= refused
    assert {log.event for _, _, log in net.logs[logged:]} <= refused
    assert net.reasons() == []

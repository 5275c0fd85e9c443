"""Somebody on a link, without keys: what he hears, repeats and invents."""

from __future__ import annotations

from random import Random

import pytest

from fastpath.seal import MessageSeals
from nodes.attacks.heard import KEPT, Heard
from nodes.attacks.on_path import OnPath
from nodes.config import Messages
from nodes.wire.codec import decode, encode, split_datagram
from nodes.wire.packets import Control, Hello, Kind, Message, Role
from topologies.fault_kinds import KINDS

WAYS = [(do, way) for do in ("replay", "forge") for way in KINDS[do].attacking.ways]  # type: ignore[union-attr]
LINKS = (7).to_bytes(4, "big") + (30).to_bytes(8, "big") + bytes(2)
INTEREST = (7).to_bytes(4, "big") + (40).to_bytes(8, "big") + bytes(4)
FORTH = [
    Hello(Role.ROUTER, 1, 11, 2000, 2, 22),
    Control(Kind.LINK_STATE, 11, 22, 5, 0, 64, True, True, LINKS),
    Control(Kind.INTEREST, 11, 22, 6, 0, 64, True, True, INTEREST),
    Message(9, 100, 1, {"x": 2}),
]
BACK = [Hello(Role.ROUTER, 2, 22, 2000, 1, 11)]


@pytest.fixture
def heard() -> Heard:
    found = Heard()
    for way, packets in enumerate((FORTH, BACK)):
        for packet in packets:
            found.note(way, encode(packet))
    return found


@pytest.mark.parametrize(("do", "way"), WAYS)
def test_who_has_heard_nothing_does_nothing(do: str, way: str) -> None:
    attacker = OnPath(do, [way], Heard(), Random(1))
    assert [attacker.act() for _ in range(20)] == [None] * 20


@pytest.mark.parametrize(("do", "way"), WAYS)
def test_who_has_heard_a_session_acts_in_every_way(do: str, way: str, heard: Heard) -> None:
    attacker = OnPath(do, [way], heard, Random(1))
    acts = [act for act in (attacker.act() for _ in range(40)) if act is not None]
    assert acts
    real = [(0, encode(packet)) for packet in FORTH] + [(1, encode(packet)) for packet in BACK]
    assert all((act in real) == (do == "replay") for act in acts)


def test_what_is_repeated_goes_the_way_it_went(heard: Heard) -> None:
    attacker = OnPath("replay", ["hello"], heard, Random(1))
    assert {attacker.act() for _ in range(40)} == {(0, encode(FORTH[0])), (1, encode(BACK[0]))}


def made(heard: Heard, way: str, go: int = 0) -> list[object]:
    """What is forged in the name of an end."""
    attacker = OnPath("forge", [way], heard, Random(3))
    acts = [act for act in (attacker.act() for _ in range(20)) if act is not None]
    return [decode(packet) for number, packet in acts if number == go]


def test_forged_control_has_the_names_of_the_session_and_the_next_numbers(heard: Heard) -> None:
    found = [packet for packet in made(heard, "number") if isinstance(packet, Control)]
    assert {(packet.incarnation, packet.peer_incarnation) for packet in found} == {(11, 22)}
    assert [packet.sequence for packet in found] == [*range(7, 7 + len(found))]


def test_forged_records_are_newer_than_those_that_were_heard(heard: Heard) -> None:
    for way, kind, newest in (("links", Kind.LINK_STATE, 30), ("withdraw", Kind.INTEREST, 40)):
        found = [packet for packet in made(heard, way) if isinstance(packet, Control)]
        assert {packet.kind for packet in found} == {kind}
        numbers = [int.from_bytes(packet.fragment[4:12], "big") for packet in found]
        assert newest < numbers[0]
        assert numbers == sorted(set(numbers))


def test_a_forged_message_has_a_number_that_its_client_will_use(heard: Heard) -> None:
    found = [packet for packet in made(heard, "message") if isinstance(packet, Message)]
    assert {packet.source for packet in found} == {9}
    assert [packet.sequence for packet in found] == [*range(101, 101 + len(found))]


def test_what_the_attacker_says_itself_teaches_it_nothing(heard: Heard) -> None:
    attacker = OnPath("forge", ["hello"], heard, Random(1))
    for _ in range(20):
        act = attacker.act()
        assert act is not None
        heard.note(*act)
    assert [way.hello for way in heard.ways] == [FORTH[0], BACK[0]]


def test_what_is_kept_is_bounded_and_bytes_that_are_no_packets_are_passed_over(heard: Heard) -> None:
    for number in range(KEPT + 50):
        heard.note(0, encode(Hello(Role.ROUTER, 1, 11, 2000 + number % 99, 2, 22)))
        heard.ours(number.to_bytes(4, "big"))
        heard.note(1, number.to_bytes(9, "big"))
    assert len(heard.ways[0].packets["hello"]) == KEPT
    assert len(heard._own) == KEPT


def test_one_packet_of_a_sealed_datagram_is_changed(heard: Heard) -> None:
    seal = MessageSeals(1, Messages.REQUIRED)
    seal.use(0, (1, 5, bytes(32)), [])
    real = seal.seal(0, encode(FORTH[-1]) * 2)
    only = Heard()
    only.note(0, real)
    attacker = OnPath("forge", ["mutate_message"], only, Random(1))
    acts = [act for act in (attacker.act() for _ in range(60)) if act is not None]
    assert len(acts) == 60
    turned = [datagram for _, datagram in acts if len(datagram) == len(real)]
    assert 15 < len(turned) < 45, "the others are cut short"
    for datagram in turned:
        pairs = zip(split_datagram(datagram), split_datagram(real), strict=True)
        assert sum(mine != theirs for mine, theirs in pairs) == 1

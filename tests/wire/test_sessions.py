"""What is read of a packet at once, for the link that it came on, is what the whole codec says of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from fastpath.wire import codec as compiled
from nodes.wire import codec
from nodes.wire.codec import WireError
from nodes.wire.packets import Ack, Control
from tests.wire.generated import Generator
from tests.wire.mutated import Mutator

PACKETS = 4_000
Said = tuple[int, int, int, int, bool, bool, bytes]


@pytest.fixture
def seed() -> int:
    return time.time_ns()


def packets(seed: int) -> Iterator[bytes]:
    """Whole ones, and damaged ones, most of which say how long they are."""
    random = Random(seed)
    generator = Generator(random)
    whole = [codec.encode(generator.packet()) for _ in range(PACKETS)]
    mutator = Mutator(random, whole)
    yield from whole
    for packet in whole:
        yield mutator.damage(packet, framed=True)


def said_by(packet: bytes) -> tuple[Said, int, int] | None:
    """What the whole codec says: its fields, and the two ends of its session. None: it is of no session."""
    try:
        whole = codec.decode(packet)
    except WireError:
        return None
    if not isinstance(whole, Control | Ack) or whole.trailer is not None:
        return None
    session = whole.incarnation, whole.peer_incarnation
    if isinstance(whole, Ack):
        return (0, 0, whole.ack, whole.window, False, False, b""), *session
    fields = (whole.kind, whole.sequence, whole.ack, whole.window, whole.first, whole.last, whole.fragment)
    return fields, *session


def test_a_packet_of_a_session_says_the_same_read_at_once_as_decoded(seed: int) -> None:
    seen: Counter[str] = Counter()
    for packet in packets(seed):
        expected = said_by(packet)
        said, incarnation, peer = expected or (None, 1, 2)
        assert compiled.read_session(packet, incarnation, peer) == said, (seed, packet.hex())
        seen["of none" if said is None else "ACK" if said[0] == 0 else "CONTROL"] += 1
    assert min(seen[each] for each in ("of none", "ACK", "CONTROL")) > PACKETS / 20, seed


def test_a_packet_of_another_session_says_nothing(seed: int) -> None:
    for packet in packets(seed):
        expected = said_by(packet)
        if expected is not None:
            _, incarnation, peer = expected
            assert compiled.read_session(packet, incarnation ^ 1, peer) is None, (seed, packet.hex())
            assert compiled.read_session(packet, incarnation, peer ^ 1) is None, (seed, packet.hex())


def lone_type(datagram: bytes) -> int:
    """The type of its only packet, by the whole codec; -1: there is no such packet."""
    try:
        frames = codec.split_datagram(datagram)
    except WireError:
        return -1
    return int(frames[0][0]) if len(frames) == 1 else -1


def test_a_datagram_is_known_for_one_packet_if_it_is_one(seed: int) -> None:
    seen: Counter[int] = Counter()
    before = b""
    for packet in packets(seed):
        for datagram in (packet, before + packet):
            assert compiled.lone_type(datagram) == lone_type(datagram), (seed, datagram.hex())
            seen[lone_type(datagram)] += 1
        before = packet
    assert set(seen) == {-1, 0, 1, 2, 3, 4, 5}, seed


def test_nothing_at_all_is_neither() -> None:
    assert compiled.lone_type(b"") == -1
    assert compiled.read_session(b"", 1, 2) is None

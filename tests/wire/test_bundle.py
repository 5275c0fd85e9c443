"""Bundling packets into datagrams (docs/wire-format.md)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.model import UsageError
from nodes.wire.codec import bundle, encode, split_datagram
from nodes.wire.packets import Control, Message, PacketType


def packet(size: int) -> bytes:
    """A CONTROL packet of a given size: its fragment fills it."""
    return encode(Control(2, 1, 2, 3, 4, 5, True, True, b"f" * (size - 32)))


def carried(datagrams: list[bytes]) -> list[bytes]:
    return [p for d in datagrams for kind, p in split_datagram(d) if kind is not PacketType.PAD]


sizes = st.lists(st.integers(32, 140), max_size=40)


@given(sizes, st.integers(1, 300))
def test_bundles_carry_every_packet_in_order_and_keep_to_the_size(lengths, size):
    packets = [packet(n) for n in lengths]
    datagrams = bundle(packets, size)
    assert carried(datagrams) == packets
    assert all(len(d) <= size or len(split_datagram(d)) == 1 for d in datagrams)


@given(sizes)
def test_neighbouring_bundles_could_not_have_been_one(lengths):
    datagrams = bundle([packet(n) for n in lengths], 200)
    for first, second in pairwise(datagrams):
        assert len(first) + len(split_datagram(second)[0][1]) > 200


def test_nothing_makes_no_datagram():
    assert bundle([], 100) == []


def test_a_packet_no_datagram_can_hold_is_refused():
    giant = encode(Message(1, 2, 3, {}, route=b"r" * 65_490))
    with pytest.raises(UsageError, match="fits no datagram"):
        bundle([giant], 1400)

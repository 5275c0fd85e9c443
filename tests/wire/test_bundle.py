"""Bundling packets into datagrams and segments (docs/wire-format.md)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.wire.bundle import DATAGRAM_MAX, Batch, batches, bundle
from nodes.wire.codec import UsageError, encode, split_datagram
from nodes.wire.packets import Control, Message, PacketType


def packet(size: int) -> bytes:
    """A CONTROL packet of a given size: its fragment fills it."""
    return encode(Control(2, 1, 2, 3, 4, 5, True, True, b"f" * (size - 32)))


def carried(datagrams: list[bytes]) -> list[bytes]:
    return [p for d in datagrams for kind, p in split_datagram(d) if kind is not PacketType.PAD]


def joined(found: list[Batch]) -> list[bytes]:
    return [datagram for batch in found for datagram in batch.datagrams]


sizes = st.lists(st.integers(32, 140), max_size=40)
segment_sizes = st.integers(36, 150)


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


@given(sizes, segment_sizes, st.integers(1, 8))
def test_batches_carry_every_packet_in_order(lengths, segment_size, segments_max):
    packets = [packet(n) for n in lengths]
    assert carried(joined(batches(packets, segment_size, segments_max))) == packets


@given(sizes, segment_sizes, st.integers(1, 8))
def test_all_segments_of_a_batch_but_the_last_are_equal(lengths, segment_size, segments_max):
    for batch in batches([packet(n) for n in lengths], segment_size, segments_max):
        *full, last = batch.datagrams
        assert all(len(segment) == batch.segment_size for segment in full)
        assert 0 < len(last) <= batch.segment_size
        assert len(batch.datagrams) <= segments_max
        assert len(batch.data) <= DATAGRAM_MAX


@given(sizes, segment_sizes)
def test_a_super_datagram_decodes_as_the_same_sequence(lengths, segment_size):
    for batch in batches([packet(n) for n in lengths], segment_size):
        assert carried([batch.data]) == carried(batch.datagrams)


def test_packets_of_one_size_fill_one_batch():
    (batch,) = batches([packet(50)] * 30, 208)
    assert batch.segment_size == 208
    assert [len(d) for d in batch.datagrams] == [208] * 7 + [100]


@pytest.mark.parametrize("gap", [1, 2, 3])
def test_a_gap_that_cannot_be_padded_moves_the_last_packet_on(gap):
    (batch,) = batches([packet(40), packet(60 - gap), packet(40)], 100)
    assert [len(d) for d in batch.datagrams] == [100, 100 - gap]
    assert [len(p) for _, p in split_datagram(batch.datagrams[0])] == [40, 60]


@pytest.mark.parametrize("gap", [1, 2, 3])
def test_a_packet_too_close_to_the_size_ends_its_batch(gap):
    first, second = batches([packet(100), packet(100 - gap), packet(100)], 100)
    assert [len(d) for d in first.datagrams] == [100, 100 - gap]
    assert second.datagrams == [packet(100)]


def test_a_packet_larger_than_a_segment_is_a_batch_of_its_own():
    assert [b.segment_size for b in batches([packet(50), packet(500), packet(50)], 100)] == [100, 500, 50]


def test_nothing_makes_no_datagram():
    assert bundle([], 100) == []
    assert batches([], 100) == []


def test_a_packet_no_datagram_can_hold_is_refused():
    giant = encode(Message(1, 2, 3, {}, route=b"r" * 65_490))
    for refused in (lambda: bundle([giant], 1400), lambda: batches([giant], 1400)):
        with pytest.raises(UsageError, match="fits no datagram"):
            refused()

"""Compiled seals of datagrams do what `nodes.routing.message_guard` says, whatever is told and comes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.fib import DropReason
from fastpath.seal import MessageSeals
from fastpath.wire.codec import UsageError
from nodes.config import Messages
from nodes.routing.effects import MessageKey
from nodes.routing.guard import WINDOW
from nodes.routing.message_guard import MessageGuard
from nodes.wire.codec import encode, split_datagram
from nodes.wire.datagram_seal import SEAL_BYTES, seal_datagram
from nodes.wire.packets import Ack, DatagramSeal, Message, Pad

MESSAGE = encode(Message(7, 1, 2, {"price": 395}))
ACK = encode(Ack(1, 2, 3, 4))
PADS = encode(Pad(9))
SEAL = encode(DatagramSeal(1, 5, 1, bytes(16)))
KEYS = [MessageKey(number, session, bytes([number, session] * 16)) for number in (1, 2) for session in (5, 6)]
MODES = st.sampled_from([*Messages])
SENT = st.lists(st.sampled_from([MESSAGE, ACK, PADS, SEAL]), min_size=1, max_size=4).map(b"".join)


def opener(mode: Messages = Messages.REQUIRED, *keys: MessageKey) -> MessageSeals:
    seals = MessageSeals(1, mode)
    seals.use(0, None, keys)
    return seals


@st.composite
def arrivals(draw: st.DrawFn) -> bytes:
    """Datagrams: sealed with some key and counter, changed in one bit, cut short, or anything at all."""
    datagram = draw(SENT)
    if draw(st.booleans()):
        key = draw(st.sampled_from(KEYS))
        counter = draw(st.integers(0, 3 * WINDOW) | st.sampled_from([0, 1, 2, 2**63, 2**64 - 1]))
        datagram = seal_datagram(datagram, key.key, key.key_id, key.session, counter)
    if draw(st.integers(0, 9)) == 0:
        changed = bytearray(datagram)
        bit = draw(st.integers(0, 8 * len(datagram) - 1))
        changed[bit // 8] ^= 1 << bit % 8
        datagram = bytes(changed)
    return datagram[: draw(st.integers(0, len(datagram)))] if draw(st.integers(0, 9)) == 0 else datagram


STEPS = st.one_of(
    st.tuples(st.just("use"), st.none() | st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), max_size=4)),
    st.tuples(st.just("seal"), SENT),
    st.tuples(st.just("open"), arrivals()),
    st.tuples(st.just("open"), arrivals()),
    st.tuples(st.just("open"), st.binary(max_size=120)),
    st.tuples(st.just("again"), st.integers(0, 5)),
)


@settings(max_examples=300)
@given(MODES, st.lists(STEPS, max_size=40))
def test_compiled_seals_are_those_of_the_reference(mode: Messages, steps: list[tuple[object, ...]]) -> None:
    reference, compiled = MessageGuard(mode), MessageSeals(1, mode)
    came: list[bytes] = []
    for do, *about in steps:
        if do == "use":
            reference.use(*about)  # type: ignore[arg-type]
            compiled.use(0, *about)  # type: ignore[arg-type]
        elif do == "seal":
            sent = compiled.seal(0, *about)  # type: ignore[arg-type]
            assert sent == reference.seal(*about)  # type: ignore[arg-type]
            came.append(sent)
        else:
            if do == "open":
                came.append(about[0])  # type: ignore[arg-type]
            datagram = came[-1 - about[0] % len(came)] if do == "again" and came else (came or [b""])[-1]  # type: ignore[operator]
            assert compiled.open(0, datagram) == reference.open(datagram)


@given(SENT, st.sampled_from(KEYS))
def test_what_one_end_seals_the_other_takes_once(datagram: bytes, key: MessageKey) -> None:
    sender, receiver = MessageSeals(1, Messages.REQUIRED), opener(Messages.REQUIRED, key)
    sender.use(0, key, [])
    sealed = sender.seal(0, datagram)
    messages = [packet for _, packet in split_datagram(datagram)].count(MESSAGE)
    assert len(sealed) == len(datagram) + (SEAL_BYTES if messages else 0)
    assert receiver.open(0, sealed) == (sealed, 0, 0)
    if messages:
        left, reason, count = receiver.open(0, sealed)
        assert (reason, count) == (DropReason.REPEATED_SEAL, messages)
        assert MESSAGE not in [packet for _, packet in split_datagram(left)]


@given(st.sampled_from(KEYS), st.data())
def test_no_bit_of_a_sealed_datagram_can_be_changed(key: MessageKey, data: st.DataObject) -> None:
    sealed = bytearray(seal_datagram(MESSAGE + MESSAGE, key.key, key.key_id, key.session, 9))
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1), "bit")
    sealed[bit // 8] ^= 1 << bit % 8
    taken, _, _ = opener(Messages.REQUIRED, *KEYS).open(0, bytes(sealed))
    try:
        packets = split_datagram(taken) if taken else []
    except ValueError:
        return  # it cannot be framed: no node takes any of it
    assert MESSAGE not in [packet for _, packet in packets]


def test_what_is_no_datagram_is_sealed_by_neither() -> None:
    reference, compiled = MessageGuard(Messages.REQUIRED), MessageSeals(1, Messages.REQUIRED)
    reference.use(KEYS[0], [])
    compiled.use(0, KEYS[0], [])
    for datagram in (MESSAGE + b"\x01", MESSAGE[:-1], MESSAGE + bytes(8)):
        assert compiled.seal(0, datagram) == reference.seal(datagram) == datagram


def test_control_packets_have_proofs_of_their_own_and_are_taken_where_messages_are_refused() -> None:
    assert opener().open(0, ACK + MESSAGE + ACK) == (ACK + ACK, DropReason.NO_SEAL, 1)
    assert opener().open(0, ACK) == (ACK, 0, 0)


def test_permissive_counts_what_has_no_seal_and_refuses_what_has_a_wrong_one() -> None:
    seals = opener(Messages.PERMISSIVE, KEYS[0])
    assert seals.open(0, MESSAGE) == (MESSAGE, DropReason.NO_SEAL, 1)
    assert seals.open(0, MESSAGE + SEAL) == (SEAL, DropReason.WRONG_SEAL, 1)


def test_keys_are_those_of_their_size_and_interfaces_those_there_are() -> None:
    seals = MessageSeals(1, Messages.REQUIRED)
    with pytest.raises(UsageError, match="a key has 3 bytes; expected 32"):
        seals.use(0, (1, 2, b"key"), [])
    with pytest.raises(UsageError, match="interface is 1; there are 1"):
        seals.use(1, None, [])
    with pytest.raises(UsageError, match="mode is 3"):
        MessageSeals(1, 3)

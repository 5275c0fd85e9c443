"""Seals of datagrams: what the document says of them, and the vector."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nodes.wire.codec import encode, split_datagram
from nodes.wire.datagram_seal import (
    SEAL_BYTES,
    message_key,
    proves_datagram,
    seal_datagram,
    seal_of_datagram,
    session_name,
)
from nodes.wire.packets import Message, PacketType

SENDER, RECEIVER = (1, 0x1122334455667788), (2, 0x8877665544332211)
SESSION = session_name(SENDER[1], RECEIVER[1])
KEY = message_key(bytes(range(32)), SENDER, RECEIVER)
MESSAGE = encode(Message(1, 0, 0, {"a": 1}))


def test_the_hash_is_that_of_the_document() -> None:
    label = b"cbn-messages-1" + bytes.fromhex("00000001 1122334455667788 00000002 8877665544332211")
    assert hmac.new(bytes(range(32)), label, hashlib.sha256).digest() == KEY
    sealed = seal_datagram(MESSAGE, KEY, 7, SESSION, 5)
    assert hmac.new(KEY, sealed[:-16], hashlib.sha256).digest()[:16] == sealed[-16:]
    assert len(sealed) == len(MESSAGE) + SEAL_BYTES


def test_the_vector_is_sealed_with_the_key_that_it_names() -> None:
    vectors = json.loads(
        (Path(__file__).parents[1] / "vectors" / "datagram.json").read_text(encoding="utf-8")
    )
    [vector] = [each for each in vectors["vectors"] if "sealed by node 1" in each["name"]]
    datagram = bytes.fromhex("".join(line.split("#")[0] for line in vector["hex"]))
    found = seal_of_datagram(datagram)
    assert found is not None
    assert proves_datagram(datagram, found, KEY)
    assert seal_datagram(MESSAGE + MESSAGE, KEY, 7, SESSION, 5) == datagram


def test_each_direction_and_each_session_has_a_key_of_its_own() -> None:
    ends = [(1, 3), (1, 4), (2, 3), (2, 4)]
    keys = {message_key(bytes(32), one, other) for one in ends for other in ends}
    assert len(keys) == len(ends) ** 2
    assert session_name(3, 4) == session_name(4, 3)


def test_a_seal_that_is_not_at_the_end_says_nothing() -> None:
    sealed = seal_datagram(MESSAGE, KEY, 7, SESSION, 5)
    assert seal_of_datagram(sealed) is not None
    assert seal_of_datagram(sealed + MESSAGE) is None
    assert [kind for kind, _ in split_datagram(sealed + sealed)].count(PacketType.SEAL) == 2


@given(st.binary(max_size=80))
def test_no_bytes_are_too_strange_to_be_looked_at(anything: bytes) -> None:
    found = seal_of_datagram(anything)
    assert found is None or not proves_datagram(anything, found, KEY)

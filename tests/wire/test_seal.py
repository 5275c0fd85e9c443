"""Seals: what they prove, and what they do not hide."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nodes.wire.codec import decode, encode
from nodes.wire.packets import Ack, Control, Hello, Kind, Packet, Role
from nodes.wire.seal import ALGORITHM, SEAL_BYTES, direction_key, link_key, proves, seal, seal_of

KEY = direction_key(link_key(b"s" * 32, 7), 1, 2)
COUNTERS = st.integers(0, 2**64 - 1)
KEY_IDS = st.integers(0, 2**16 - 1)
PACKETS: list[Packet] = [
    Hello(Role.ROUTER, 1, 2**64 - 1, 2000, 2, 9),
    Control(Kind.LINK_STATE, 1, 2, 3, 4, 5, True, True, b"what is said"),
    Ack(1, 2, 3, 4),
]
ANY = st.sampled_from(PACKETS)


@given(ANY, COUNTERS, KEY_IDS)
def test_a_sealed_packet_means_what_it_did_and_proves_who_sent_it(
    packet: Packet, counter: int, key_id: int
) -> None:
    plain = encode(packet)
    sealed = seal(plain, KEY, key_id, counter)
    assert len(sealed) == len(plain) + SEAL_BYTES
    read = decode(sealed)
    assert read.trailer is not None  # type: ignore[union-attr]
    assert (read.trailer.key_id, read.trailer.algorithm) == (key_id, ALGORITHM)  # type: ignore[union-attr]
    assert encode(read) == sealed
    found = seal_of(sealed)
    assert found is not None
    assert (found.counter, found.key_id) == (counter, key_id)
    assert proves(sealed, found, KEY)


@given(ANY, COUNTERS, KEY_IDS, st.data())
def test_no_bit_can_be_changed(packet: Packet, counter: int, key_id: int, data: st.DataObject) -> None:
    sealed = bytearray(seal(encode(packet), KEY, key_id, counter))
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1), "bit")
    sealed[bit // 8] ^= 1 << bit % 8
    found = seal_of(bytes(sealed))
    assert found is None or not proves(bytes(sealed), found, KEY)


def test_each_direction_and_each_link_has_a_key_of_its_own() -> None:
    secret = b"s" * 32
    keys = {
        direction_key(link_key(secret, link), *ends) for link in range(3) for ends in ((1, 2), (2, 1), (1, 3))
    }
    assert len(keys) == 9


@given(st.binary(max_size=80))
def test_no_bytes_are_too_strange_to_be_looked_at(anything: bytes) -> None:
    found = seal_of(anything)
    assert found is None or not proves(anything, found, KEY)


def test_the_hash_is_that_of_the_document() -> None:
    sealed = seal(encode(PACKETS[2]), KEY, 3, 5)
    mac, rest = sealed[-20:-4], sealed[:-20] + sealed[-4:]
    assert hmac.new(KEY, rest, hashlib.sha256).digest()[:16] == mac
    label = b"cbn-neighbours-1" + bytes((0, 0, 0, 1, 0, 0, 0, 2))
    assert hmac.new(link_key(b"s" * 32, 7), label, hashlib.sha256).digest() == KEY


def test_the_vector_is_sealed_with_the_key_that_it_names() -> None:
    vectors = json.loads((Path(__file__).parents[1] / "vectors" / "ack.json").read_text(encoding="utf-8"))
    [vector] = [each for each in vectors["vectors"] if each["name"].startswith("sealed by node 1")]
    packet = bytes.fromhex("".join(line.split("#")[0] for line in vector["hex"]))
    key = direction_key(bytes(range(32)), 1, 2)
    found = seal_of(packet)
    assert found is not None
    assert found.counter == 2**40 + 5
    assert proves(packet, found, key)
    assert seal(encode(Ack(1, 2, 3, 4)), key, 7, 2**40 + 5) == packet

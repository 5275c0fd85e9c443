"""Signatures of records: what they prove, and what they do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastpath.wire.codec import WireError, split_signature
from nodes.wire import signature
from nodes.wire.packets import Kind
from nodes.wire.signature import (
    PUBLIC_BYTES,
    REMEMBERED,
    REMEMBERED_BYTES,
    SEED_BYTES,
    SIGNATURE_BYTES,
    SIGNED,
    Signer,
    proves,
    remember,
    signer_seed,
)
from tests.wire import vectors
from tests.wire.vectors import Vector, kind_number

SEED = bytes(range(SEED_BYTES))
SIGNER = Signer(SEED)
VECTORS = vectors.load("signed")
LED_TO = {Kind.INTEREST_CHANGE: "INTEREST", Kind.OFFER_CHANGE: "OFFER"}
RECORD = b"\x00\x00\x00\x01" + bytes(10)


def test_a_key_is_that_of_the_standard() -> None:
    """RFC 8032, 7.1, test 1."""
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert Signer(seed).public.hex() == public
    assert len(SIGNER.public) == PUBLIC_BYTES


@pytest.mark.parametrize("vector", VECTORS, ids=[v.id for v in VECTORS])
def test_the_signatures_of_the_vectors_are_of_the_seed_that_they_name(vector: Vector) -> None:
    kind = kind_number(vector.fields["kind"])
    record, signature = vector.data[:-SIGNATURE_BYTES], vector.data[-SIGNATURE_BYTES:]
    assert signature.hex() == vector.fields["payload"]["signature"]
    assert kind >= Kind.CBCB_RA or split_signature(kind, vector.data) == (record, signature)
    if kind in LED_TO:
        (whole,) = (v for v in VECTORS if v.fields["kind"] == LED_TO[Kind(kind)])
        assert whole.fields["payload"]["signature"] == signature.hex()
    else:
        assert SIGNER.sign(kind, record) == signature
        assert proves(kind, record, signature, SIGNER.public)


@given(st.binary(max_size=2 * REMEMBERED_BYTES), st.integers(0, 10**9))
def test_one_bit_of_a_record_or_of_its_signature_and_nothing_is_proved(record: bytes, drawn: int) -> None:
    signature = SIGNER.sign(Kind.LINK_STATE, record)
    assert proves(Kind.LINK_STATE, record, signature, SIGNER.public)
    changed = bytearray(record + signature)
    at = drawn % (8 * len(changed))
    changed[at // 8] ^= 1 << at % 8
    other, false = bytes(changed[:-SIGNATURE_BYTES]), bytes(changed[-SIGNATURE_BYTES:])
    assert not proves(Kind.LINK_STATE, other, false, SIGNER.public)


def test_a_signature_is_of_one_kind_and_of_one_router() -> None:
    signature = SIGNER.sign(Kind.INTEREST, RECORD)
    assert not proves(Kind.OFFER, RECORD, signature, SIGNER.public)
    other = Signer(signer_seed(b"secret", 2))
    assert not proves(Kind.INTEREST, RECORD, signature, other.public)
    assert signer_seed(b"secret", 2) != signer_seed(b"secret", 3)


@pytest.mark.parametrize("size", [0, 1, SIGNATURE_BYTES - 1, SIGNATURE_BYTES + 1])
def test_what_has_not_the_size_of_a_signature_is_none(size: int) -> None:
    assert not proves(Kind.LINK_STATE, RECORD, bytes(size), SIGNER.public)


def test_a_record_without_a_signature_is_all_of_its_payload() -> None:
    assert split_signature(Kind.LINK_STATE, RECORD) == (RECORD, b"")
    with pytest.raises(WireError, match="LINK_STATE at byte 14 is followed by bytes"):
        split_signature(Kind.LINK_STATE, RECORD + bytes(1))
    assert Kind.RECORD_REQUEST not in SIGNED


def test_of_each_key_and_kind_a_few_right_signatures_are_remembered_and_no_wrong_ones() -> None:
    remember(3)
    try:
        signed = [(bytes([n]), SIGNER.sign(Kind.INTEREST, bytes([n]))) for n in range(10)]
        for _ in range(2):
            assert all(proves(Kind.INTEREST, *each, SIGNER.public) for each in signed)
            assert not any(proves(Kind.OFFER, *each, SIGNER.public) for each in signed)
        [(key, known)] = signature._memory._known.items()
        assert key == (SIGNER.public, Kind.INTEREST)
        assert len(known) == 3
    finally:
        remember(REMEMBERED)

"""Signatures: what makes a record its origin's, whoever passes it on (decision 37).

A signature is 64 bytes of Ed25519 (libsodium), by the key of one router, over the kind of a record and all
its bytes. It stands behind the record. That of a change of a record is of the whole record that it leads to.

Not here: which records have to be signed, and what becomes of others (`nodes.routing.signatures`).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from functools import lru_cache

from nacl import bindings
from nacl.exceptions import BadSignatureError

from nodes.wire.packets import Kind

SIGNATURE_BYTES = 64
SEED_BYTES = PUBLIC_BYTES = 32
SIGNED = frozenset(
    (
        *(Kind.LINK_STATE, Kind.INTEREST, Kind.INTEREST_CHANGE, Kind.OFFER, Kind.OFFER_CHANGE),
        *(Kind.CBCB_RA, Kind.CBCB_SR, Kind.CBCB_ERA, Kind.COST_ANNOUNCE),
    )
)
"""The kinds of payloads that may end with a signature."""
REMEMBERED = 16_384
REMEMBERED_BYTES = 1024
"""So many signatures that were looked at are remembered, each of a record of so many bytes at most."""
_LABEL = b"cbn-record-1"


class Signer:
    """Signs in a router's name.

    Args:
        seed: What its key is made of, which nobody else may know.
    """

    def __init__(self, seed: bytes) -> None:
        self.public, self._secret = bindings.crypto_sign_seed_keypair(seed)

    def sign(self, kind: int, record: bytes) -> bytes:
        """The signature of a record."""
        return bindings.crypto_sign(_signed(kind, record), self._secret)[:SIGNATURE_BYTES]


def signer_seed(secret: bytes, node: int) -> bytes:
    """What a router's key is made of, of the secret that all keys of a run are made of."""
    return hmac.digest(secret, b"cbn-signer-1" + node.to_bytes(4, "big"), "sha256")


def proves(kind: int, record: bytes, signature: bytes, public: bytes) -> bool:
    """Whether who has the private half of a key has signed a record."""
    opens = _memory.opens if len(record) <= REMEMBERED_BYTES else _opens
    return opens(signature + _signed(kind, record), public)


def remember(count: int) -> None:
    """Forget the signatures that were looked at, and remember so many from now on."""
    _memory.opens = lru_cache(count)(_opens)


def _signed(kind: int, record: bytes) -> bytes:
    return _LABEL + kind.to_bytes(1, "big") + record


def _opens(signed: bytes, public: bytes) -> bool:
    try:
        bindings.crypto_sign_open(signed, public)
    except BadSignatureError:
        return False
    return True


class _Memory:
    """What this process has looked at."""

    def __init__(self) -> None:
        self.opens: Callable[[bytes, bytes], bool] = lru_cache(REMEMBERED)(_opens)


_memory = _Memory()

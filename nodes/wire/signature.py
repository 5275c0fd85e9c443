"""Signatures: what makes a record its origin's, whoever passes it on (decision 37).

A signature is 64 bytes of Ed25519 (libsodium), by the key of one router, over the kind of a record and all
its bytes. It stands behind the record. That of a change of a record is of the whole record that it leads to.

Not here: which records have to be signed, and what becomes of others (`nodes.routing.signatures`).
"""

from __future__ import annotations

import hmac

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
REMEMBERED = 8
REMEMBERED_BYTES = 1024
"""So many right signatures of each key and kind are remembered, each of a record of so many bytes at most. A
record comes over several links, and soon a newer one takes its place."""
REMEMBERED_KEYS = 8_192
"""So many keys and kinds are remembered."""
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
    signed = signature + _signed(kind, record)
    if len(record) > REMEMBERED_BYTES:
        return _opens(signed, public)
    return _memory.knows(kind, public, signed) or _memory.learn(kind, public, signed)


def remember(count: int) -> None:
    """Forget the signatures that were looked at, and remember so many of each key and kind from now on."""
    _memory.begin(count)


def _signed(kind: int, record: bytes) -> bytes:
    return _LABEL + kind.to_bytes(1, "big") + record


def _opens(signed: bytes, public: bytes) -> bool:
    try:
        bindings.crypto_sign_open(signed, public)
    except BadSignatureError:
        return False
    return True


class _Memory:
    """The right signatures that this process has looked at last. Those that are wrong take no room."""

    def __init__(self) -> None:
        self.begin(REMEMBERED)

    def begin(self, count: int) -> None:
        """Know nothing, and remember so many of each key and kind."""
        self._count = count
        self._known: dict[tuple[bytes, int], dict[bytes, None]] = {}

    def knows(self, kind: int, public: bytes, signed: bytes) -> bool:
        """Whether it was right when it was looked at."""
        return signed in self._known.get((public, kind), ())

    def learn(self, kind: int, public: bytes, signed: bytes) -> bool:
        """Look at it; whether it is right."""
        if not _opens(signed, public):
            return False
        known = self._known.setdefault((public, kind), {})
        known[signed] = None
        if len(known) > self._count:
            del known[next(iter(known))]
        if len(self._known) > REMEMBERED_KEYS:
            del self._known[next(iter(self._known))]
        return True


_memory = _Memory()

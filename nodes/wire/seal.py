"""Seals: a packet's trailer that proves which neighbour sent it, and when in its order (decision 33).

A sealed packet ends with a tag of a counter and a keyed hash over all other bytes of the packet. Each
direction of a link has a key of its own, made of the link's, so what one end sent is refused when it comes
back to it.

Not here: which counters were seen already, and what is refused (`nodes.routing.guard`).
"""

from __future__ import annotations

import hmac
from struct import Struct
from typing import NamedTuple

ALGORITHM = 2
"""HMAC-SHA-256, cut to 16 bytes, behind a counter."""
KEY_BYTES = 32
MAC_BYTES = 16
_TRAILER = Struct(f">Q{MAC_BYTES}sHBB")
_TAG_BYTES = 8 + MAC_BYTES
SEAL_BYTES = _TRAILER.size
"""By how much a seal makes a packet longer."""
_AUTH, _FLAGS_AT = 0x01, 4
_BEGIN = Struct(">2sHB")
_BEHIND = Struct(">HBB")


class Seal(NamedTuple):
    """What a trailer says; nothing of it is proved yet."""

    counter: int
    mac: bytes
    key_id: int


def link_key(secret: bytes, link: int) -> bytes:
    """The key of a link, of the secret that all links of a run have theirs from."""
    return hmac.digest(secret, b"cbn-link-1" + link.to_bytes(4, "big"), "sha256")


def direction_key(link_key: bytes, sender: int, receiver: int) -> bytes:
    """The key of what `sender` sends to `receiver`."""
    label = b"cbn-neighbours-1" + sender.to_bytes(4, "big") + receiver.to_bytes(4, "big")
    return hmac.digest(link_key, label, "sha256")


def seal(packet: bytes, key: bytes, key_id: int, counter: int) -> bytes:
    """The packet with a seal; it must have no trailer yet."""
    begin = _BEGIN.pack(packet[:2], len(packet) + SEAL_BYTES, packet[_FLAGS_AT] | _AUTH)
    in_front = b"".join((begin, packet[_BEGIN.size :], counter.to_bytes(8, "big")))
    behind = _BEHIND.pack(key_id, ALGORITHM, _TAG_BYTES)
    return in_front + hmac.digest(key, in_front + behind, "sha256")[:MAC_BYTES] + behind


def seal_of(packet: bytes) -> Seal | None:
    """The seal of a packet that is well framed; None if it has none, or a trailer of another kind."""
    if len(packet) <= _FLAGS_AT + SEAL_BYTES or not packet[_FLAGS_AT] & _AUTH:
        return None
    counter, mac, key_id, algorithm, size = _TRAILER.unpack_from(packet, len(packet) - SEAL_BYTES)
    return Seal(counter, mac, key_id) if (algorithm, size) == (ALGORITHM, _TAG_BYTES) else None


def proves(packet: bytes, found: Seal, key: bytes) -> bool:
    """Whether who sealed the packet has the key. Takes as long if not."""
    return hmac.compare_digest(found.mac, _mac(packet, key))


def _mac(packet: bytes, key: bytes) -> bytes:
    """Over the packet but for the keyed hash itself."""
    end = len(packet) - _BEHIND.size
    return hmac.digest(key, packet[: end - MAC_BYTES] + packet[end:], "sha256")[:MAC_BYTES]

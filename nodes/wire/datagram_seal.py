"""The seal of a datagram of messages: one proof for all in it, in a SEAL packet at its end (decision 36).

Each session of a link has a key of its own for each direction, made of the link's and of both ends' names of
the session: what was sent in one session proves nothing in another, and counters begin anew in each.

Not here: which keys there are at a time (`nodes.routing.message_keys`), which counters were seen already
(`nodes.routing.message_guard`, and compiled `fastpath.seal`).
"""

from __future__ import annotations

import hmac

from fastpath.wire import codec
from nodes.wire.codec import WireError
from nodes.wire.packets import DatagramSeal, PacketType
from nodes.wire.seal import ALGORITHM, MAC_BYTES

SEAL_BYTES = 40
"""By how much a seal makes a datagram longer."""
NO_MAC = bytes(MAC_BYTES)


def session_name(incarnation: int, peer_incarnation: int) -> int:
    """What both ends call a session in its seals."""
    return incarnation ^ peer_incarnation


def message_key(link_key: bytes, sender: tuple[int, int], receiver: tuple[int, int]) -> bytes:
    """The key of datagrams from one end of a session to the other, each an id and an incarnation."""
    ends = (
        part.to_bytes(size, "big")
        for end in (sender, receiver)
        for part, size in zip(end, (4, 8), strict=True)
    )
    return hmac.digest(link_key, b"cbn-messages-1" + b"".join(ends), "sha256")


def seal_datagram(datagram: bytes, key: bytes, key_id: int, session: int, counter: int) -> bytes:
    """The datagram with a seal; it must have none yet."""
    unproved = datagram + codec.encode_seal(key_id, session, counter, NO_MAC, ALGORITHM)
    return unproved[:-MAC_BYTES] + _mac(unproved, key)


def seal_of_datagram(datagram: bytes) -> DatagramSeal | None:
    """The seal that a datagram ends with; None if there is none, or of another kind."""
    try:
        frames = codec.split_datagram(datagram)
        kind, at, _ = frames[-1]
        found = DatagramSeal(*codec.decode_seal(datagram[at:])) if kind == PacketType.SEAL else None
    except WireError:
        return None
    return found if found is not None and found.algorithm == ALGORITHM else None


def proves_datagram(datagram: bytes, found: DatagramSeal, key: bytes) -> bool:
    """Whether who sealed the datagram has the key. Takes as long if not."""
    return hmac.compare_digest(found.mac, _mac(datagram, key))


def _mac(datagram: bytes, key: bytes) -> bytes:
    """Over all of it but for the keyed hash itself."""
    return hmac.digest(key, datagram[:-MAC_BYTES], "sha256")[:MAC_BYTES]

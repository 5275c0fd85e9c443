"""The packets of the CBN wire format as plain values, and the names of its numbers.

`docs/wire-format.md` is the authority; `nodes.wire.codec` turns packets into
bytes and back. Control payloads stay bytes here: whoever works on a kind reads
and writes it (`fastpath.wire.codec`, `nodes.wire.scheme_payloads`, `nodes.wire.matchmaker_payloads`,
`nodes.routing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple
from zlib import crc32

from nodes.model import Value

PORT = 61803
VERSION = 1
DEFAULT_HOP_LIMIT = 64


class PacketType(IntEnum):
    """The `type` byte of a packet."""

    PAD = 0
    MESSAGE = 1
    HELLO = 2
    CONTROL = 3
    ACK = 4
    SEAL = 5


class Role(IntEnum):
    """Who sends a HELLO."""

    ROUTER = 1
    CLIENT = 2


class Kind(IntEnum):
    """What a control payload carries."""

    LINK_STATE = 1
    INTEREST = 2
    SUBSCRIBE = 3
    UNSUBSCRIBE = 4
    INTEREST_CHANGE = 5
    RECORD_REQUEST = 6
    ADVERTISE = 7
    UNADVERTISE = 8
    REFUSED = 9
    OFFER = 10
    OFFER_CHANGE = 11
    SUBSCRIBE_PATTERN = 12
    UNSUBSCRIBE_PATTERN = 13
    MATCH = 14
    CBCB_RA = 16
    CBCB_SR = 17
    CBCB_UR = 18
    CBCB_ERA = 19
    SIENA_SUBSCRIBE = 20
    SIENA_UNSUBSCRIBE = 21
    SIENA_ADVERTISE = 22
    SIENA_UNADVERTISE = 23
    COST_ANNOUNCE = 24
    CHANGE_MARKING = 25
    CHANGE_MARKING_REPLY = 26
    CD_UPDATE = 27


class Refusal(IntEnum):
    """What a router does not take, and why: the `reason` of a REFUSED."""

    UNADVERTISED = 1
    """Messages that are outside of what the client has advertised."""
    TOO_MANY_PATTERNS = 2
    """A pattern beyond as many as it seeks for one neighbour."""
    OVERSIZE_PATTERN = 3
    """A pattern whose text is too long."""
    MESSAGE_NOT_PERMITTED = 4
    """Messages that the policy does not permit the client to publish."""
    SUBSCRIPTION_NOT_PERMITTED = 5
    """A subscription, whole, that is wider than what the policy permits."""
    ADVERTISEMENT_NOT_PERMITTED = 6
    """Likewise, an advertisement."""
    PATTERN_NOT_PERMITTED = 7
    """Likewise, a pattern, of which some part is wider."""
    SUBSCRIPTION_OVER_LIMIT = 8
    """A subscription beyond what the client may hold."""
    ADVERTISEMENT_OVER_LIMIT = 9
    """Likewise, an advertisement."""
    SUBSCRIPTION_ROOM = 10
    """There is room for a subscription that was refused for reason 8: it may be said again."""
    ADVERTISEMENT_ROOM = 11
    """Likewise, for an advertisement that was refused for reason 9."""


OF_PATTERNS = frozenset({Refusal.TOO_MANY_PATTERNS, Refusal.OVERSIZE_PATTERN})
"""Those that are about a pattern, and name it by its number."""
OF_POLICY: Mapping[int, str] = {
    Refusal.SUBSCRIPTION_NOT_PERMITTED: "subscription",
    Refusal.ADVERTISEMENT_NOT_PERMITTED: "advertisement",
    Refusal.PATTERN_NOT_PERMITTED: "pattern",
}
"""Those that name what the policy does not permit by `Refused`, and what that is."""
OF_LIMITS: Mapping[int, str] = {
    Refusal.SUBSCRIPTION_OVER_LIMIT: "subscription",
    Refusal.ADVERTISEMENT_OVER_LIMIT: "advertisement",
}
"""Likewise, what is more than the client may hold."""
OF_ROOM: Mapping[int, str] = {
    Refusal.SUBSCRIPTION_ROOM: "subscription",
    Refusal.ADVERTISEMENT_ROOM: "advertisement",
}
"""Likewise, what there is room for again. What is named by 0 is whatever was refused."""
_CHECK_BITS = 31


class Refused(NamedTuple):
    """What the `sequence` of a REFUSED names for the reasons of `OF_POLICY`, `OF_LIMITS` and `OF_ROOM`."""

    number: int
    check: int
    """Of what was refused under that number; another may have taken its place meanwhile."""

    @classmethod
    def of(cls, number: int, encoded: bytes) -> Refused:
        """What has this number and these bytes: a predicate, or the text of a pattern."""
        return cls(number, crc32(encoded) & ((1 << _CHECK_BITS) - 1))

    @classmethod
    def read(cls, sequence: int) -> Refused:
        """What a `sequence` names."""
        return cls(sequence >> _CHECK_BITS, sequence & ((1 << _CHECK_BITS) - 1))

    @property
    def sequence(self) -> int:
        """As it is sent."""
        return self.number << _CHECK_BITS | self.check


ALL_REFUSED = Refused(0, 0)
"""For the reasons of `OF_ROOM`, in the place of a name: whatever was refused."""
NAMES_KEPT = 4_096
"""A router keeps the names of so many that it has refused a client, which says so many again at once."""


@dataclass(frozen=True, slots=True)
class Trailer:
    """The authentication trailer: carried by every packet but PAD and SEAL (`nodes.wire.seal`)."""

    tag: bytes
    key_id: int = 0
    algorithm: int = 1


@dataclass(frozen=True, slots=True)
class Pad:
    """Fills a segment; `length` counts the whole packet."""

    length: int


@dataclass(frozen=True, slots=True)
class Message:
    """A published message on its way."""

    source: int
    sequence: int
    publish_time_ns: int
    attributes: Mapping[str, Value] = field(hash=False)
    header_class: int = 0
    hop_limit: int = DEFAULT_HOP_LIMIT
    hop_count: int = 0
    route: bytes = b""
    payload: bytes = b""
    """What nobody looks at on the way."""
    trailer: Trailer | None = None


@dataclass(frozen=True, slots=True)
class Hello:
    """Neighbour discovery and keep-alive."""

    role: Role
    node: int
    incarnation: int
    hold_time_ms: int
    seen_node: int = 0
    seen_incarnation: int = 0
    trailer: Trailer | None = None


class Control(NamedTuple):
    """One fragment of a control payload on a link's reliable channel."""

    kind: int
    incarnation: int
    peer_incarnation: int
    sequence: int
    ack: int
    window: int
    first: bool
    last: bool
    fragment: bytes
    trailer: Trailer | None = None


class Ack(NamedTuple):
    """Acknowledges CONTROL packets when there is none to send back."""

    incarnation: int
    peer_incarnation: int
    ack: int
    window: int
    trailer: Trailer | None = None


@dataclass(frozen=True, slots=True)
class DatagramSeal:
    """What a datagram of messages ends with, where they are sealed (`nodes.wire.datagram_seal`)."""

    key_id: int
    session: int
    counter: int
    mac: bytes
    algorithm: int = 2


FRAMING = frozenset({PacketType.PAD, PacketType.SEAL})
"""Packets that are about the datagram that they are in, and for nobody behind it."""

Packet = Pad | Message | Hello | Control | Ack | DatagramSeal

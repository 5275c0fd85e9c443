"""What the sans-IO cores ask of the shell that runs them.

The seam of all three worlds. A shell (the simulator or the daemon) does:

    core.receive(now_ns, interface, packet)   # one control-plane packet, bytes
    core.handle_timer(now_ns)                 # at or after next_deadline()
    core.next_deadline() -> int | None        # absolute, ns
    core.use_keys(now_ns, interface, keys)    # the link's keys are these now
    core.use_signers(signers)                 # the routers' public keys are these now
    core.take_outputs() -> list[Output]       # after each of the above
    core.status() -> dict[str, object]        # for readiness and for people

and executes the outputs in order. `now_ns` never goes backwards. MESSAGE
packets do not come here in a router: they go through the installed FIB. In a
client they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol, final

from fastpath.fib import Fib
from nodes.config import LinkKey
from nodes.wire.packets import Message


class Reason(StrEnum):
    """Why the control plane of a node drops a packet or a payload.

    The core's status and the shell count drops by these names, and `docs/protocols.md` explains
    each. The data plane counts its own (`fastpath.fib.DropReason`).
    """

    MALFORMED = "malformed"
    UNEXPECTED_PACKET = "unexpected_packet"
    WRONG_PEER = "wrong_peer"
    OWN_ID = "own_id"
    STALE_HELLO = "stale_hello"
    NO_SEAL = "no_seal"
    UNKNOWN_KEY = "unknown_key"
    WRONG_SEAL = "wrong_seal"
    REPEATED_SEAL = "repeated_seal"
    WRONG_SIGNATURE = "wrong_signature"
    UNKNOWN_SIGNER = "unknown_signer"
    OVER_SHARE = "over_share"
    OTHER_SESSION = "other_session"
    DUPLICATE_CONTROL = "duplicate_control"
    OUTSIDE_WINDOW = "outside_window"
    IMPOSSIBLE_ACK = "impossible_ack"
    FRAGMENT_WITHOUT_FIRST = "fragment_without_first"
    UNFINISHED_PAYLOAD = "unfinished_payload"
    OVERSIZE_PAYLOAD = "oversize_payload"
    MALFORMED_PAYLOAD = "malformed_payload"
    UNKNOWN_KIND = "unknown_kind"
    UNEXPECTED_KIND = "unexpected_kind"
    STALE_PAYLOAD = "stale_payload"
    TOO_MANY_FILTERS = "too_many_filters"
    TOO_MANY_CONSTRAINTS = "too_many_constraints"
    TOO_MANY_RECORDS = "too_many_records"
    TOO_MUCH_HELD = "too_much_held"
    UNLISTED_ORIGIN = "unlisted_origin"
    INTEREST_GAP = "interest_gap"
    OFFER_GAP = "offer_gap"
    NOT_PERMITTED = "not_permitted"
    UNKNOWN_SUBSCRIPTION = "unknown_subscription"
    UNKNOWN_ADVERTISEMENT = "unknown_advertisement"
    EXPIRED_DESCRIPTOR = "expired_descriptor"
    MARKING_DISAGREES = "marking_disagrees"
    UNKNOWN_PATTERN = "unknown_pattern"
    TOO_MANY_PATTERNS = "too_many_patterns"
    OVERSIZE_PATTERN = "oversize_pattern"
    OVERSIZE_MATCH = "oversize_match"
    MATCH_OVERFLOW = "match_overflow"


@final
class Send:
    """Send these packets (one datagram) on an interface."""

    __slots__ = ("datagram", "interface")

    def __init__(self, interface: int, datagram: bytes) -> None:
        self.interface = interface
        self.datagram = datagram


@dataclass(frozen=True, slots=True)
class Install:
    """Forward with this FIB from now on."""

    fib: Fib


@dataclass(frozen=True, slots=True)
class Deliver:
    """A message for the application of this client."""

    message: Message


@dataclass(frozen=True, slots=True)
class DeliverMatch:
    """A match of a pattern that this client has routers seek for it."""

    pattern: int
    """The client's own number of it."""
    messages: tuple[Message, ...]
    """Its components, in the order of the places in the pattern."""


@dataclass(frozen=True, slots=True)
class Drop:
    """A packet was dropped; the shell counts it under the reason."""

    interface: int
    reason: str


@dataclass(frozen=True, slots=True)
class Log:
    """Something a person reading the node's log wants to know."""

    event: str
    fields: Mapping[str, object] = field(default_factory=dict)


class MessageKey(NamedTuple):
    """A key for datagrams with messages one way over a link, in one session."""

    key_id: int
    """The number of the link's key that it is made of."""
    session: int
    key: bytes

    def __repr__(self) -> str:
        return f"MessageKey({self.key_id}, {self.session:#x})"


@dataclass(frozen=True, slots=True)
class SealMessages:
    """Seal datagrams with messages so from now on, and take what is sealed with one of these keys."""

    interface: int
    sending: MessageKey | None
    """None: there is no session yet."""
    receiving: tuple[MessageKey, ...]


@dataclass(frozen=True, slots=True)
class Shut:
    """The neighbour at an interface is beyond its share, or is so no more.

    While it is, the core takes neither CONTROL nor ACK from there, so they need not come so far.
    """

    interface: int
    shut: bool


Output = Send | Install | Deliver | DeliverMatch | SealMessages | Shut | Drop | Log


class Core(Protocol):
    """What the router's and the client's core have in common."""

    def receive(self, now_ns: int, interface: int, packet: bytes) -> None:
        """Take one packet that arrived on an interface."""

    def handle_timer(self, now_ns: int) -> None:
        """Do what is due."""

    def next_deadline(self) -> int | None:
        """When `handle_timer` wants to be called next."""

    def use_keys(self, now_ns: int, interface: int, keys: tuple[LinkKey, ...]) -> None:
        """The keys of a link are these now; what goes is sealed with the first."""

    def use_signers(self, signers: Mapping[int, bytes]) -> None:
        """The public keys of routers are these now, by id."""

    def take_outputs(self) -> list[Output]:
        """Hand over, in order, what is to be done; the list is then empty."""

    def status(self) -> dict[str, object]:
        """A JSON-ready account of the state."""

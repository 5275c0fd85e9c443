"""The configuration of one node: what `node.toml` says, as frozen dataclasses.

The plan renders it, the simulator hands it to the core directly, and the
daemon reads it from the file given with `--config`. Reading and writing TOML
lives in `nodes.config_file`; no behaviour lives here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from nodes.wire.packets import PORT, Role

MICROSECOND_NS = 1_000
MILLISECOND_NS = 1_000_000
MOST_DILATE = 1000
"""How many times slower than real time a node's time may go at most."""


class Neighbours(IntEnum):
    """Whether neighbours prove to each other who they are (`nodes.routing.guard`)."""

    OFF = 0
    PERMISSIVE = 1
    REQUIRED = 2


class Messages(IntEnum):
    """Whether datagrams of messages prove which neighbour sent them (`nodes.routing.message_guard`)."""

    OFF = 0
    PERMISSIVE = 1
    REQUIRED = 2


class RecordSigning(IntEnum):
    """Whether what routers pass on of each other is signed by whom it is of (`nodes.routing.signatures`)."""

    OFF = 0
    SIGNED = 1


@dataclass(frozen=True, slots=True)
class SecurityConfig:
    """Who is believed."""

    neighbours: Neighbours = Neighbours.OFF
    records: RecordSigning = RecordSigning.OFF
    messages: Messages = Messages.OFF

    @property
    def seals(self) -> bool:
        """Whether packets between neighbours are sealed, and links have keys for it."""
        return self.neighbours is not Neighbours.OFF

    @property
    def signs(self) -> bool:
        """Whether records are signed, and routers have keys for it."""
        return self.records is not RecordSigning.OFF

    @property
    def contradiction(self) -> str:
        """Why messages cannot be sealed so: their sessions are those of neighbours. Empty if they can."""
        if self.messages <= self.neighbours:
            return ""
        messages, neighbours = self.messages.name.lower(), self.neighbours.name.lower()
        return f"messages is {messages}, but neighbours is {neighbours}"


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """What a client may do, as predicates (docs/decisions/0038): `all` is anything, `none` nothing."""

    subscribe: str = "all"
    """Covers each filter that it may subscribe to, or seek as a part of a pattern."""
    publish: str = "all"
    """Matches each message that it may publish."""
    advertise: str = "all"
    """Covers, as an advertisement, each that it may advertise."""


@dataclass(frozen=True, slots=True)
class LinkKey:
    """A key that both ends of a link have, under a number."""

    key_id: int
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class InterfaceConfig:
    """One end of a link. `index` counts from 0 within the node, without gaps."""

    index: int
    name: str
    address: str
    peer_address: str
    peer_name: str
    peer_id: int
    peer_role: Role
    cost: int = 1
    mtu: int = 1500
    port: int = PORT
    peer_port: int = PORT
    keys: tuple[LinkKey, ...] = field(default=(), repr=False)
    """Of the link, the one that is used first; in a file of their own (`keys_path`)."""
    policy: PolicyConfig | None = None
    """What the client at the other end may do; None: anything."""


@dataclass(frozen=True, slots=True)
class TimerConfig:
    """Every time constant of the protocols, in milliseconds."""

    hello_ms: int = 250
    hold_ms: int = 2000
    retransmit_ms: int = 100
    retransmit_max_ms: int = 2000
    install_delay_ms: int = 10
    forget_ms: int = 600_000
    renumber_ms: int = 6_000


@dataclass(frozen=True, slots=True)
class LimitConfig:
    """Bounds on what a neighbour may make us hold."""

    filters_per_neighbour: int = 1_000_000
    constraints_per_neighbour: int = 10_000_000
    bytes_per_neighbour: int = 1024 * 1024 * 1024
    records_per_neighbour: int = 100_000
    payload_bytes: int = 64 * 1024 * 1024
    window_packets: int = 64
    unlisted_origins: int = 4_096
    unlisted_bytes: int = 16 * 1024 * 1024
    patterns_per_neighbour: int = 10_000
    pattern_bytes: int = 64 * 1024
    control_packets_per_second: int = 0
    """0: any number; the same for changes."""
    changes_per_second: int = 0


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """All settings of a router or client process."""

    name: str
    node_id: int
    role: Role
    run_id: str
    seed: int
    interfaces: tuple[InterfaceConfig, ...]
    scheme: str = "pif"
    scheme_options: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    timers: TimerConfig = TimerConfig()
    limits: LimitConfig = LimitConfig()
    security: SecurityConfig = SecurityConfig()
    hop_limit: int = 64
    settle_ms: int = 2000
    """How long a change of subscriptions may take to be known to every router."""
    log_path: str = ""
    """Where the daemon writes its log (JSON lines); empty: standard error."""
    events_path: str = ""
    """Where a client writes its events (JSON lines); empty: not written."""
    admin_socket: str = ""
    """Path of the Unix socket on which the daemon answers; empty: none."""
    keys_path: str = ""
    """Its secret keys: of its links, and its own (`config_file.load_keys`); empty: it has none."""
    signing_seed: bytes = field(default=b"", repr=False)
    """What its own key is made of, with which it signs its records; with the keys of its links."""
    signers_path: str = ""
    """The public keys of all routers (`config_file.load_signers`); empty: they are not needed."""
    signers: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    """These keys, by the id of the router."""
    script_path: str = ""
    """A client's script (JSON lines); empty: the client does nothing by itself."""
    dilate: int = 1
    """How many times slower than real time the node's time goes."""
    dilate_from_ns: int = 0
    """When, in nanoseconds since 1970, its time and real time were the same."""


ACTIONS = ("subscribe", "subscribe_pattern", "unsubscribe", "advertise", "unadvertise", "publish")
"""What a client's script can do."""


@dataclass(frozen=True, slots=True)
class Action:
    """One line of a client's script.

    `at_ns` counts from the start of the run's clock; a negative time means
    before it: as soon as the client is attached.
    """

    at_ns: int
    do: str
    """One of `ACTIONS`."""
    subscription: int = 0
    """The client's own number of the subscription, or of the advertisement."""
    text: str = ""
    """The predicate to subscribe to, what to advertise, the message to publish, or the pattern to seek.

    A pattern has the number of the subscription that brings its messages, which is made before it.
    """
    payload: str = ""
    """What the message carries besides its attributes, as UTF-8."""

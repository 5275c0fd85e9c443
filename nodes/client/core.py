"""A client's end of the protocols, sans-IO: attach, subscribe, advertise, seek patterns, publish, deliver.

The same core runs in the simulator, in the daemon and under the library people
write applications with. Subscriptions, advertisements and patterns are the client's own and outlive the
session with its router (`held`).

Not here: sockets, the asyncio face (`aio`), scripts (`script`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from fastpath.wire import codec
from nodes.client.held import Held
from nodes.client.refused import error_of, name_of, why_not
from nodes.config import LinkKey, NodeConfig
from nodes.model import (
    Pattern,
    Predicate,
    Time,
    UsageError,
    Value,
    check_message,
    declares_nothing,
    format_pattern,
    format_predicate,
)
from nodes.routing.adjacency import draw_incarnation
from nodes.routing.effects import Deliver, DeliverMatch, Drop, Log, Output, Reason
from nodes.routing.link import Arrived, Link, LinkEvent, LinkUp
from nodes.scheme_catalog import factors_patterns
from nodes.wire.codec import WireError, decode, encode, encode_messages, encode_predicate
from nodes.wire.packets import (
    OF_LIMITS,
    OF_PATTERNS,
    OF_POLICY,
    OF_ROOM,
    Kind,
    Message,
    PacketType,
    Refusal,
    Refused,
    Role,
)

TYPE_AT = 1


class NotAttached(RuntimeError):  # noqa: N818  (its users read it as a state)
    """The client is not joined to its router (yet, or any more)."""


class ClientCore:
    """One client.

    Args:
        config: Who it is; it has one interface.
        rng: Randomness for incarnations and jitter; another seed at every start.
        last_sequence: Messages are numbered from the next on: a client that starts again
            must not use a number twice.

    Raises:
        UsageError: The configuration is not a client's.
    """

    def __init__(self, config: NodeConfig, rng: random.Random, last_sequence: int = 0) -> None:
        if config.role is not Role.CLIENT or len(config.interfaces) != 1:
            raise UsageError(f"{config.name}: a client has role client and just one interface")
        self.config = config
        self.incarnation = draw_incarnation(rng)
        self.link = Link(config, config.interfaces[0], self.incarnation, rng)
        self.drops: Counter[str] = Counter()
        self.refused: dict[str, int] = {}
        """How many of our messages, or patterns, the router has not taken in this session, by why not."""
        self.refused_patterns: dict[int, int] = {}
        """Our patterns that the router does not seek in this session, by id: why not (`Refusal`)."""
        self._subscriptions = Held("subscription", Kind.SUBSCRIBE, Kind.UNSUBSCRIBE, self.link.send)
        self._advertisements = Held("advertisement", Kind.ADVERTISE, Kind.UNADVERTISE, self.link.send)
        self._patterns = Held("pattern", Kind.SUBSCRIBE_PATTERN, Kind.UNSUBSCRIBE_PATTERN, self.link.send)
        self._held = {
            "subscription": self._subscriptions,
            "advertisement": self._advertisements,
            "pattern": self._patterns,
        }
        self._factors_patterns = factors_patterns(config.scheme_options)
        self._changes = 0
        self._sequence = last_sequence
        self._published = 0
        self._delivered = 0
        self._outputs: list[Output] = []
        self._begun = False
        self._handlers: dict[int, Callable[[int, bytes], None]] = {
            Kind.REFUSED: self._take_refused,
            Kind.MATCH: self._take_match,
        }

    @property
    def attached(self) -> bool:
        """Whether the session with the router is up."""
        return self.link.up

    def subscribe(self, now_ns: int, predicate: Predicate, subscription_id: int | None = None) -> int:
        """Want what matches the predicate; returns the subscription's id.

        An id that is in use is given the new predicate. It may be called before
        the client is attached; the router receives it as soon as it is.
        """
        self._changes += 1
        encoded = encode_predicate(predicate)
        return self._subscriptions.set(now_ns, encoded, subscription_id, attached=self.attached)

    def unsubscribe(self, now_ns: int, subscription: int) -> None:
        """Withdraw a subscription.

        Raises:
            UsageError: There is none of this id.
        """
        if not self._subscriptions.discard(now_ns, subscription, attached=self.attached):
            raise UsageError(f"{self.config.name} has no subscription {subscription}")
        self._changes += 1

    def advertise(self, now_ns: int, advertisements: Predicate, number: int | None = None) -> int:
        """Announce that messages will be published that are within these; returns the id of it all.

        Each filter is read as an advertisement (M5). An id that is in use is given the new ones. It may be
        called before the client is attached.

        Raises:
            UsageError: One of them declares no attribute.
        """
        if declares_nothing(advertisements):
            text = format_predicate(advertisements)
            raise UsageError(f"{text} declares no attribute, so no message but the empty one is within it")
        self._changes += 1
        encoded = encode_predicate(advertisements)
        return self._advertisements.set(now_ns, encoded, number, attached=self.attached)

    def unadvertise(self, now_ns: int, number: int) -> None:
        """Withdraw what was advertised by this id.

        Raises:
            UsageError: There is none of this id.
        """
        if not self._advertisements.discard(now_ns, number, attached=self.attached):
            raise UsageError(f"{self.config.name} has no advertisement {number}")
        self._changes += 1

    def subscribe_pattern(self, now_ns: int, pattern: Pattern, number: int | None = None) -> int:
        """Have routers seek a pattern, where the scheme has it so (`patterns: factored`); returns its id.

        An id that is in use is given the new pattern. It may be called before the client is attached.
        """
        self._changes += 1
        if number is not None:
            self.refused_patterns.pop(number, None)
        return self._patterns.set(now_ns, format_pattern(pattern).encode(), number, attached=self.attached)

    def unsubscribe_pattern(self, now_ns: int, number: int) -> None:
        """Have a pattern sought no longer.

        Raises:
            UsageError: There is none of this id.
        """
        refused = self.refused_patterns.pop(number, None) in OF_PATTERNS
        if not self._patterns.discard(now_ns, number, attached=self.attached and not refused):
            raise UsageError(f"{self.config.name} has no pattern {number}")
        self._changes += 1

    def why_refused(self, number: int) -> str | None:
        """Why the router has not taken a subscription or a pattern; None: it has, as far as we know."""
        error = self.refusal(number)
        return None if error is None else str(error)

    def refusal(self, number: int) -> RuntimeError | None:
        """What to raise to who asked for it; likewise."""
        return self._error(self.refused_patterns.get(number) or self._subscriptions.why_refused(number))

    def refusal_of_advertisement(self, number: int) -> RuntimeError | None:
        """Likewise of an advertisement."""
        return self._error(self._advertisements.why_refused(number))

    def why_not_advertised(self, number: int) -> str | None:
        """Its text."""
        error = self.refusal_of_advertisement(number)
        return None if error is None else str(error)

    def _error(self, reason: int) -> RuntimeError | None:
        return error_of(reason, self._why_not(reason)) if reason else None

    def _why_not(self, reason: int) -> str:
        return why_not(self.config.name, self.link.interface.peer_name, reason)

    @property
    def last_sequence(self) -> int:
        """The number of the last message; 0: none was published."""
        return self._sequence

    @property
    def held(self) -> tuple[int, ...]:
        """The ids of all subscriptions."""
        return self._subscriptions.ids

    @property
    def advertised(self) -> tuple[int, ...]:
        """The ids of all advertisements."""
        return self._advertisements.ids

    @property
    def sought(self) -> tuple[int, ...]:
        """The ids of all patterns that routers seek for us."""
        return self._patterns.ids

    @property
    def state(self) -> tuple[object, ...]:
        """Differs whenever the status differs in what the convergence of the network depends on."""
        return self.incarnation, self.attached, self.link.quiet, self.link.acknowledged_ticket, self._changes

    def publish(self, now_ns: int, message: Mapping[str, Value], payload: bytes = b"") -> tuple[int, int]:
        """Send a message into the network; returns its id, (source, sequence).

        Raises:
            NotAttached: There is no router to give it to.
            UsageError: The network cannot carry it.
        """
        self._check_attached()
        source, sequence = self.config.node_id, self._sequence + 1
        attributes, hop_limit = check_message(message), self.config.hop_limit
        packet = encode(Message(source, sequence, now_ns, attributes, hop_limit=hop_limit, payload=payload))
        if len(packet) > self.link.datagram_bytes:
            raise UsageError(
                f"the message has {len(packet)} bytes; {self.link.interface.name} takes "
                f"{self.link.datagram_bytes} (its MTU of {self.link.interface.mtu} less IPv4 and UDP headers)"
            )
        self._sequence = sequence
        self._published += 1
        self.link.put(packet)
        return source, sequence

    def publish_many(
        self, now_ns: int, messages: Sequence[tuple[Mapping[str, Value], bytes]]
    ) -> list[tuple[int, int]]:
        """Send messages, (attributes, payload) each, or if one cannot be sent none; returns their ids.

        Raises:
            NotAttached: There is no router to give them to.
            UsageError: The network cannot carry one.
        """
        self._check_attached()
        source, first = self.config.node_id, self._sequence + 1
        for datagram in encode_messages(
            source, first, now_ns, messages, Time, self.config.hop_limit, self.link.datagram_bytes
        ):
            self.link.put(datagram)
        self._sequence += len(messages)
        self._published += len(messages)
        return [(source, first + n) for n in range(len(messages))]

    def note_messages(self, delivered: int, malformed: int) -> None:
        """Messages have arrived that the shell has decoded itself, many at once."""
        self._delivered += delivered
        for _ in range(malformed):
            self.link.drop(Reason.MALFORMED)

    def receive(self, now_ns: int, interface: int, packet: bytes) -> None:
        """Take one packet that arrived on the interface."""
        assert interface == 0, "a client has one interface"
        self._begun = True
        if len(packet) > TYPE_AT and packet[TYPE_AT] == PacketType.MESSAGE:
            self._take_message(packet)
            return
        for event in self.link.receive(now_ns, packet):
            self._take(now_ns, event)

    def use_keys(self, now_ns: int, interface: int, keys: tuple[LinkKey, ...]) -> None:
        """The keys of the link are these now."""
        assert interface == 0, "a client has one interface"
        self.link.use_keys(now_ns, keys)

    def use_signers(self, signers: Mapping[int, bytes]) -> None:
        """A client is told no records."""

    def handle_timer(self, now_ns: int) -> None:
        """Do what is due."""
        self._begun = True
        for event in self.link.handle_timer(now_ns):
            self._take(now_ns, event)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted; 0 until it was called first."""
        return self.link.next_deadline() if self._begun else 0

    def take_outputs(self) -> list[Output]:
        """What is to be done, in order."""
        outputs, self._outputs = self._outputs, []
        outputs += self.link.take_outputs()
        self.drops.update(str(output.reason) for output in outputs if isinstance(output, Drop))
        return outputs

    def status(self) -> dict[str, object]:
        """A JSON-ready account of the state."""
        return {
            "node": self.config.name,
            "node_id": self.config.node_id,
            "role": "client",
            "incarnation": self.incarnation,
            "attached": self.attached,
            "settled": self.link.quiet,
            "interface": self.link.interface.name,
            "received_ns": self.link.received_ns,
            **self._held_status("subscriptions", self._subscriptions),
            **self._held_status("advertisements", self._advertisements),
            **(self._patterns_status() if self._factors_patterns else {}),
            "published": self._published,
            "delivered": self._delivered,
            "refused": dict(sorted(self.refused.items())),
            "not_permitted": self._refused_by(OF_POLICY),
            "over_limit": self._refused_by(OF_LIMITS),
            "retransmissions": self.link.retransmissions,
            "drops": dict(sorted(self.drops.items())),
        }

    def _check_attached(self) -> None:
        if not self.attached:
            raise NotAttached(f"{self.config.name} is not attached to {self.link.interface.peer_name}")

    def _refused_by(self, reasons: Mapping[int, str]) -> dict[str, int]:
        """How many of what we hold the router has not taken for these reasons, by what they are about."""
        counts = {what: self._held[what].refused[reason] for reason, what in reasons.items()}
        return {what: count for what, count in counts.items() if count}

    def _held_status(self, what: str, held: Held) -> dict[str, object]:
        acknowledged = held.acknowledged(self.link.acknowledged_ticket) if self.attached else 0
        return {what: len(held), f"{what}_acknowledged": acknowledged, f"{what}_digest": held.digest}

    def _patterns_status(self) -> dict[str, object]:
        refused = Counter(map(name_of, self.refused_patterns.values()))
        return {
            **self._held_status("routed_patterns", self._patterns),
            "refused_patterns": dict(sorted(refused.items())),
        }

    def _take(self, now_ns: int, event: LinkEvent) -> None:
        if isinstance(event, LinkUp):
            self.refused.clear()
            self.refused_patterns.clear()
            self._advertisements.tell_all(now_ns)
            self._subscriptions.tell_all(now_ns)
            self._patterns.tell_all(now_ns)
        elif isinstance(event, Arrived):
            self._take_payload(now_ns, event)

    def _take_payload(self, now_ns: int, event: Arrived) -> None:
        take = self._handlers.get(event.kind)
        if take is None:
            self.link.drop(Reason.UNEXPECTED_KIND)
            return
        try:
            take(now_ns, event.payload)
        except WireError as error:
            self.link.drop(Reason.MALFORMED_PAYLOAD, kind=event.kind, why=str(error))

    def _take_refused(self, now_ns: int, payload: bytes) -> None:
        reason, count, number = codec.decode_refused(payload)
        if reason in OF_ROOM:
            self._take_room(now_ns, OF_ROOM[reason], Refused.read(number))
            return
        self.refused[name_of(reason)] = count
        what = OF_POLICY.get(reason) or OF_LIMITS.get(reason)
        if what is not None:
            refused = Refused.read(number)
            number = refused.number
            self._take_named(what, refused, reason)
        elif reason in OF_PATTERNS and number in self._patterns.ids:
            self.refused_patterns[number] = reason
            self._changes += 1
        what = what or ("pattern" if reason in OF_PATTERNS else "sequence")
        self._outputs.append(Log("refused", {"reason": name_of(reason), "count": count, what: number}))

    def _take_room(self, now_ns: int, what: str, refused: Refused) -> None:
        """The router has room again, and waits to be told what it has refused."""
        reason = next(reason for reason, kind in OF_LIMITS.items() if kind == what)
        if self._held[what].say_again(now_ns, refused, reason):
            self._changes += 1
            self._outputs.append(Log("room", {what: refused.number}))

    def _take_named(self, what: str, refused: Refused, reason: int) -> None:
        if self._held[what].refuse(refused, reason):
            self._changes += 1
            if what == "pattern":
                self.refused_patterns[refused.number] = Refusal.PATTERN_NOT_PERMITTED

    def _take_match(self, _: int, payload: bytes) -> None:
        number, packets = codec.decode_match(payload)
        if number not in self._patterns.ids:
            self.link.drop(Reason.UNKNOWN_PATTERN)
            return
        messages = (decode(packet) for packet in packets)
        components = tuple(each for each in messages if isinstance(each, Message))
        self._outputs.append(DeliverMatch(number, components))

    def _take_message(self, packet: bytes) -> None:
        try:
            message = decode(packet)
        except WireError:
            self.link.drop(Reason.MALFORMED)
            return
        assert isinstance(message, Message)
        self._delivered += 1
        self._outputs.append(Deliver(message))

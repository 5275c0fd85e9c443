"""A compromised router: it has its keys and its sessions, and lies or falls silent when it is told to.

Between its core, which is an honest router's, and the world. What it says is filtered on the way out, what it
forwards is changed on the way out, and what it invents goes over its own sessions, sealed as all it says. Not
here: which routers are told to, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from fastpath.interests import Predicate
from fastpath.wire.codec import encode_link_state, split_datagram
from nodes.attacks.on_path import EVERYTHING, NOTHING
from nodes.config import LinkKey
from nodes.model import Value
from nodes.routing.effects import Output, Send
from nodes.routing.records import head
from nodes.routing.router import Router
from nodes.wire.codec import decode, encode
from nodes.wire.packets import Kind, Message, PacketType, Role

Forwarded = tuple[Sequence[bytes], Sequence[tuple[int, bytes]], Sequence[int]]
Forward = Callable[[bytes, int], Forwarded]
"""(datagram, ingress) -> (control packets, (interface, datagram) to send, drop reasons)."""
MUTED = {
    PacketType.HELLO: "hello",
    PacketType.CONTROL: "control",
    PacketType.ACK: "ack",
    PacketType.MESSAGE: "message",
}
OF_MESSAGES = ("drop", "duplicate", "rewrite")
SLANDER_NS = 100_000_000
"""How often a router that lies about others does so: they contradict it."""


@dataclass(slots=True)
class OngoingAttack:
    """What it does, and to how many packets it has."""

    by: frozenset[str]
    share: float
    acts: int = 0


class CompromisedCore:
    """Stands before the core of a router, as a core (`nodes.routing.effects.Core`).

    Args:
        core: The router's.
        rng: Draws which packets something becomes of, and what.
    """

    def __init__(self, core: Router, rng: Random) -> None:
        self._core = core
        self._rng = rng
        self._ongoing: dict[str, OngoingAttack] = {}
        self._slander_ns: int | None = None
        self._drawn: Predicate | None = None

    def begin(self, now_ns: int, do: str, by: Sequence[str], share: float) -> None:
        """From now on `lie` or be `mute`, in these ways, to this share of packets."""
        self._ongoing[do] = attack = OngoingAttack(frozenset(by), share)
        if "attract" in attack.by and self._drawn is None:
            self._attract(now_ns, attack)
        if "slander" in attack.by:
            self._slander_ns = now_ns

    def end(self, now_ns: int, do: str) -> int:
        """Be honest again in this; how many packets something became of."""
        attack = self._ongoing.pop(do)
        if "attract" in attack.by and self._drawn is not None:
            self._core.interest.originate(now_ns, self._drawn, Predicate(self._core.store.pool))
            self._drawn = None
        if "slander" in attack.by:
            self._slander_ns = None
        return attack.acts

    def does(self, do: str) -> bool:
        """Whether it attacks so."""
        return do in self._ongoing

    # As a core.

    def receive(self, now_ns: int, interface: int, packet: bytes) -> None:
        """As the router."""
        self._core.receive(now_ns, interface, packet)

    def handle_timer(self, now_ns: int) -> None:
        """As the router, and say what is untrue of others if it is time."""
        self._core.handle_timer(now_ns)
        if self._slander_ns is not None and now_ns >= self._slander_ns:
            self._slander_ns = now_ns + SLANDER_NS
            self._slander(now_ns, self._ongoing["lie"])

    def next_deadline(self) -> int | None:
        """The router's, or its own."""
        waits = [at for at in (self._core.next_deadline(), self._slander_ns) if at is not None]
        return min(waits, default=None)

    def use_keys(self, now_ns: int, interface: int, keys: tuple[LinkKey, ...]) -> None:
        """As the router."""
        self._core.use_keys(now_ns, interface, keys)

    def use_signers(self, signers: Mapping[int, bytes]) -> None:
        """As the router."""
        self._core.use_signers(signers)

    def take_outputs(self) -> list[Output]:
        """As the router, but for what it keeps to itself."""
        outputs, attack = self._core.take_outputs(), self._ongoing.get("mute")
        if attack is None:
            return outputs
        said = (self._muted(o, attack) if isinstance(o, Send) else o for o in outputs)
        return [output for output in said if output is not None]

    def status(self) -> dict[str, object]:
        """As the router."""
        return self._core.status()

    # Silence.

    def _muted(self, output: Send, attack: OngoingAttack) -> Send | None:
        kept = self._audible(output.datagram, attack)
        return Send(output.interface, kept) if kept else None

    def _audible(self, datagram: bytes, attack: OngoingAttack) -> bytes:
        """What is left of a datagram."""
        kept = []
        for kind, at, size in split_datagram(datagram):
            if MUTED.get(PacketType(kind)) in attack.by and self._rng.random() < attack.share:
                attack.acts += 1
            else:
                kept.append(datagram[at : at + size])
        return b"".join(kept)

    # Lies about messages.

    def forwarding(self, forward: Forward) -> Forward:
        """Forward by this, with what it does to messages."""

        def turned(datagram: bytes, ingress: int) -> Forwarded:
            control, outputs, drops = forward(datagram, ingress)
            for change in (self._silenced, self._lied):
                outputs = change(outputs)
            return control, outputs, drops

        return turned

    def _silenced(self, outputs: Sequence[tuple[int, bytes]]) -> Sequence[tuple[int, bytes]]:
        attack = self._ongoing.get("mute")
        if attack is None:
            return outputs
        said = [(egress, self._audible(bundle, attack)) for egress, bundle in outputs]
        return [(egress, bundle) for egress, bundle in said if bundle]

    def _lied(self, outputs: Sequence[tuple[int, bytes]]) -> Sequence[tuple[int, bytes]]:
        attack = self._ongoing.get("lie")
        ways = sorted(attack.by.intersection(OF_MESSAGES)) if attack else []
        if attack is None or not ways:
            return outputs
        return [each for egress, bundle in outputs for each in self._told(egress, bundle, attack, ways)]

    def _told(
        self, egress: int, bundle: bytes, attack: OngoingAttack, ways: Sequence[str]
    ) -> list[tuple[int, bytes]]:
        """What becomes of the messages for one interface; copies go in datagrams of their own."""
        kept, more = [], []
        for _, at, size in split_datagram(bundle):
            packet = bundle[at : at + size]
            way = self._rng.choice(ways) if self._rng.random() < attack.share else ""
            attack.acts += bool(way)
            if way != "drop":
                kept.append(_rewritten(packet) if way == "rewrite" else packet)
            if way == "duplicate":
                more.append((egress, packet))
        return [(egress, b"".join(kept)), *more] if kept else more

    # Lies about the network.

    def _attract(self, now_ns: int, attack: OngoingAttack) -> None:
        """Say that its clients want everything, in its own name, if nobody does."""
        pool = self._core.store.pool
        everything, nothing = pool.read(EVERYTHING), Predicate(pool)
        if self._core.interest.database.predicate(self._core.config.node_id).fits(nothing, everything):
            self._drawn = everything
            self._core.interest.originate(now_ns, nothing, everything)
            attack.acts += 1

    def _slander(self, now_ns: int, attack: OngoingAttack) -> None:
        """Say in the name of every other router that it has no links, and that its clients want nothing."""
        core = self._core
        for link in core.links:
            if not link.up or link.interface.peer_role is not Role.ROUTER:
                continue
            for origin in sorted(core.linkstate.database.listed() - {core.config.node_id}):
                for kind, payload in _untrue(core, origin):
                    link.send(now_ns, kind, payload)
                    attack.acts += 1


def _untrue(core: Router, origin: int) -> list[tuple[Kind, bytes]]:
    """Records in another's name, above those that are held; signed with its own key, if at all."""
    found = []
    links, interest = core.linkstate.database.records.payload(origin), core.interest.database.state(origin)
    if links is not None:
        found.append((Kind.LINK_STATE, encode_link_state(origin, head(links)[1] + 1, ())))
    if interest is not None:
        above = origin.to_bytes(4, "big") + (interest.sequence + 1).to_bytes(8, "big")
        found.append((Kind.INTEREST, above + NOTHING))
    return [(kind, core.rules.signatures.signed(kind, record)) for kind, record in found]


def _rewritten(packet: bytes) -> bytes:
    """The message with other values, of the same types and sizes."""
    message = decode(packet)
    if not isinstance(message, Message):
        return packet
    changed = {name: _other(value) for name, value in message.attributes.items()}
    return encode(replace(message, attributes=changed))


def _other(value: Value) -> Value:
    change = _CHANGES.get(type(value))
    return value if change is None else change(value)


_CHANGES: Mapping[type, Callable[..., Value]] = {
    bool: lambda value: not value,
    int: lambda value: -1 - value,
    float: lambda value: -value,
    str: lambda value: value[::-1],
}

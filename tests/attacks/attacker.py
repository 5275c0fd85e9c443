"""An attacker in the place of one router: honest to its neighbours until the moment comes, then it forges.

Its adjacencies and channels are real, and it forwards as a router does, so that only
what it forges makes a difference. It is sans-IO as every core: `tests.attacks.campaign`
puts it into a network in memory, `tests.attacks.node` into a process.

What it forges is named by what issue 10 calls it, and is the same each time.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from nodes.config import NodeConfig
from nodes.model import parse_predicate
from nodes.routing.router import Router
from nodes.wire.codec import encode, encode_destinations, encode_predicate
from nodes.wire.packets import Hello, Kind, Message, Role

LAST = (1 << 63) - 1
NOBODY = tuple(range((1 << 32) - 9, 1 << 32))
TICK_NS = 10_000_000
Step = Callable[["Attacker", int], None]
"""Does what an attack does in one tick: called with the attacker and how many ticks have passed."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One way to attack, and how long it goes on."""

    item: int
    """Of issue 10."""
    ticks: int
    step: Step
    scheme: str = "pif"
    options: Mapping[str, str] | None = None


class Attacker(Router):
    """A router that begins an attack at a given time."""

    def __init__(
        self, config: NodeConfig, rng: random.Random, attack: Attack, at_ns: int, routers: tuple[int, ...]
    ) -> None:
        super().__init__(config, rng)
        self.victims = tuple(router for router in routers if router != config.node_id)
        self._attack = attack
        self._at_ns = at_ns
        self._ticks = 0

    def handle_timer(self, now_ns: int) -> None:
        """As a router, and the attack's next step if it is due."""
        super().handle_timer(now_ns)
        while self._next_ns() is not None and now_ns >= (self._next_ns() or 0):
            self._now_ns = now_ns
            self._attack.step(self, self._ticks)
            self._ticks += 1

    def next_deadline(self) -> int | None:
        """The router's, or the next step."""
        deadlines = [at for at in (super().next_deadline(), self._next_ns()) if at is not None]
        return min(deadlines, default=None)

    def forge(self, kind: Kind, payload: bytes) -> None:
        """Send a payload to all neighbours that are routers."""
        for link in self.links:
            if link.up and link.interface.peer_role is Role.ROUTER:
                link.send(self._now_ns, kind, payload)

    def forge_packet(self, packet: bytes) -> None:
        """Send a packet of any type to them."""
        for link in self.links:
            if link.interface.peer_role is Role.ROUTER:
                link.put(packet)

    def _next_ns(self) -> int | None:
        return self._at_ns + self._ticks * TICK_NS if self._ticks < self._attack.ticks else None


def link_state(origin: int, number: int, *others: int) -> bytes:
    links = b"".join(struct.pack(">II", other, 1) for other in sorted(others))
    return struct.pack(">IQH", origin, number, len(others)) + links


def interest(origin: int, number: int) -> bytes:
    return struct.pack(">IQ", origin, number) + encode_predicate(parse_predicate("nothing = 1"))


def kill(attacker: Attacker, tick: int) -> None:
    """A link state with the number before the last, of every router in turn."""
    for victim in attacker.victims if tick % 50 == 0 else ():
        attacker.forge(Kind.LINK_STATE, link_state(victim, LAST - 1))


def last_number(attacker: Attacker, tick: int) -> None:
    """The same with the last number and the greater bytes: nothing can be above it."""
    for victim in attacker.victims if tick == 0 else ():
        attacker.forge(Kind.LINK_STATE, link_state(victim, LAST, *NOBODY))


def climb(attacker: Attacker, tick: int) -> None:
    """The same, after a number that opens the last class."""
    for victim in attacker.victims if tick < 2 else ():
        attacker.forge(Kind.LINK_STATE, link_state(victim, (1 << 61, LAST)[tick], *NOBODY))


def black_hole(attacker: Attacker, tick: int) -> None:
    """An interest with the number before the last, of every router."""
    for victim in attacker.victims if tick == 0 else ():
        attacker.forge(Kind.INTEREST, interest(victim, LAST - 1))


def era(attacker: Attacker, tick: int) -> None:
    """The record of an era with the number before the last, of every router."""
    for victim in attacker.victims if tick == 0 else ():
        attacker.forge(Kind.CBCB_ERA, struct.pack(">IQQ", victim, LAST - 1, 1))


def silence(attacker: Attacker, tick: int) -> None:
    """Two link states a second without links, of every router, each above what stands."""
    for victim in attacker.victims if tick % 50 == 0 else ():
        held = attacker.linkstate.database.records.payload(victim) or bytes(12)
        number = int.from_bytes(held[4:12], "big")
        attacker.forge(Kind.LINK_STATE, link_state(victim, number + 1))


def origins(attacker: Attacker, tick: int) -> None:
    """Invented origins, hundreds each tick."""
    for origin in range(1_000_000 + 250 * tick, 1_000_250 + 250 * tick):
        attacker.forge(Kind.LINK_STATE, link_state(origin, 1, origin + 1))


def hellos(attacker: Attacker, tick: int) -> None:
    """HELLOs of ids that nobody has."""
    for node in range(1_000_000 + 115 * tick, 1_000_115 + 115 * tick):
        attacker.forge_packet(encode(Hello(Role.ROUTER, node, 1, 2_000, 0, 0)))


def replay(attacker: Attacker, tick: int) -> None:
    """Messages that were published, again, to every router, in every class there could be."""
    for publisher, sequence in published(tick):
        for victim in attacker.victims:
            for header_class in (1, *attacker.victims):
                route = encode_destinations((victim,))
                message = Message(publisher, sequence, 1, {"a": 2}, header_class=header_class, route=route)
                attacker.forge_packet(encode(message))


def published(tick: int) -> Iterator[tuple[int, int]]:
    """(publisher, sequence) of what the campaign's publisher has sent by now: it is client 6, with id 6."""
    yield 6, tick // 2 + 1


ATTACKS: Mapping[str, Attack] = {
    "remote kill": Attack(5, 300, kill),
    "last number": Attack(5, 10, last_number),
    "climb to the last number": Attack(5, 10, climb),
    "black hole": Attack(6, 1, black_hole),
    "black hole of eras": Attack(6, 1, era, "cbcb"),
    "silence": Attack(7, 400, silence),
    "invented origins": Attack(8, 400, origins),
    "HELLOs of random ids": Attack(8, 400, hellos),
    "replay": Attack(9, 200, replay, "drp"),
}

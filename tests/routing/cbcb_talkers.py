"""Routers that are nothing but `cbcb`: no adjacencies, no clock, links that delay as luck has it.

Each link is a queue. Which queue moves next is drawn, so every order in which
ordered, reliable channels can deliver comes up with some seed.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Hashable

from nodes.config import LimitConfig, TimerConfig
from nodes.model import parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.predicates import reduced_union
from nodes.routing.schemes import make_scheme
from nodes.routing.schemes.base import View, learned, of_router
from nodes.routing.schemes.cbcb import Cbcb
from nodes.routing.signatures import UNSIGNED
from nodes.routing.store import PredicateStore
from nodes.routing.trees import Edge, Topology
from nodes.scheme_catalog import OptionValue
from nodes.wire.codec import encode_predicate
from nodes.wire.packets import Kind

QUIET = 3_600_000_000_000


class Talker:
    """One router's `Talk`."""

    def __init__(self, node: int, office: Office) -> None:
        self.node = node
        self.store = PredicateStore()
        self.limits = LimitConfig()
        self.timers = TimerConfig()
        self.signatures = UNSIGNED
        self.drops: Counter[Reason] = Counter()
        self._office = office

    def send(self, now_ns: int, interface: int, kind: int, payload: bytes, key: Hashable = None) -> None:
        del now_ns, key
        self._office.post(self.node, interface, kind, payload)

    def admits(self, interface: int, kind: Kind, origin: int, payload: bytes) -> bool:
        """As `Talk` says: nothing is signed."""
        del interface, kind, origin, payload
        return True

    def hold(self, now_ns: int, interface: int, kind: Kind, origin: int, size: int) -> bool:
        """There is room for all."""
        return True

    def may_be_forgotten(self, now_ns: int, origin: int) -> bool:
        """Nobody forgets anything."""
        return False

    def drop(self, interface: int, reason: Reason, **fields: object) -> None:
        del interface, fields
        self.drops[reason] += 1

    def changed(self, now_ns: int) -> None:
        """Tables are looked at where they are learned."""


class Office:
    """All routers of a network that does not change, and what is under way between them."""

    def __init__(self, edges: list[Edge], seed: object, **options: OptionValue) -> None:
        self.seed = seed
        self.rng = random.Random(f"{seed}/office")
        self.now_ns = 0
        self.sent_kinds: Counter[str] = Counter()
        self.said_bytes = 0
        self._options = options
        self._starts = 0
        self._queues: dict[tuple[int, int], deque[tuple[int, bytes]]] = {}
        self.talkers: dict[int, Talker] = {}
        self.schemes: dict[int, Cbcb] = {}
        self.views: dict[int, View] = {}
        self.topology = Topology.around(edges[0][0], edges)
        for node in self.topology.nodes:
            self._open(node)
        for node in self.topology.nodes:
            for neighbour, (interface, *_) in self.views[node].interfaces.items():
                self.schemes[node].joined(0, interface, neighbour)
            self.schemes[node].look(0, self.views[node])
        self.settle()

    def _open(self, node: int) -> None:
        neighbours = self.topology.neighbours(node)
        interfaces = {neighbour: (i,) for i, neighbour in enumerate(neighbours)}
        self.views[node] = View(node, self.topology, interfaces, (), ())
        self.talkers[node] = Talker(node, self)
        scheme = make_scheme("cbcb", self._options)
        assert isinstance(scheme, Cbcb)
        self.schemes[node] = scheme
        self._starts += 1
        scheme.attach(self.talkers[node], random.Random(f"{self.seed}/start/{self._starts}"))

    def flap(self, a: int, b: int) -> None:
        """A session breaks, with all that was under way in it, and another begins before anybody else saw."""
        for node, neighbour in ((a, b), (b, a)):
            self._queues.pop((node, neighbour), None)
            interface, scheme = self.views[node].interfaces[neighbour][0], self.schemes[node]
            scheme.lost(self.now_ns, interface)
            scheme.look(self.now_ns, self.views[node])
        for node, neighbour in ((a, b), (b, a)):
            self._join(node, neighbour)

    def restart(self, node: int) -> None:
        """A router forgets everything and is back at once; its clients keep wanting what they did."""
        wanted = self.talkers[node].store.predicate(of_router(node))
        neighbours = self.topology.neighbours(node)
        for neighbour in neighbours:
            for link in ((node, neighbour), (neighbour, node)):
                self._queues.pop(link, None)
            self.schemes[neighbour].lost(self.now_ns, self.views[neighbour].interfaces[node][0])
            self.schemes[neighbour].look(self.now_ns, self.views[neighbour])
        self._open(node)
        self.talkers[node].store.replace(of_router(node), wanted)
        for neighbour in neighbours:
            self._join(node, neighbour)
            self._join(neighbour, node)

    def _join(self, node: int, neighbour: int) -> None:
        interface, scheme = self.views[node].interfaces[neighbour][0], self.schemes[node]
        scheme.joined(self.now_ns, interface, neighbour)
        scheme.look(self.now_ns, self.views[node])

    def post(self, node: int, interface: int, kind: int, payload: bytes) -> None:
        neighbour = next(n for n, (i,) in self.views[node].interfaces.items() if i == interface)
        self._queues.setdefault((node, neighbour), deque()).append((kind, payload))
        self.sent_kinds[Kind(kind).name] += 1
        self.said_bytes += len(payload)

    def want(self, node: int, predicate: str) -> None:
        """The clients of a router want this from now on."""
        self.talkers[node].store.replace(of_router(node), encode_predicate(parse_predicate(predicate)))
        self.schemes[node].look(self.now_ns, self.views[node])

    def step(self) -> bool:
        """Deliver one payload from one link; False if there is none."""
        waiting = sorted(link for link, queue in self._queues.items() if queue)
        if not waiting:
            return False
        sender, receiver = self.rng.choice(waiting)
        kind, payload = self._queues[sender, receiver].popleft()
        interface = self.views[receiver].interfaces[sender][0]
        self.schemes[receiver].take(self.now_ns, interface, kind, payload)
        return True

    def settle(self, within_ns: int = QUIET) -> None:
        """Deliver everything, and let timers come, until nobody wants to say any more."""
        end = self.now_ns + within_ns
        while True:
            while self.step():
                pass
            if all(scheme.settled for scheme in self.schemes.values()):
                return
            assert self.tick(end), f"seed {self.seed}: not settled"

    def run(self, for_ns: int) -> None:
        """Let time pass."""
        end = self.now_ns + for_ns
        while self.step() or self.tick(end):
            pass
        self.now_ns = end

    def tick(self, end: int) -> bool:
        """Let the next timer come, or half of the time until then if payloads are under way."""
        due = min((d for s in self.schemes.values() if (d := s.next_deadline()) is not None), default=end + 1)
        if due > end:
            return False
        self.now_ns = max(self.now_ns, due)
        for scheme in self.schemes.values():
            deadline = scheme.next_deadline()
            if deadline is not None and deadline <= self.now_ns:
                scheme.handle_timer(self.now_ns)
        return True

    def held(self) -> dict[tuple[int, int], bytes]:
        """What each router has learned, by (router, neighbour)."""
        hops = {(u, hop) for u in self.topology.nodes for hop in self.topology.first_hops(u).values()}
        return {(u, w): self.talkers[u].store.predicate(learned(w)) for u, w in sorted(hops)}

    def central(self) -> dict[tuple[int, int], bytes]:
        """F*_u(w), by (router, neighbour): the predicates of all whose next hop is w (E7)."""
        wanted: dict[tuple[int, int], list[bytes]] = {}
        for u in self.topology.nodes:
            for v, hop in self.topology.first_hops(u).items():
                wanted.setdefault((u, hop), []).append(self.talkers[v].store.predicate(of_router(v)))
        return {pair: reduced_union(predicates) for pair, predicates in sorted(wanted.items())}

    def lacking(self) -> list[tuple[int, int]]:
        """Where F* wants more than is held: messages may be lost there."""
        held, central = self.held(), self.central()
        return [pair for pair in central if reduced_union([held[pair], central[pair]]) != held[pair]]

    def reached(self, source: int) -> set[int]:
        """The routers that a message which matches everything held gets to from a source."""
        found, waiting = {source}, [source]
        while waiting:
            at = waiting.pop()
            for child in self.topology.children(at)[source]:
                if self.talkers[at].store.wants(learned(child)):
                    found.add(child)
                    waiting.append(child)
        return found

"""The exchange of a scheme's own payloads: a router's side of a `TalkingScheme`.

Not here: what the payloads are (`schemes`), and the channels they travel in (`link`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial

from nodes.config import LimitConfig, TimerConfig
from nodes.routing.effects import Reason
from nodes.routing.link import Link, LinkDown, LinkUp
from nodes.routing.records import Rules
from nodes.routing.schemes.base import Scheme, TalkingScheme, View, talks
from nodes.routing.store import PredicateStore
from nodes.wire.packets import Kind


class SchemeExchange:
    """A `Talk` for a scheme, if it talks; else there is nothing to do.

    Args:
        node: The router's id.
        links: All its links.
        store: The router's predicates.
        limits: What a neighbour may make it hold.
        rules: What it holds of others' records, and for how long.
        timers: The router's.
        scheme: The router's scheme.
        rng: The scheme's randomness.
        changed: Called with the time when the FIB is to be made anew.
    """

    def __init__(
        self,
        node: int,
        links: Sequence[Link],
        store: PredicateStore,
        limits: LimitConfig,
        timers: TimerConfig,
        *,
        rules: Rules,
        scheme: Scheme,
        rng: random.Random,
        changed: Callable[[int], None],
    ) -> None:
        self.node = node
        self.store = store
        self.limits = limits
        self.timers = timers
        self.signatures = rules.signatures
        self.records_version = 0
        """Counts the records of others that were taken."""
        self._links = links
        self._rules = rules
        self._changed = changed
        self._scheme: TalkingScheme | None = scheme if talks(scheme) else None
        if self._scheme is not None:
            self._scheme.attach(self, rng)

    @property
    def handlers(self) -> Mapping[int, Callable[[int, Link, bytes], None]]:
        """What takes the scheme's payloads, by their kind."""
        kinds = () if self._scheme is None else sorted(self._scheme.kinds)
        return {kind: partial(self._take, kind) for kind in kinds}

    @property
    def settled(self) -> bool:
        """Whether the scheme has nothing under way."""
        return self._scheme is None or self._scheme.settled

    @property
    def names_version(self) -> int:
        """As `TalkingScheme` says; 0 for a scheme that does not talk."""
        return 0 if self._scheme is None else self._scheme.names_version

    def send(self, now_ns: int, interface: int, kind: int, payload: bytes, key: Hashable = None) -> None:
        """As `Talk` says."""
        own_key = None if key is None else (kind, key)
        self._links[interface].send(now_ns, kind, payload, own_key)

    def admits(self, interface: int, kind: Kind, origin: int, payload: bytes) -> bool:
        """As `Talk` says."""
        return self.signatures.admits_payload(self._links[interface], kind, origin, payload)

    def hold(self, now_ns: int, interface: int, kind: Kind, origin: int, size: int) -> bool:
        """As `Talk` says."""
        link = self._links[interface]
        if not self._rules.holdings.admits_origin(link, kind, origin, size):
            self._rules.ageing.refused(origin)
            return False
        held = self._rules.holdings.charge(link, kind, origin, size)
        if held:
            self._rules.ageing.stored(now_ns, origin)
            self.records_version += 1
            self._changed(now_ns)
        return held

    def may_be_forgotten(self, now_ns: int, origin: int) -> bool:
        """As `Talk` says."""
        return self._rules.ageing.may_be_forgotten(now_ns, origin)

    def origins(self) -> Collection[int]:
        """The other routers of which the scheme holds records."""
        return () if self._scheme is None else self._scheme.origins()

    def forget(self, origin: int) -> None:
        """A router is gone for good."""
        if self._scheme is not None:
            self._scheme.forget(origin)
            for kind in self._scheme.kinds:
                self._rules.holdings.release(Kind(kind), origin)

    def answer(self, now_ns: int, link: Link, origin: int) -> None:
        """A neighbour asks what the scheme holds of a router."""
        if self._scheme is not None and link.up:
            self._scheme.repeat(now_ns, link.interface.index, origin)

    def drop(self, interface: int, reason: Reason, **fields: object) -> None:
        """As `Talk` says."""
        self._links[interface].drop(reason, **fields)

    def changed(self, now_ns: int) -> None:
        """As `Talk` says."""
        self._changed(now_ns)

    def take_event(self, now_ns: int, link: Link, event: LinkUp | LinkDown, view: Callable[[], View]) -> None:
        """A link to a router came up or went down."""
        if self._scheme is None:
            return
        interface = link.interface
        if isinstance(event, LinkUp):
            self._scheme.joined(now_ns, interface.index, interface.peer_id)
        else:
            self._scheme.lost(now_ns, interface.index)
        self._scheme.look(now_ns, view())

    def look(self, now_ns: int, view: View) -> None:
        """What the router knows may have changed."""
        if self._scheme is not None:
            self._scheme.look(now_ns, view)

    def handle_timer(self, now_ns: int) -> None:
        """Do what is due."""
        due = self.next_deadline()
        if self._scheme is not None and due is not None and due <= now_ns:
            self._scheme.handle_timer(now_ns)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted."""
        return None if self._scheme is None else self._scheme.next_deadline()

    def account(self, interface: int) -> dict[str, object]:
        """What a status reports of an adjacency: digests of what was sent and received there."""
        accounts = {} if self._scheme is None else self._scheme.accounts()
        if interface not in accounts:
            return {}
        sent, received = accounts[interface]
        return {"sent_digest": sent, "received_digest": received}

    def _take(self, kind: int, now_ns: int, link: Link, payload: bytes) -> None:
        assert self._scheme is not None
        self._scheme.take(now_ns, link.interface.index, kind, payload)

"""The link between a router and a scheme that talks: who has joined, what is sent, what arrives.

Not here: what is said (`schemes`), and the channels it travels in (`link`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence

from nodes.config import LimitConfig
from nodes.routing.drops import Reason
from nodes.routing.link import Link, LinkDown, LinkUp
from nodes.routing.schemes.base import TalkingScheme, View
from nodes.routing.store import PredicateStore


class Conversation:
    """A `Talk` for one scheme, and the scheme's side of what happens to the router.

    Args:
        node: The router's id.
        links: All its links.
        store: The router's predicates.
        limits: What a neighbour may make it hold.
        changed: To be told, with the time, that tables are to be made anew.
    """

    def __init__(
        self,
        node: int,
        links: Sequence[Link],
        store: PredicateStore,
        limits: LimitConfig,
        changed: Callable[[int], None],
    ) -> None:
        self.node = node
        self.store = store
        self.limits = limits
        self._links = links
        self._changed = changed
        self._scheme: TalkingScheme | None = None

    def join(self, scheme: TalkingScheme, rng: random.Random) -> None:
        """Let the scheme speak; once, before all else."""
        self._scheme = scheme
        scheme.attach(self, rng)

    @property
    def settled(self) -> bool:
        """Whether the scheme has nothing under way."""
        return self._scheme is None or self._scheme.settled

    def send(self, now_ns: int, interface: int, kind: int, payload: bytes, key: Hashable = None) -> None:
        """As `Talk` says."""
        own_key = None if key is None else (kind, key)
        self._links[interface].send(now_ns, kind, payload, own_key)

    def drop(self, interface: int, reason: Reason, **fields: object) -> None:
        """As `Talk` says."""
        self._links[interface].drop(reason, **fields)

    def changed(self, now_ns: int) -> None:
        """As `Talk` says."""
        self._changed(now_ns)

    def hears(self, kind: int) -> bool:
        """Whether the scheme takes payloads of this kind."""
        return self._scheme is not None and kind in self._scheme.kinds

    def take(self, now_ns: int, link: Link, kind: int, payload: bytes) -> None:
        """Hand the scheme a payload of a neighbouring router.

        Raises:
            WireError: It is malformed.
        """
        assert self._scheme is not None
        self._scheme.take(now_ns, link.interface.index, kind, payload)

    def note(self, now_ns: int, link: Link, event: LinkUp | LinkDown, view: Callable[[], View]) -> None:
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
        """What a status says of an adjacency: the digests of what was told and heard there."""
        accounts = {} if self._scheme is None else self._scheme.accounts()
        if interface not in accounts:
            return {}
        told, heard = accounts[interface]
        return {"told_digest": told, "heard_digest": heard}

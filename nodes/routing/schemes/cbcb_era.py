"""Eras: which trees the routers agree on, and since when nothing that was sent got lost.

All that `cbcb` keeps beyond predicates is true of one topology and of sessions
that have not broken since. So routers agree on more than the topology: each
has a record that is renewed whenever a link of its comes up or a parallel link
goes, and these records are flooded as link state is. The era is a digest over
the topology and its routers' records. Whatever may have lost a payload (a
restart, a flap too short for the topology to show, a parallel link) thereby
begins a new era at every router; and as records carry a number drawn at random,
an era never comes back.

`Links` are the neighbours at the ends of the links, with a running digest for each
direction of a session. Channels are ordered and lose nothing, so the two ends'
digests agree exactly when everything has arrived.

Not here: what is done in a new era (`cbcb`), the channels (`nodes.routing.channel`).
"""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nodes.routing.numbers import Order
from nodes.routing.records import Records, head
from nodes.routing.schemes.base import Talk, View
from nodes.routing.trees import Topology
from nodes.wire.codec import WireError
from nodes.wire.packets import Kind
from nodes.wire.scheme_payloads import split_records

NONCE = struct.Struct(">Q")
DIGEST_BYTES = 16


class Eras:
    """The records of all routers, and what follows for one of them."""

    def __init__(self, talk: Talk, rng: random.Random) -> None:
        self.id = 0
        self.hops: dict[int, int] = {}
        """The neighbour on the way to each other router: the reverse path of what it issues."""
        self._talk = talk
        self._node = talk.node
        self._rng = rng
        self._signatures = talk.signatures
        self._records = Records(Kind.CBCB_ERA, talk.node, b"", talk.timers.renumber_ms, talk.signatures)
        self._early: dict[int, bytes] = {}
        self._known: dict[int, bytes] = {}
        self._seen: tuple[object, int] | None = None
        self._children: dict[int, list[int]] = {}
        self._topology: Topology | None = None

    @property
    def settled(self) -> bool:
        """Whether nothing is contradicted, and nothing known that is not taken yet."""
        return self._records.settled

    def next_deadline(self) -> int | None:
        """When `take_due` has something to do."""
        times = (self._records.own.returns_at, self._records.numbering.next_deadline())
        return min((at for at in times if at is not None), default=None)

    def take_due(self, now_ns: int) -> tuple[list[bytes], bool]:
        """Records that came early, which are taken now, and whether ours has to be renewed."""
        due = self._records.numbering.take_due(now_ns)
        early = [self._early.pop(origin) for origin in due if origin in self._early]
        returned = self._records.own.go_back(now_ns)
        if returned:
            self._records.withdraw()
        for record in early:
            self._store(now_ns, record)
        return self._payloads_of(early), returned

    def renew(self, now_ns: int) -> list[bytes]:
        """Say that a link of ours came or went: what to flood."""
        payload = self._records.originate(now_ns, NONCE.pack(self._rng.randrange(1 << 64)))
        assert payload is not None, "64 random bits came twice in a row"
        self._known[self._node] = payload
        return [payload]

    def everything(self) -> list[bytes]:
        """All records, as payloads for a new neighbour."""
        return self._payloads_of([payload for _, payload in self._records.payloads()])

    def payload(self, origin: int) -> bytes | None:
        """The record of a router."""
        return self._records.payload(origin)

    def origins(self) -> Collection[int]:
        """The other routers whose records are held."""
        return self._known.keys() - {self._node}

    def forget(self, origin: int) -> None:
        """A router is gone for good."""
        self._records.forget(origin)
        self._known.pop(origin, None)
        self._early.pop(origin, None)

    def take(
        self, now_ns: int, link: tuple[int, int], payload: bytes
    ) -> tuple[list[bytes], list[bytes], bool]:
        """Learn records: payloads of those that were news, of what the sender lacks, whether to renew ours.

        Args:
            now_ns: the time.
            link: the interface they came by, and the router at its end.
            payload: the records.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        records = [record for record in self._split(payload) if self._admits(link[0], record)]
        orders = [(record, self._records.consider(now_ns, record)) for record in records]
        others = [(record, order) for record, order in orders if head(record)[0] != self._node]
        news = [r for r, order in others if order is Order.NEWER and self._has_room(now_ns, link[0], r)]
        returned = [record for record in news if self._store(now_ns, record)]
        for record in [record for record, order in others if order is Order.EARLY]:
            origin = head(record)[0]
            self._early[origin] = max(record, self._early.get(origin, b""))
        lacking = [
            head(record)[0] for record, order in orders if self._lacks_ours(now_ns, link[1], record, order)
        ]
        superseded = Order.NEWER in [order for record, order in orders if head(record)[0] == self._node]
        if superseded:
            self._records.withdraw()
        ours = [self._records.payload(origin) for origin in lacking]
        back = sorted({*returned, *(record for record in ours if record is not None)})
        return self._payloads_of(news), self._payloads_of(back), superseded

    def _split(self, payload: bytes) -> list[bytes]:
        """The records of a payload; where they are signed it has one, with its signature."""
        records = split_records(self._signatures.record(payload))
        if not self._signatures.required:
            return records
        if len(records) > 1:
            raise WireError(f"a payload with a signature has one record; this has {len(records)}")
        return [payload]

    def _payloads_of(self, records: list[bytes]) -> list[bytes]:
        """What carries these records, which are in order."""
        if self._signatures.required:
            return records
        return [b"".join(records)] if records else []

    def _admits(self, interface: int, record: bytes) -> bool:
        proved = (interface, Kind.CBCB_ERA, head(record)[0], record)
        return not self._records.may_be_news(record) or self._talk.admits(*proved)

    def _has_room(self, now_ns: int, interface: int, record: bytes) -> bool:
        return self._talk.hold(now_ns, interface, Kind.CBCB_ERA, head(record)[0], len(record))

    def _lacks_ours(self, now_ns: int, sender: int, record: bytes, order: Order) -> bool:
        """Whether who sent a record can have missed the one that we hold."""
        origin = head(record)[0]
        unusual = origin == sender or self._records.numbering.is_unusual(origin)
        may_lack = unusual or self._talk.may_be_forgotten(now_ns, origin)
        return order is Order.STALE or (order is Order.OLDER and origin != self._node and may_lack)

    def _store(self, now_ns: int, record: bytes) -> bool:
        self._known[head(record)[0]] = record
        self._early.pop(head(record)[0], None)
        return self._records.store(now_ns, record)

    def see(self, view: View) -> bool:
        """Whether it is another era than before."""
        seen = (view.topology, self._records.version)
        if seen == self._seen:
            return False
        self._seen = seen
        whole = hashlib.sha256(view.topology.digest.encode())
        for router in view.topology.nodes:
            whole.update(self._known.get(router, b""))
        era = int.from_bytes(whole.digest()[:8], "big")
        if era == self.id:
            return False
        self.id, self._topology = era, view.topology
        self.hops = view.topology.first_hops(view.node)
        self._children = {v: list(to) for v, to in view.topology.children(view.node).items() if to}
        return True

    def children(self, issuer: int) -> list[int]:
        """Our children in the tree of a router."""
        return self._children.get(issuer, [])

    def between(self, a: int, b: int) -> bool:
        """Whether we are on the way between two routers."""
        return self._topology is not None and self._node in self._topology.path(a, b)


@dataclass(slots=True)
class _Link:
    neighbour: int
    sent: bytes = b""
    received: bytes = b""


class Links:
    """The links that have joined, by interface."""

    def __init__(self) -> None:
        self._links: dict[int, _Link] = {}

    def join(self, interface: int, neighbour: int) -> None:
        """A link is up."""
        self._links[interface] = _Link(neighbour)

    def leave(self, interface: int) -> int:
        """A link is not up any more; returns who was at its end."""
        return self._links.pop(interface).neighbour

    def __contains__(self, interface: int) -> bool:
        return interface in self._links

    def neighbour(self, interface: int) -> int:
        """Who is at the end of a link."""
        return self._links[interface].neighbour

    def to(self, neighbour: int) -> list[int]:
        """The interfaces to a neighbour."""
        return [interface for interface, link in sorted(self._links.items()) if link.neighbour == neighbour]

    def note_sent(self, interface: int, kind: int, payload: bytes) -> None:
        """We have sent this."""
        link = self._links[interface]
        link.sent = _next(link.sent, kind, payload)

    def note_received(self, interface: int, kind: int, payload: bytes) -> None:
        """We have received this."""
        link = self._links[interface]
        link.received = _next(link.received, kind, payload)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._links))

    def accounts(self, era: int) -> dict[int, tuple[str, str]]:
        """(Sent, received) by interface; in another era they are others."""
        suffix = f"/{era:016x}"
        return {
            i: (link.sent.hex() + suffix, link.received.hex() + suffix) for i, link in self._links.items()
        }


def _next(before: bytes, kind: int, payload: bytes) -> bytes:
    digest = hashlib.blake2b(before, digest_size=DIGEST_BYTES)
    digest.update(bytes((kind,)))
    digest.update(payload)
    return digest.digest()

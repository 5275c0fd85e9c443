"""Who is joined to whom: every router's record of its links, the topology that follows, and their exchange.

A link counts only if both its ends list each other; its cost is the greater of
the two listed. Records of dead routers lead nowhere, as their neighbours no
longer list them, until they are forgotten.

A record is flooded: passed on to all neighbouring routers but the one it came
from. The channels are reliable and a new neighbour is sent every record, so
what was flooded once reaches every router; there is nothing to repeat.

Not here: which record is news and how much is held (`records`), trees (`trees`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from fastpath.wire import codec
from nodes.routing.link import Link
from nodes.routing.numbers import Order
from nodes.routing.pending import Pending
from nodes.routing.records import HEAD, Records, Rules, head
from nodes.routing.signatures import UNSIGNED, Signatures
from nodes.routing.trees import Edge, Topology
from nodes.wire.packets import Kind

NO_LINKS = codec.encode_link_state(1, 0, [])[HEAD.size :]


class LinkStateDatabase:
    """The records of all routers' links."""

    def __init__(self, node: int, renumber_ms: int, signatures: Signatures = UNSIGNED) -> None:
        self.records = Records(Kind.LINK_STATE, node, NO_LINKS, renumber_ms, signatures)
        self._signatures = signatures
        self._node = node
        self._listed: dict[int, dict[int, int]] = {}
        self._topology: Topology | None = None
        self._listed_routers: set[int] | None = None
        self._listing: dict[frozenset[int], tuple[int, ...]] = {}

    def originate(self, now_ns: int, neighbours: Mapping[int, int]) -> bytes | None:
        """Record our neighbours and their costs: the payload to flood, or None if nothing changed."""
        pairs = sorted(neighbours.items())
        payload = self.records.originate(now_ns, codec.encode_link_state(self._node, 0, pairs)[HEAD.size :])
        if payload is not None:
            self._learn(payload)
        return payload

    def store(self, now_ns: int, payload: bytes) -> bool:
        """Keep a record that `records.consider` found newer; whether its origin went back (`numbers`).

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        self._learn(payload)
        return self.records.store(now_ns, payload)

    def forget(self, origin: int) -> None:
        """An origin is gone for good."""
        self.records.forget(origin)
        self._listed.pop(origin, None)
        self._forget_found()

    def neighbours(self, origin: int) -> list[int]:
        """The routers that an origin lists."""
        return list(self._listed.get(origin, ()))

    def listed(self) -> set[int]:
        """The routers we are connected with, and those that they list."""
        if self._listed_routers is None:
            nodes, listed = self.topology().nodes, self._listed
            self._listed_routers = {*nodes, *(other for node in nodes for other in listed.get(node, ()))}
        return self._listed_routers

    def listed_by(self, joined: Collection[int]) -> tuple[int, ...]:
        """The routers that list us and that we are not joined to, as far as our neighbours are connected."""
        known = frozenset(joined)
        if known not in self._listing:
            self._listing = {known: self._found_listing(known)}
        return self._listing[known]

    def _found_listing(self, joined: Collection[int]) -> tuple[int, ...]:
        found, seen = sorted(joined), {self._node, *joined}
        for router in found:  # grows while it is walked
            news = [other for other in self._both_list(router) if other not in seen]
            found += news
            seen.update(news)
        return tuple(o for o in found if o not in joined and self._node in self._listed.get(o, ()))

    def _both_list(self, router: int) -> list[int]:
        listed = self._listed
        return [other for other in listed.get(router, ()) if router in listed.get(other, ())]

    def topology(self) -> Topology:
        """The network as far as we are connected with it."""
        if self._topology is None:
            self._topology = Topology.around(self._node, self._edges())
        return self._topology

    def _learn(self, payload: bytes) -> None:
        origin, _, neighbours = codec.decode_link_state(self._signatures.record(payload))
        self._listed[origin] = dict(neighbours)
        self._forget_found()

    def _forget_found(self) -> None:
        """What was found out from the records may be otherwise now."""
        self._topology = self._listed_routers = None
        self._listing = {}

    def _edges(self) -> list[Edge]:
        listed = self._listed
        return [
            (origin, other, max(cost, listed[other][origin]))
            for origin, neighbours in listed.items()
            for other, cost in neighbours.items()
            if origin < other and origin in listed.get(other, ())
        ]


class LinkStateExchange:
    """What neighbouring routers send us of links, and what we send them.

    Args:
        node: Our id.
        links: Our links to routers.
        rules: What we hold, and for how long.
        renumber_ms: How long the last class of numbers is held.
        announcement: When our own record is to be made anew.
        changed: Called with the time when a record is new.
        returned: Called with the time and routers that may have been forgotten and are mentioned again.
    """

    def __init__(
        self,
        node: int,
        links: Sequence[Link],
        *,
        rules: Rules,
        renumber_ms: int,
        announcement: Pending,
        changed: Callable[[int], None],
        returned: Callable[[int, list[int]], None],
    ) -> None:
        self.database = LinkStateDatabase(node, renumber_ms, rules.signatures)
        self.announcement = announcement
        self._records = self.database.records
        self._node = node
        self._links = links
        self._rules = rules
        self._changed = changed
        self._returned = returned

    def interfaces(self) -> dict[int, tuple[int, ...]]:
        """The live interfaces to each neighbouring router, the cheapest first."""
        found: dict[int, list[tuple[int, int]]] = {}
        for link in self._links:
            if link.up:
                interface = link.interface
                found.setdefault(interface.peer_id, []).append((interface.cost, interface.index))
        return {peer: tuple(index for _, index in sorted(pairs)) for peer, pairs in sorted(found.items())}

    def joined(self, now_ns: int, link: Link) -> None:
        """Send a new neighbour every record; what it sends meanwhile is not sent back (`take_record`)."""
        for origin, payload in self._records.payloads():
            link.send(now_ns, Kind.LINK_STATE, payload, key=(Kind.LINK_STATE, origin))

    def handle_timer(self, now_ns: int) -> None:
        """Announce our links if that is due and they have changed."""
        if self._records.own.go_back(now_ns):
            self._records.withdraw()
            self.announcement.want(now_ns)
        if self.announcement.take(now_ns):
            payload = self.database.originate(now_ns, self._costs())
            if payload is not None:
                self._flood(now_ns, payload)

    def take_record(self, now_ns: int, link: Link, payload: bytes) -> None:
        """LINK_STATE.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        origin, sequence = head(payload)
        rules, signed = self._rules, (Kind.LINK_STATE, origin, payload)
        if self._records.may_be_news(payload) and not rules.signatures.admits_payload(link, *signed):
            return
        order = self._records.consider(now_ns, payload)
        if order in (Order.NEWER, Order.SAME):
            link.forget((Kind.LINK_STATE, origin))
        if order is Order.STALE or (order is Order.OLDER and self._lacks_ours(now_ns, link, origin)):
            self.answer(now_ns, link, origin)
        elif order is Order.NEWER and origin == self._node:
            rules.identity.superseded(now_ns, Kind.LINK_STATE, sequence, self.announcement)
            self._records.withdraw()
        elif order is Order.NEWER:
            codec.decode_link_state(rules.signatures.record(payload))
            self._take_newer(now_ns, link, payload)

    def _lacks_ours(self, now_ns: int, link: Link, origin: int) -> bool:
        """Whether who sent an older record can have missed the one that we hold."""
        unusual = self._records.numbering.is_unusual(origin) or origin == link.interface.peer_id
        return unusual or self._rules.ageing.may_be_forgotten(now_ns, origin)

    def _take_newer(self, now_ns: int, link: Link, payload: bytes) -> None:
        origin, _ = head(payload)
        if not self._rules.holdings.admits_origin(link, Kind.LINK_STATE, origin, len(payload)):
            self._rules.ageing.refused(origin)
        elif self._rules.holdings.charge(link, Kind.LINK_STATE, origin, len(payload)):
            returned = self.database.store(now_ns, payload)
            self._rules.ageing.stored(now_ns, origin)
            self._flood(now_ns, payload, None if returned else link)
            self._returned(now_ns, [origin, *self.database.neighbours(origin)])

    def answer(self, now_ns: int, link: Link, origin: int) -> None:
        """Send one neighbour what we hold of an origin."""
        payload = self._records.payload(origin)
        if payload is not None:
            link.send(now_ns, Kind.LINK_STATE, payload, key=(Kind.LINK_STATE, origin))

    def forget(self, origin: int) -> None:
        """An origin is gone for good."""
        self.database.forget(origin)
        self._rules.holdings.release(Kind.LINK_STATE, origin)

    def _costs(self) -> dict[int, int]:
        if self._rules.identity.refused:
            return {}
        costs = {link.interface.index: link.interface.cost for link in self._links}
        return {neighbour: costs[best] for neighbour, (best, *_) in self.interfaces().items()}

    def _flood(self, now_ns: int, payload: bytes, source: Link | None = None) -> None:
        """Send a record to all neighbours but its source; it replaces an older one that still waits."""
        self._changed(now_ns)
        key = (Kind.LINK_STATE, head(payload)[0])
        for link in self._links:
            if link.up and link is not source:
                link.send(now_ns, Kind.LINK_STATE, payload, key)

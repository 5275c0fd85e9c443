"""Advertisements and subscriptions that meet where links say so: `bp`, `bs`, `amsp` (MM 2, 5).

Publications go down p-links and subscriptions up s-links; where both come, they are compared, and
matches go to both ends (decision 31). `bp` has p-links alone (broadcast publications), so that routers of
subscribers find the matches; `bs` has s-links alone (broadcast subscriptions), and those of publishers do.
`amsp` marks each link by what is cheaper as things are (`amsp`).

A message goes to a neighbour within its source's tree if it matches the subscription of a match that
leads there. That it is within the publication the first router has checked, where clients must
advertise; where they need not, each router publishes one descriptor, of anything.

Every router announces whether it publishes and subscribes (`matchmaker_costs`), so that descriptors go
only towards those for whom they are.

Not here: what is held and told (`fastpath.meeting`), where it goes (`matchmaker_trees`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar

from mypy_extensions import mypyc_attr

from fastpath.meeting import OURS, Change, Meeting, Outcome, Telling
from nodes.model.meeting import Key
from nodes.routing.effects import Reason
from nodes.routing.pending import earlier
from nodes.routing.predicates import predicate_of
from nodes.routing.schemes.base import FibSpec, Options, Talk, View, learned
from nodes.routing.schemes.matchmaker_costs import Costs
from nodes.routing.schemes.matchmaker_links import Link
from nodes.routing.schemes.matchmaker_marks import Shape
from nodes.routing.schemes.matchmaker_own import Own
from nodes.routing.schemes.matchmaker_soft import Lifetimes
from nodes.routing.schemes.matchmaker_trees import Trees
from nodes.routing.schemes.psf import source_tables
from nodes.routing.schemes.siena_relations import ADVERTISEMENTS, SUBSCRIPTIONS, Clients
from nodes.routing.schemes.siena_trees import on_shared_tree
from nodes.routing.trees import Topology
from nodes.wire.codec import WireError
from nodes.wire.matchmaker_payloads import CostAnnounce, DescriptorUpdate
from nodes.wire.packets import Kind

SORTS = ("PCD", "SCD", "MCD")
ANYTHING = 1
"""The number of the descriptor of a router whose clients need not advertise."""
TAKEN = int(Outcome.TAKEN)
NETWORK_OF_ONE = Topology.intern((1,), ())
Handler = Callable[[int, int, bytes], None]


@mypyc_attr(allow_interpreted_subclasses=True)
class Matchmaker:
    """What the schemes have in common; how links are marked is theirs."""

    floods_interest: ClassVar[bool] = False
    floods_offers: ClassVar[bool] = False
    kinds: ClassVar[frozenset[int]] = frozenset(
        {
            int(Kind.COST_ANNOUNCE),
            int(Kind.CHANGE_MARKING),
            int(Kind.CHANGE_MARKING_REPLY),
            int(Kind.CD_UPDATE),
        }
    )
    begins_with_p: bool
    """How links are marked when they have joined."""

    def __init__(self, options: Options) -> None:
        self._shared = options["tree"] == "shared"
        self._advertised = bool(options["advertisements"])
        self._is_soft = options["state"] == "soft"
        self._refresh_ms, self._lifetime_ms = int(options["refresh_ms"]), int(options["lifetime_ms"])
        self._links: dict[int, Link] = {}
        self._basis: object = None
        self._network: object = None
        """The network and the links that the trees were made of."""
        self._shape = Shape.of(NETWORK_OF_ONE, frozenset(), frozenset())
        self._wanting: set[int] = set()
        """The routers towards which messages are forwarded."""
        self.names_version = 0
        """Counts the changes of `_wanting`."""
        self._handlers: dict[int, Handler] = {
            Kind.COST_ANNOUNCE: self._take_costs,
            Kind.CD_UPDATE: self._take_update,
        }

    def attach(self, talk: Talk, rng: random.Random) -> None:
        """As `TalkingScheme` says."""
        self._talk = talk
        self._lifetimes = Lifetimes(self._refresh_ms, self._lifetime_ms, rng) if self._is_soft else None
        self._costs = Costs(talk)
        self._view: View | None = None
        self._meeting = Meeting(talk.node)
        self._subscribed = Own(Clients(talk.store, SUBSCRIPTIONS), lambda n: Key(0, 0, talk.node, n))
        self._published = Own(Clients(talk.store, ADVERTISEMENTS), lambda n: Key(talk.node, n, 0, 0))
        if not self._advertised:
            self._meeting.put(Key(talk.node, ANYTHING, 0, 0), None)

    @property
    def settled(self) -> bool:
        """Whether all that was received has been acted upon, and no mark is changing."""
        return self._costs.settled and all(link.asked_ns is None for link in self._links.values())

    def next_deadline(self) -> int | None:
        """When a record is to be made anew, or taken, or something told again."""
        soft = None if self._lifetimes is None else self._lifetimes.next_deadline()
        return earlier(self._costs.next_deadline(), soft)

    def handle_timer(self, now_ns: int) -> None:
        """Take records that came early; let expire what is not told any more, and tell again what is ours."""
        if self._lifetimes is not None:
            self._age(now_ns, self._lifetimes)
        early, ours = self._costs.take_due(now_ns)
        for payload in early:
            self._spread(now_ns, payload)
        if early or ours:
            self._announce(now_ns)
            self._turn(now_ns)

    def origins(self) -> Collection[int]:
        """The other routers whose records are held."""
        return self._costs.origins()

    def forget(self, origin: int) -> None:
        """A router is gone for good."""
        self._costs.forget(origin)

    def repeat(self, now_ns: int, interface: int, origin: int) -> None:
        """A neighbour asks for a router's record."""
        payload = self._costs.payload(origin)
        if payload is not None and interface in self._links:
            self._talk.send(now_ns, interface, Kind.COST_ANNOUNCE, payload)

    def joined(self, now_ns: int, interface: int, neighbour: int) -> None:
        """As `TalkingScheme` says; `look` finds what else is to be sent."""
        link = Link(interface, neighbour, self.begins_with_p, self.begins_with_p, self._meeting)
        self._links[interface] = link
        link.join()
        for payload in self._costs.payloads():
            self._talk.send(now_ns, interface, Kind.COST_ANNOUNCE, payload)

    def lost(self, now_ns: int, interface: int) -> None:
        """As `TalkingScheme` says."""
        del now_ns, self._links[interface]
        self._meeting.lose(interface)

    def look(self, now_ns: int, view: View) -> None:
        """As `TalkingScheme` says: turn to the trees there are now, and to what our clients hold."""
        self._view = view
        if self._lifetimes is not None:
            self._lifetimes.start(now_ns)
        changed = [0, 0]
        for which, own in enumerate((self._published, self._subscribed)):
            came, went = own.take_changes(now_ns)
            for key, filter_ in came:
                self._meeting.put(key, filter_)
            for key in went:
                self._meeting.take_back(key)
            changed[which] = max(len(came), len(went))
        self._own_changed(now_ns, *changed)
        self._announce(now_ns)
        self._turn(now_ns)

    def take(self, now_ns: int, interface: int, kind: int, payload: bytes) -> None:
        """As `TalkingScheme` says.

        Raises:
            WireError: It is malformed.
        """
        handler = self._handlers.get(kind)
        if handler is None:
            self._talk.drop(interface, Reason.UNEXPECTED_KIND)
        else:
            handler(now_ns, interface, payload)

    def accounts(self) -> Mapping[int, tuple[str, str]]:
        """As `TalkingScheme` says."""
        known = self._costs.digest(() if self._view is None else self._view.topology.nodes)
        found, node, used = {}, self._talk.node, self._shape.users
        for interface, link in self._links.items():
            out, in_ = link.marks()
            # The mark of a link that no tree uses is nobody's business, and nobody tells it.
            out = out if (node, link.neighbour) in used else ""
            in_ = in_ if (link.neighbour, node) in used else ""
            sent, received = self._meeting.digests(interface)
            found[interface] = f"{sent}{out}{known}", f"{received}{in_}{known}"
        return found

    @property
    def descriptors(self) -> Mapping[str, int]:
        """How many PCDs, SCDs and MCDs are held, each once, whoever told it."""
        return dict(zip(SORTS, self._meeting.counts(), strict=True))

    def marks(self) -> Mapping[int, bool]:
        """By neighbour: whether the link to it is a p-link, as we have it who are upstream."""
        return {link.neighbour: link.is_p_out for link in self._links.values()}

    def compile(self, view: View) -> FibSpec:
        """The classes of PSF over what was learned, by subscriber."""
        view = on_shared_tree(view) if self._shared else view
        everyone = {source: source for source in view.topology.nodes}
        return source_tables(view, everyone, tuple(sorted(self._wanting)), learned)

    # What `amsp` does besides.

    def _own_changed(self, now_ns: int, published: int, wanted: int) -> None:
        """So many descriptors of ours have changed."""

    def _own_repeated(self, now_ns: int, published: int, wanted: int) -> None:
        """So many of ours are told again."""

    def _refuse(self, now_ns: int, interface: int, key: Key) -> None:
        """A descriptor came over a link that does not carry its sort."""
        del now_ns, key  # It may have crossed our reply to a change; then its sender knows by now.
        self._talk.drop(interface, Reason.STALE_PAYLOAD)

    def _record(self) -> CostAnnounce:
        """What we announce of ourselves; its sequence is not looked at."""
        publishes = not self._advertised or len(self._published) > 0
        return CostAnnounce(self._talk.node, 0, publishes, len(self._subscribed) > 0, 0, 0, ())

    def _decide(self, now_ns: int) -> None:
        """Mark links as is best now."""

    # Records.

    def _announce(self, now_ns: int) -> None:
        """Tell everybody of ourselves, if that is news."""
        payload = self._costs.announce(now_ns, self._record())
        if payload is not None:
            self._spread(now_ns, payload)

    def _take_costs(self, now_ns: int, interface: int, payload: bytes) -> None:
        neighbour = self._links[interface].neighbour
        answer = self._costs.take(now_ns, interface, neighbour, payload)
        if answer.back is not None:
            self._talk.send(now_ns, interface, Kind.COST_ANNOUNCE, answer.back)
        if answer.renew:
            self._announce(now_ns)
        if answer.spread is not None:
            self._spread(now_ns, answer.spread, interface)
            self._turn(now_ns)

    def _spread(self, now_ns: int, payload: bytes, source: int | None = None) -> None:
        for interface in sorted(self._links):
            if interface != source:
                self._talk.send(now_ns, interface, Kind.COST_ANNOUNCE, payload)

    # Trees.

    def _turn(self, now_ns: int) -> None:
        """Turn to the network and the records as they are now."""
        if self._view is None:
            return
        view, joined = self._view, tuple((i, link.neighbour) for i, link in self._links.items())
        network = (view.topology, tuple(view.interfaces.items()), joined)
        if (network, self._costs.ends_version) != self._basis:
            self._basis = network, self._costs.ends_version
            seen = on_shared_tree(view) if self._shared else view
            records = {r: record for r in view.topology.nodes if (record := self._costs.of(r)) is not None}
            publishers = frozenset(r for r, record in records.items() if record.publishes)
            subscribers = frozenset(r for r, record in records.items() if record.subscribes)
            shape = Shape.of(seen.topology, publishers, subscribers)
            if (network, shape) != (self._network, self._shape):
                self._network, self._shape = network, shape
                self._turn_meeting(seen)
        self._settle(now_ns)
        self._decide(now_ns)

    def _turn_meeting(self, view: View) -> None:
        neighbours = {interface: link.neighbour for interface, link in self._links.items()}
        trees = Trees(view, neighbours, self._shape)
        self._meeting.turn(trees.next_hops, trees.ways, trees.links, trees)

    # Descriptors and matches.

    def _take_update(self, now_ns: int, interface: int, payload: bytes) -> None:
        outcome = self._meeting.take(interface, payload, self._talk.limits.filters_per_neighbour)
        if outcome != TAKEN or self._lifetimes is not None:
            self._end_take(now_ns, interface, payload, outcome)
        self._settle(now_ns)

    def _end_take(self, now_ns: int, interface: int, payload: bytes, outcome: int) -> None:
        """What there is to do besides of an update that was not simply taken."""
        update = DescriptorUpdate.decode(payload)
        if update.subscriber and update.filter is None and not update.withdrawn:
            raise WireError("what a subscriber wants has a filter; this has none")
        assert outcome != Outcome.MALFORMED, f"the kernel takes this for malformed: {payload.hex()}"
        key = Key(update.publisher, update.pcd, update.subscriber, update.scd)
        if outcome == Outcome.UNKNOWN:
            self._talk.drop(interface, Reason.UNKNOWN_SUBSCRIPTION)
        elif outcome == Outcome.REFUSED:
            self._refuse(now_ns, interface, key)
        elif outcome == Outcome.FULL:
            self._drop_too_many(interface)
        elif not update.withdrawn and self._lifetimes is not None:
            self._lifetimes.touch(now_ns, interface, key)
        if outcome == Outcome.AGAIN:
            self._meeting.again(interface, key)

    def _take_in(self, now_ns: int, interface: int, key: Key, filter_: bytes | None) -> None:
        """A descriptor has come with the change of a mark."""
        limit = self._talk.limits.filters_per_neighbour
        if self._meeting.hold(interface, key, filter_, limit) == Outcome.FULL:
            self._drop_too_many(interface)
        elif self._lifetimes is not None:
            self._lifetimes.touch(now_ns, interface, key)

    def _drop_too_many(self, interface: int) -> None:
        setting, limit = "limits.filters_per_neighbour", self._talk.limits.filters_per_neighbour
        held = self._meeting.count(interface) + 1
        self._talk.drop(interface, Reason.TOO_MANY_FILTERS, filters=held, limit=limit, setting=setting)

    # Soft state.

    def _age(self, now_ns: int, lifetimes: Lifetimes) -> None:
        for interface, key in lifetimes.take_expired(now_ns):
            if interface != OURS and self._meeting.holds(interface, key):
                self._talk.drop(interface, Reason.EXPIRED_DESCRIPTOR)
                self._meeting.withdraw(interface, key, kept=False)
            elif interface == OURS and not self._meeting.still_makes(key):
                self._meeting.unmake(key)
        self._settle(now_ns)
        if lifetimes.take_refresh(now_ns):
            self._repeat(now_ns, lifetimes)

    def _repeat(self, now_ns: int, lifetimes: Lifetimes) -> None:
        """Tell again what is ours."""
        for fields in self._meeting.ours():
            key = Key(*fields)
            if key.is_match:
                makes = self._meeting.still_makes(key)
                (lifetimes.touch if makes else lifetimes.begin)(now_ns, OURS, key)
            self._meeting.again(OURS, key)
        self._settle(now_ns)
        self._own_repeated(now_ns, len(self._published), len(self._subscribed))

    def _settle(self, now_ns: int) -> None:
        told, changes = self._meeting.settle()
        self._send_all(now_ns, told)
        self._store(now_ns, changes)

    def _send_all(self, now_ns: int, told: Sequence[Telling]) -> None:
        for interface, payload in told:
            self._talk.send(now_ns, interface, Kind.CD_UPDATE, payload)

    def _store(self, now_ns: int, changes: Sequence[Change]) -> None:
        """Bring the store up to date with what is forwarded by; tables are made of it."""
        if not changes:
            return
        store = self._talk.store
        steps: dict[int, Counter[bytes]] = {}
        for subscriber, filter_, came in changes:
            steps.setdefault(subscriber, Counter())[filter_] += 1 if came else -1
        for subscriber, step in sorted(steps.items()):
            name = learned(subscriber)
            went, new = ([f for f, by in step.items() if by == sign] for sign in (-1, 1))
            store.change(name, store.pool.read(predicate_of(went)), store.pool.read(predicate_of(new)))
            if store.wants(name) is not (subscriber in self._wanting):
                self._wanting ^= {subscriber}
                self.names_version += 1
            if subscriber not in self._wanting:
                store.forget(name)
        self._talk.changed(now_ns)


class BroadcastPublications(Matchmaker):
    """`bp`: p-links alone."""

    begins_with_p = True


class BroadcastSubscriptions(Matchmaker):
    """`bs`: s-links alone."""

    begins_with_p = False

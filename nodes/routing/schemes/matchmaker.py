"""Advertisements and subscriptions that meet where links say so: `bp` and `bs` (MM 2, 5.4; decision 31).

Publications go down p-links and subscriptions up s-links; where both come, they are compared, and
matches go to both ends. `bp` has p-links alone (broadcast publications), so that routers of
subscribers find the matches; `bs` has s-links alone (broadcast subscriptions), and those of publishers do.

A message goes to a neighbour within its source's tree if it matches the subscription of a match that
leads there. That it is within the publication the first router has checked, where clients must
advertise; where they need not, each router publishes one descriptor, of anything.

Not here: what is held and told (`matchmaker_state`), where it goes (`matchmaker_trees`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import ClassVar

from nodes.routing.effects import Reason
from nodes.routing.predicates import predicate_of
from nodes.routing.schemes.base import FibSpec, Options, Talk, View, learned
from nodes.routing.schemes.matchmaker_state import OURS, Change, Meeting, Update
from nodes.routing.schemes.matchmaker_trees import Key, Trees
from nodes.routing.schemes.psf import source_tables
from nodes.routing.schemes.siena_messages import SetDigest
from nodes.routing.schemes.siena_relations import ADVERTISEMENTS, SUBSCRIPTIONS, Clients
from nodes.routing.schemes.siena_trees import on_shared_tree
from nodes.wire.codec import WireError
from nodes.wire.matchmaker_payloads import DescriptorUpdate
from nodes.wire.packets import Kind

ANYTHING = 1
"""The number of the descriptor of a router whose clients need not advertise."""


class Matchmaker:
    """What the schemes have in common; how links are marked is theirs."""

    floods_interest: ClassVar[bool] = False
    floods_offers: ClassVar[bool] = False
    kinds: ClassVar[frozenset[int]] = frozenset({int(Kind.CD_UPDATE)})

    def __init__(self, options: Options) -> None:
        self._shared = options["tree"] == "shared"
        self._advertised = bool(options["advertisements"])
        self._links: dict[int, int] = {}
        self._sent: dict[int, SetDigest] = {}
        self._received: dict[int, SetDigest] = {}
        self._counts: Counter[int] = Counter()
        """How much is held from each link."""
        self._basis: object = None
        self._wanting: set[int] = set()
        """The routers towards which messages are forwarded."""
        self.names_version = 0
        """Counts the changes of `_wanting`."""

    def is_p_link(self, upstream: int, downstream: int) -> bool:
        """How the link between two neighbours is marked."""
        raise NotImplementedError

    def attach(self, talk: Talk, rng: random.Random) -> None:
        """As `TalkingScheme` says."""
        del rng
        self._talk = talk
        self._meeting: Meeting | None = None
        self._subscribed = _Own(Clients(talk.store, SUBSCRIPTIONS), partial(Key, 0, 0, talk.node))
        self._published = _Own(Clients(talk.store, ADVERTISEMENTS), partial(_published_by, talk.node))

    @property
    def settled(self) -> bool:
        """All that is received is acted upon at once."""
        return True

    def next_deadline(self) -> int | None:
        """No timer is used."""
        return None

    def handle_timer(self, now_ns: int) -> None:
        """Nothing is ever due."""

    def origins(self) -> Collection[int]:
        """None: what others have said is void when the link they said it over is lost."""
        return ()

    def forget(self, origin: int) -> None:
        """Nothing is held of it."""

    def repeat(self, now_ns: int, interface: int, origin: int) -> None:
        """Nothing is held of it."""

    def joined(self, now_ns: int, interface: int, neighbour: int) -> None:
        """As `TalkingScheme` says; `look` finds what is to be sent."""
        del now_ns
        self._links[interface] = neighbour
        self._sent[interface], self._received[interface] = SetDigest(), SetDigest()

    def lost(self, now_ns: int, interface: int) -> None:
        """As `TalkingScheme` says."""
        del now_ns, self._links[interface], self._sent[interface], self._received[interface]
        self._counts.pop(interface, None)
        if self._meeting is not None:
            self._meeting.lose(interface)

    def look(self, now_ns: int, view: View) -> None:
        """As `TalkingScheme` says: turn to the trees there are now, and to what our clients hold."""
        meeting = self._turn(view)
        for own in (self._subscribed, self._published):
            for key, filter_, came in own.take_changes(now_ns):
                if came:
                    meeting.put(OURS, key, filter_)
                else:
                    meeting.take_back(OURS, key)
        self._settle(now_ns)

    def take(self, now_ns: int, interface: int, kind: int, payload: bytes) -> None:
        """As `TalkingScheme` says.

        Raises:
            WireError: It is malformed.
        """
        del kind
        update = DescriptorUpdate.decode(payload)
        key = Key(update.publisher, update.pcd, update.subscriber, update.scd)
        if update.subscriber and update.filter is None and not update.withdrawn:
            raise WireError("what a subscriber wants has a filter; this has none")
        if self._meeting is None:
            self._talk.drop(interface, Reason.STALE_PAYLOAD)
        elif update.withdrawn:
            self._take_back(self._meeting, interface, key)
        else:
            self._take_in(self._meeting, interface, key, update.filter)
        self._settle(now_ns)

    def accounts(self) -> Mapping[int, tuple[str, str]]:
        """As `TalkingScheme` says."""
        return {i: (self._sent[i].digest, self._received[i].digest) for i in self._links}

    def compile(self, view: View) -> FibSpec:
        """The classes of PSF over what was learned, by subscriber."""
        view = on_shared_tree(view) if self._shared else view
        everyone = {source: source for source in view.topology.nodes}
        return source_tables(view, everyone, tuple(sorted(self._wanting)), learned)

    def _turn(self, view: View) -> Meeting:
        basis = (view.topology, tuple(view.interfaces.items()), tuple(self._links.items()))
        if self._meeting is None or basis != self._basis:
            self._basis = basis
            seen = on_shared_tree(view) if self._shared else view
            trees = Trees(seen, dict(self._links), self.is_p_link)
            if self._meeting is None:
                self._meeting = self._begin(trees)
            else:
                self._meeting.turn(trees)
        return self._meeting

    def _begin(self, trees: Trees) -> Meeting:
        meeting = Meeting(trees)
        if not self._advertised:
            meeting.put(OURS, Key(self._talk.node, ANYTHING, 0, 0), None)
        return meeting

    def _take_in(self, meeting: Meeting, interface: int, key: Key, filter_: bytes | None) -> None:
        limit = self._talk.limits.filters_per_neighbour
        if self._counts[interface] >= limit:
            setting, held = "limits.filters_per_neighbour", self._counts[interface] + 1
            self._talk.drop(interface, Reason.TOO_MANY_FILTERS, filters=held, limit=limit, setting=setting)
        elif meeting.put(interface, key, filter_):
            self._counts[interface] += 1
            _toggle(self._received[interface], key)

    def _take_back(self, meeting: Meeting, interface: int, key: Key) -> None:
        if meeting.take_back(interface, key):
            self._counts[interface] -= 1
            _toggle(self._received[interface], key)
        else:
            self._talk.drop(interface, Reason.UNKNOWN_SUBSCRIPTION)

    def _settle(self, now_ns: int) -> None:
        if self._meeting is None:
            return
        updates, changes = self._meeting.settle()
        for update in updates:
            self._send(now_ns, update)
        if changes:
            self._store(changes)
            self._talk.changed(now_ns)

    def _send(self, now_ns: int, update: Update) -> None:
        if update.interface in self._links:
            payload = DescriptorUpdate(*update.key, update.filter, update.withdrawn).encode()
            _toggle(self._sent[update.interface], update.key)
            self._talk.send(now_ns, update.interface, Kind.CD_UPDATE, payload)

    def _store(self, changes: list[Change]) -> None:
        """Bring the store up to date with what is forwarded by; tables are made of it."""
        store = self._talk.store
        steps: dict[int, Counter[bytes]] = {}
        for change in changes:
            steps.setdefault(change.subscriber, Counter())[change.filter] += 1 if change.came else -1
        for subscriber, step in sorted(steps.items()):
            name = learned(subscriber)
            went, came = ([f for f, by in step.items() if by == sign] for sign in (-1, 1))
            store.change(name, store.pool.read(predicate_of(went)), store.pool.read(predicate_of(came)))
            if store.wants(name) is not (subscriber in self._wanting):
                self._wanting ^= {subscriber}
                self.names_version += 1
            if subscriber not in self._wanting:
                store.forget(name)


class BroadcastPublications(Matchmaker):
    """`bp`."""

    def is_p_link(self, upstream: int, downstream: int) -> bool:
        """All are."""
        del upstream, downstream
        return True


class BroadcastSubscriptions(Matchmaker):
    """`bs`."""

    def is_p_link(self, upstream: int, downstream: int) -> bool:
        """None is."""
        del upstream, downstream
        return False


class _Own:
    """The descriptors of our own clients: their filters, each once, under numbers that are not used again."""

    def __init__(self, clients: Clients, key: partial[Key]) -> None:
        self._clients = clients
        self._key = key
        self._uses: Counter[bytes] = Counter()
        self._keys: dict[bytes, Key] = {}
        self._last = 0

    def take_changes(self, now_ns: int) -> Iterator[tuple[Key, bytes, bool]]:
        """(Descriptor, its filter, whether it came) since last asked."""
        came, went = list[bytes](), list[bytes]()
        for _, new, gone in self._clients.take_changes():
            came += new
            went += gone
        for filter_ in came:
            self._uses[filter_] += 1
            if filter_ not in self._keys:
                self._last = max(self._last + 1, now_ns)
                self._keys[filter_] = self._key(self._last)
                yield self._keys[filter_], filter_, True
        for filter_ in went:
            self._uses[filter_] -= 1
            if not self._uses[filter_]:
                del self._uses[filter_]
                yield self._keys.pop(filter_), filter_, False


def _published_by(node: int, number: int) -> Key:
    return Key(node, number, 0, 0)


def _toggle(digest: SetDigest, key: Key) -> None:
    digest.toggle(0, b"".join(part.to_bytes(8) for part in key))

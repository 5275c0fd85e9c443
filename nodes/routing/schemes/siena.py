"""Siena: subscriptions are forwarded, pruned by the filters that cover them (ADR 3.4, 3.5; S1-S3, E15).

Each router sends its neighbours on a tree what is wanted beyond it, unless they
were sent something that covers it. A message goes where something was received
that it matches. Options:

- `tree`: `shared`, one tree of the network for all, or `source`, the tree of
  the original subscriber for subscriptions and of the source for messages (E7);
- `mode`, on source trees: `safe`, filters prune those of the same original
  subscriber; `literal`, as printed, which loses messages on cyclic graphs (E6).

The header class is the source router's id on either kind of tree (Init), and
nobody rewrites it (Hdr, E10): also on the shared tree a message is taken from
the neighbour on the way back to its source alone, so it cannot come twice
however the routers' trees differ while the network changes.

A client withdraws by the id of its subscription, not by a filter, so it cancels
what it named; the subscriptions that are left are what it wants (M10 asks for
all that is covered, which is the client's to name).

Advertisements (ADR 2.4.2, S1: P_A) have their place in `siena_trees`: what is
`open_to` an interface is then restricted to where something was advertised that
overlaps the filter (E14), by tables of their own (M10).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import ClassVar

from fastpath import cover
from fastpath.interests import Predicate
from nodes.routing.effects import Reason
from nodes.routing.predicates import filters_of
from nodes.routing.schemes.base import FibSpec, Options, Source, Talk, View, learned, of_client
from nodes.routing.schemes.siena_messages import KINDS, SetDigest, encode, payloads, read
from nodes.routing.schemes.siena_table import LiteralTable, SubscriptionTable
from nodes.routing.schemes.siena_trees import ANYBODY, SharedTree, SourceTrees, on_shared_tree
from nodes.routing.schemes.sources import source_classes
from nodes.routing.store import PredicateStore
from nodes.wire.codec import WireError
from nodes.wire.packets import Kind

ISSUER_BITS = 32


class Clients:
    """What our own clients subscribe to, as filters that come and go (ADR 3.5: U may be a client).

    The store reports differences, which are returned when asked for. Filters that `reduce_filter`
    makes the same are counted, so that one may go and the other stay. Contradictory filters, which
    nothing matches, are left out.
    """

    def __init__(self, store: PredicateStore) -> None:
        self._wanted: dict[int, Counter[bytes]] = {}
        self._before: dict[int, dict[bytes, bool]] = {}
        store.watch(self._note)

    def take_changes(self) -> Iterator[tuple[int, list[bytes], list[bytes]]]:
        """(Interface, filters that came, filters that went) since last asked, ascending."""
        noted, self._before = self._before, {}
        for interface, before in sorted(noted.items()):
            wanted = self._wanted[interface]
            came = sorted(f for f, had in before.items() if not had and f in wanted)
            went = sorted(f for f, had in before.items() if had and f not in wanted)
            yield interface, came, went

    def _note(self, name: Hashable, removed: Predicate, added: Predicate) -> None:
        if not isinstance(name, Source) or name != of_client(name.number):
            return
        wanted = self._wanted.setdefault(name.number, Counter())
        before = self._before.setdefault(name.number, {})
        for change, predicate in ((1, added), (-1, removed)):
            for filter_ in filters_of(predicate.encode()):
                reduced = cover.reduce_filter(filter_)
                if not cover.contradictory(reduced):
                    before.setdefault(reduced, reduced in wanted)
                    wanted[reduced] += change
                    if not wanted[reduced]:
                        del wanted[reduced]


class Siena:
    """Subscription forwarding over the filters poset."""

    floods_interest: ClassVar[bool] = False
    kinds: ClassVar[frozenset[int]] = KINDS

    def __init__(self, options: Options) -> None:
        self._shared = options["tree"] == "shared"
        literal = options["mode"] == "literal" and not self._shared
        self.table = LiteralTable() if literal else SubscriptionTable()
        self._talk: Talk | None = None
        self._links: dict[int, int] = {}
        self._sent: dict[int, SetDigest] = {}
        self._basis: object = None
        self._clients: Clients | None = None
        self.names_version = 0
        """Counts the changes of `_learned`."""
        self._learned: dict[int, set[Source]] = {}
        """The names of what was sent to us at each interface."""

    def attach(self, talk: Talk, rng: random.Random) -> None:
        """As `TalkingScheme` says."""
        del rng
        self._talk = talk
        self._clients = Clients(talk.store)

    @property
    def settled(self) -> bool:
        """All that is received is acted upon at once."""
        return True

    def next_deadline(self) -> int | None:
        """No timer is used."""
        return None

    def handle_timer(self, now_ns: int) -> None:
        """Nothing is ever due."""

    def joined(self, now_ns: int, interface: int, neighbour: int) -> None:
        """As `TalkingScheme` says; `look` finds what is to be sent."""
        del now_ns
        self._links[interface] = neighbour
        self._sent[interface] = SetDigest()
        self.table.open(interface)

    def origins(self) -> Collection[int]:
        """None: what others have said is void when the link they said it over is lost."""
        return ()

    def forget(self, origin: int) -> None:
        """Nothing is held of it."""

    def repeat(self, now_ns: int, interface: int, origin: int) -> None:
        """Nothing is held of it."""

    def lost(self, now_ns: int, interface: int) -> None:
        """As `TalkingScheme` says."""
        del now_ns, self._links[interface], self._sent[interface]
        self.table.close(interface)

    def look(self, now_ns: int, view: View) -> None:
        """As `TalkingScheme` says: turn to the trees there are now, and to what our clients want."""
        basis = (view.topology, tuple(view.interfaces.items()), tuple(self._links.items()), view.clients)
        if basis != self._basis:
            self._basis = basis
            trees = SharedTree if self._shared else SourceTrees
            self.table.turn(trees(view, dict(self._links)))
        self._take_clients()
        self._send(now_ns)
        self._store_roots()

    def take(self, now_ns: int, interface: int, kind: int, payload: bytes) -> None:
        """As `TalkingScheme` says.

        Raises:
            WireError: It is malformed.
        """
        issuer, filters = read(payload)
        if (issuer == ANYBODY) != self._shared:
            which = f"{ANYBODY} on the shared tree" if self._shared else "the id of a router on source trees"
            raise WireError(f"the issuer of a subscription is {which}; this is {issuer}")
        if kind == Kind.SIENA_SUBSCRIBE:
            self._take_subscribe(interface, issuer, filters)
        else:
            self._take_unsubscribe(interface, issuer, filters)
        self._send(now_ns)
        if self.table.changed:
            self._router.changed(now_ns)

    def accounts(self) -> Mapping[int, tuple[str, str]]:
        """As `TalkingScheme` says."""
        received = self.table.accounts
        return {i: (sent.digest, received[i].received.digest) for i, sent in self._sent.items()}

    def compile(self, view: View) -> FibSpec:
        """One class a source router, all over one table: at an interface, what was sent to us there."""
        classes = source_classes(on_shared_tree(view) if self._shared else view)
        return FibSpec(view.node, classes, ({**self._by_neighbour(view), **view.client_tables},))

    @property
    def _router(self) -> Talk:
        assert self._talk is not None, "attach comes first"
        return self._talk

    def _by_neighbour(self, view: View) -> dict[int, tuple[Source, ...]]:
        """What was received over any link to a neighbour, for the first of these links."""
        found = {}
        for interfaces in view.interfaces.values():
            names = [name for interface in interfaces for name in sorted(self._learned.get(interface, ()))]
            if names:
                found[interfaces[0]] = tuple(names)
        return dict(sorted(found.items()))

    def _take_subscribe(self, interface: int, issuer: int, filters: list[bytes]) -> None:
        held, limit = self.table.accounts[interface], self._router.limits.filters_per_neighbour
        known = held.filters.get(issuer, set())
        count = held.count + sum(filter_ not in known for filter_ in filters)
        if count > limit:
            setting = "limits.filters_per_neighbour"
            self._router.drop(interface, Reason.TOO_MANY_FILTERS, filters=count, limit=limit, setting=setting)
        else:
            self.table.enter(interface, issuer, filters)

    def _take_unsubscribe(self, interface: int, issuer: int, filters: list[bytes]) -> None:
        if self.table.accounts[interface].filters.get(issuer, set()).issuperset(filters):
            self.table.withdraw(interface, issuer, filters)
        else:
            self._router.drop(interface, Reason.UNKNOWN_SUBSCRIPTION)

    def _take_clients(self) -> None:
        assert self._clients is not None, "attach comes first"
        issuer = ANYBODY if self._shared else self._router.node
        for interface, came, went in self._clients.take_changes():
            self.table.open(interface)
            self.table.enter(interface, issuer, came)
            self.table.withdraw(interface, issuer, went)

    def _send(self, now_ns: int) -> None:
        """Send the neighbours what changed: to each, what is new before what is withdrawn (E15)."""
        updates: dict[tuple[int, int, int], list[bytes]] = {}
        for interface, kind, issuer, filter_ in self.table.take_updates():
            if interface in self._links:
                updates.setdefault((interface, kind, issuer), []).append(filter_)
                self._sent[interface].toggle(issuer, filter_)
        for (interface, kind, issuer), filters in sorted(updates.items()):
            for payload in payloads(issuer, filters):
                self._router.send(now_ns, interface, kind, payload)

    def _store_roots(self) -> None:
        """Bring the store up to date with what was sent to us; tables are made of it."""
        store = self._router.store
        for (interface, key), removed, added in self.table.take_changes():
            name = learned(interface << ISSUER_BITS | key)
            store.change(name, store.pool.read(encode(removed)), store.pool.read(encode(added)))
            names = self._learned.setdefault(interface, set())
            if store.wants(name) is not (name in names):
                names ^= {name}
                self.names_version += 1
            if name not in names:
                store.forget(name)

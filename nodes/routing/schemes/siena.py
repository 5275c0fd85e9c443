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

- `advertisements`: subscriptions go only where something is advertised that they
  overlap (ADR 2.4.2; E14). Advertisements go along the same trees, everywhere,
  unless one went there that covers them: a table of their own (M10), with a poset
  of its own (S1: P_A). What is advertised anew draws the subscriptions that
  waited for it. In mode `literal` they prune each other as subscriptions do.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar

from nodes.routing.effects import Reason
from nodes.routing.predicates import predicate_of
from nodes.routing.schemes.base import (
    ISSUER_BITS,
    FibSpec,
    Options,
    Source,
    Talk,
    View,
    learned,
    provided,
)
from nodes.routing.schemes.siena_messages import KINDS, payloads, read
from nodes.routing.schemes.siena_offers import Change, Offers
from nodes.routing.schemes.siena_relations import ADVERTISEMENTS, SUBSCRIPTIONS, Clients
from nodes.routing.schemes.siena_table import LiteralTable, Table
from nodes.routing.schemes.siena_trees import ANYBODY, SharedTree, SourceTrees, on_shared_tree
from nodes.routing.schemes.sources import source_classes
from nodes.scheme_catalog import factors_patterns
from nodes.wire.codec import WireError


class Siena:
    """Subscription forwarding over the filters poset."""

    floods_interest: ClassVar[bool] = False
    floods_offers: ClassVar[bool] = False
    kinds: ClassVar[frozenset[int]] = KINDS

    def __init__(self, options: Options) -> None:
        self._shared = options["tree"] == "shared"
        literal = options["mode"] == "literal" and not self._shared
        make_table = LiteralTable if literal else Table
        self._offers: Offers | None = None
        self.tables: list[Table] = []
        """Of advertisements, if they count, and of subscriptions."""
        if options["advertisements"]:
            self._offers = Offers(by_interface=self._shared or literal)
            self._tells_provided = factors_patterns(options)
            self.tables.append(make_table(ADVERTISEMENTS))
        self.table = make_table(SUBSCRIPTIONS, self._offers)
        self.tables.append(self.table)
        self._talk: Talk | None = None
        self._links: dict[int, int] = {}
        self._basis: object = None
        self._clients: list[Clients] = []
        """Of each table."""
        self.names_version = 0
        """Counts the changes of `_learned`."""
        self._learned: dict[int, set[Source]] = {}
        """The names of what was sent to us at each interface."""

    def attach(self, talk: Talk, rng: random.Random) -> None:
        """As `TalkingScheme` says."""
        del rng
        self._talk = talk
        self._clients = [Clients(talk.store, table.relation) for table in self.tables]

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
        for table in self.tables:
            table.open(interface)

    def origins(self) -> Collection[int]:
        """None: what others have said is void when the link they said it over is lost."""
        return ()

    def forget(self, origin: int) -> None:
        """Nothing is held of it."""

    def repeat(self, now_ns: int, interface: int, origin: int) -> None:
        """Nothing is held of it."""

    def lost(self, now_ns: int, interface: int) -> None:
        """As `TalkingScheme` says."""
        del now_ns, self._links[interface]
        for table in self.tables:
            table.close(interface)

    def look(self, now_ns: int, view: View) -> None:
        """As `TalkingScheme` says: turn to the trees there are now, and to what our clients want."""
        basis = (view.topology, tuple(view.interfaces.items()), tuple(self._links.items()), view.clients)
        if basis != self._basis:
            self._basis = basis
            trees = (SharedTree if self._shared else SourceTrees)(view, dict(self._links))
            if self._offers is not None:
                self._offers.turn(trees)
            for table in self.tables:
                table.turn(trees)
        self._take_clients()
        self._settle(now_ns)
        self._store_roots()

    def take(self, now_ns: int, interface: int, kind: int, payload: bytes) -> None:
        """As `TalkingScheme` says.

        Raises:
            WireError: It is malformed.
        """
        issuer, filters = read(payload)
        if (issuer == ANYBODY) != self._shared:
            which = f"{ANYBODY} on the shared tree" if self._shared else "the id of a router on source trees"
            raise WireError(f"the issuer is {which}; this is {issuer}")
        table = next((each for each in self.tables if kind in each.relation.kinds), None)
        if table is None:
            self._router.drop(interface, Reason.UNEXPECTED_KIND)
            return
        known_by = list(dict.fromkeys(map(table.relation.reduce, filters)))
        if kind == table.relation.announcement:
            self._take_announcement(table, interface, issuer, known_by)
        else:
            self._take_withdrawal(table, interface, issuer, known_by)
        self._settle(now_ns)
        if self.table.changed:
            self._router.changed(now_ns)

    def accounts(self) -> Mapping[int, tuple[str, str]]:
        """As `TalkingScheme` says."""
        by_link = {i: [table.accounts[i] for table in self.tables] for i in self._links}
        return {
            i: ("".join(a.sent.digest for a in all_), "".join(a.received.digest for a in all_))
            for i, all_ in by_link.items()
        }

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

    def _take_announcement(self, table: Table, interface: int, issuer: int, filters: list[bytes]) -> None:
        held, limit = table.accounts[interface], self._router.limits.filters_per_neighbour
        known = held.filters.get(issuer, set())
        count = held.count + sum(filter_ not in known for filter_ in filters)
        if count > limit:
            setting = "limits.filters_per_neighbour"
            self._router.drop(interface, Reason.TOO_MANY_FILTERS, filters=count, limit=limit, setting=setting)
        else:
            table.enter(interface, issuer, filters)

    def _take_withdrawal(self, table: Table, interface: int, issuer: int, filters: list[bytes]) -> None:
        if table.accounts[interface].filters.get(issuer, set()).issuperset(filters):
            table.withdraw(interface, issuer, filters)
        else:
            self._router.drop(interface, table.relation.unknown)

    def _take_clients(self) -> None:
        issuer = ANYBODY if self._shared else self._router.node
        for table, clients in zip(self.tables, self._clients, strict=True):
            for interface, came, went in clients.take_changes():
                table.open(interface)
                table.enter(interface, issuer, came)
                table.withdraw(interface, issuer, went)

    def _settle(self, now_ns: int) -> None:
        """Turn subscriptions towards what is advertised, and tell the neighbours what has changed."""
        if self._offers is not None:
            changes = list(self.tables[0].take_changes())
            self.table.reconsider(self._offers.take(changes))
            if self._tells_provided:
                self._store_provided(changes)
        self._send(now_ns)

    def _send(self, now_ns: int) -> None:
        """Send the neighbours what changed: to each, what is new before what is withdrawn (E15)."""
        updates: dict[tuple[int, int, int], list[bytes]] = {}
        for table in self.tables:
            for interface, kind, issuer, filter_ in table.take_updates():
                if interface in self._links:
                    updates.setdefault((interface, kind, issuer), []).append(filter_)
                    table.accounts[interface].sent.toggle(issuer, filter_)
        for (interface, kind, issuer), filters in sorted(updates.items()):
            for payload in payloads(issuer, filters):
                self._router.send(now_ns, interface, kind, payload)

    def _store_provided(self, changes: Iterable[Change]) -> None:
        """Who seeks patterns goes by where their parts are advertised."""
        store = self._router.store
        for (interface, issuer), went, came in changes:
            name = provided(interface, issuer)
            store.change(name, store.pool.read(predicate_of(went)), store.pool.read(predicate_of(came)))
            if not store.wants(name):
                store.forget(name)

    def _store_roots(self) -> None:
        """Bring the store up to date with what was sent to us; tables are made of it."""
        store = self._router.store
        for (interface, key), removed, added in self.table.take_changes():
            name = learned(interface << ISSUER_BITS | key)
            store.change(name, store.pool.read(predicate_of(removed)), store.pool.read(predicate_of(added)))
            names = self._learned.setdefault(interface, set())
            if store.wants(name) is not (name in names):
                names ^= {name}
                self.names_version += 1
            if name not in names:
                store.forget(name)

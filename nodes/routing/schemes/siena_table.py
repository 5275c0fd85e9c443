"""All that a router was asked to deliver, and what of it is to be forwarded where (ADR 3.5; E6, E15).

What its publishers advertise is kept in a table of the same kind (M10), by another relation.

Accounts keep what each neighbour and client asked for, whether it counts at present
or not: that depends on the trees, and they change. What counts is in posets.
Filters prune each other within one poset, so there is

a poset for each issuer: one on the shared tree, where the issuer is nobody, and
one for each original subscriber on source trees (mode `safe`).

Why `safe` has not one for all there, as `literal` has: equation (1) leaves f out
where a cover f' has gone. On a graph with cycles f' went down the trees of its own
issuers, which need not lead where the tree of f's issuer leads, and messages are
lost (E6). Filters of one issuer all take the same way.

Not here: what may go where (`siena_trees`), who advertises what a filter overlaps (`siena_offers`),
links (`siena`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from nodes.routing.digests import SetDigest
from nodes.routing.schemes.siena_messages import Update
from nodes.routing.schemes.siena_offers import Offers
from nodes.routing.schemes.siena_poset import Forwarding, Poset, interfaces
from nodes.routing.schemes.siena_relations import SUBSCRIPTIONS, Relation
from nodes.routing.schemes.siena_trees import ANYBODY, NoTree, Trees

Pair = tuple[int, int]
"""(interface, issuer)."""


class Account:
    """What was asked for at one interface and not withdrawn, and what was sent there."""

    def __init__(self) -> None:
        self.filters: dict[int, set[bytes]] = {}
        self.received = SetDigest()
        self.sent = SetDigest()
        self.count = 0

    def add(self, issuer: int, filters: Iterable[bytes]) -> list[bytes]:
        """Enter filters; which of them are news."""
        held = self.filters.setdefault(issuer, set())
        return self._toggle(issuer, [f for f in filters if f not in held])

    def remove(self, issuer: int, filters: Iterable[bytes]) -> list[bytes]:
        """Take filters out; which of them were there."""
        held = self.filters.get(issuer, set())
        gone = self._toggle(issuer, [f for f in filters if f in held])
        if not held:
            self.filters.pop(issuer, None)
        return gone

    def _toggle(self, issuer: int, filters: list[bytes]) -> list[bytes]:
        held = self.filters.get(issuer, set())
        before = len(held)
        for filter_ in filters:
            self.received.toggle(issuer, filter_)
        held ^= set(filters)
        self.count += len(held) - before
        return filters


class Table:
    """The subscriptions, or advertisements, of one router; filters prune those of the same issuer.

    Args:
        relation: Which of the two.
        offers: Filters go only where it says that somebody advertises something which overlaps them; None:
            everywhere.
    """

    def __init__(self, relation: Relation = SUBSCRIPTIONS, offers: Offers | None = None) -> None:
        self.relation = relation
        self.accounts: dict[int, Account] = {}
        self._offers = offers
        self._trees: Trees = NoTree()
        self._posets: dict[int, Poset] = {}
        self._open: dict[Pair, int] = {}
        """Of the pairs that count, where they go."""
        self._changes: dict[Pair, Counter[bytes]] = {}

    def open(self, interface: int) -> None:
        """Begin an account, if there is none."""
        self.accounts.setdefault(interface, Account())

    def close(self, interface: int) -> None:
        """What was asked for at this interface is void."""
        for issuer, filters in sorted(self.accounts[interface].filters.items()):
            self.withdraw(interface, issuer, sorted(filters))
        del self.accounts[interface]

    def enter(self, interface: int, issuer: int, filters: Iterable[bytes]) -> None:
        """subscribe(U, f) for each filter (S2)."""
        news = self.accounts[interface].add(issuer, filters)
        if news and self._trees.counts(interface, issuer):
            self._open[interface, issuer] = self._trees.open_to(interface, issuer)
            self._subscribe(interface, issuer, news)

    def withdraw(self, interface: int, issuer: int, filters: Iterable[bytes]) -> None:
        """Take back these filters and no others (E15)."""
        gone = self.accounts[interface].remove(issuer, filters)
        if gone and (interface, issuer) in self._open:
            if issuer not in self.accounts[interface].filters:
                del self._open[interface, issuer]
            self._unsubscribe(interface, issuer, gone)

    def turn(self, trees: Trees) -> None:
        """The trees are these now; what is found to count comes in before what no longer counts goes."""
        self._trees, before = trees, self._open
        pairs = [(i, issuer) for i, account in self.accounts.items() for issuer in account.filters]
        self._open = {pair: trees.open_to(*pair) for pair in sorted(pairs) if trees.counts(*pair)}
        for pair in sorted(self._open.keys() - before.keys()):
            self._subscribe(*pair, sorted(self._filters(pair)))
        for pair in sorted(before.keys() - self._open.keys()):
            self._unsubscribe(*pair, sorted(self._filters(pair)))
        kept = self._open.keys() & before.keys()
        turned = kept if self._offers else {pair for pair in kept if self._open[pair] != before[pair]}
        for key in {self._key(issuer) for _, issuer in turned}:
            self._redirect(self._posets[key])

    def reconsider(self, filters: Iterable[bytes]) -> None:
        """Others advertise something now which overlaps these, or do no longer."""
        filters = list(filters)
        for poset in self._posets.values():
            for filter_ in filters:
                poset.reconsider(filter_)

    def take_updates(self) -> Iterator[Update]:
        """What is to be sent and withdrawn since last asked, in a fixed order."""
        for key, poset in sorted(self._posets.items()):
            for forwarding in poset.take_forwardings():
                yield from self._updates(key, forwarding)
            if poset.empty:
                del self._posets[key]

    @property
    def changed(self) -> bool:
        """Whether `take_changes` would give anything."""
        return bool(self._changes)

    def take_changes(self) -> list[tuple[Pair, list[bytes], list[bytes]]]:
        """How the roots held changed since last asked: ((interface, key of a poset), removed, added)."""
        changes, self._changes = self._changes, {}
        return [
            (pair, [f for f, step in steps.items() if step < 0], [f for f, step in steps.items() if step > 0])
            for pair, steps in sorted(changes.items())
        ]

    def _key(self, issuer: int) -> int:
        """The poset an issuer's filters are in."""
        return issuer

    def _open_to(self, key: int, interface: int, filter_: bytes) -> int:
        """Where a filter of a poset may go that is wanted at an interface: neighbors - NST."""
        return self._offered(self._open.get((interface, key), 0), key, filter_)

    def _offered(self, open_to: int, issuer: int, filter_: bytes) -> int:
        """What of some interfaces is left where somebody must advertise what the filter asks for."""
        if not open_to or self._offers is None:
            return open_to
        return open_to & self._offers.open_to(issuer, filter_)

    def _updates(self, key: int, forwarding: Forwarding) -> Iterator[Update]:
        filter_, before, after = forwarding
        for interface in interfaces(after & ~before):
            yield Update(interface, self.relation.announcement, key, filter_)
        for interface in interfaces(before & ~after):
            yield Update(interface, self.relation.withdrawal, key, filter_)

    def _subscribe(self, interface: int, issuer: int, filters: list[bytes]) -> None:
        key = self._key(issuer)
        if self._offers is not None:
            self._offers.ask(filters)
        if key not in self._posets:
            self._posets[key] = Poset(partial(self._open_to, key), self.relation.make_set)
        self._note((interface, key), self._posets[key].subscribe(interface, filters))

    def _unsubscribe(self, interface: int, issuer: int, filters: list[bytes]) -> None:
        key = self._key(issuer)
        self._note((interface, key), self._posets[key].unsubscribe(interface, filters))
        if self._offers is not None:
            self._offers.drop(filters)

    def _note(self, pair: Pair, roots: tuple[list[bytes], list[bytes]]) -> None:
        came, went = roots
        steps = self._changes.setdefault(pair, Counter()) if came or went else Counter[bytes]()
        steps.update(came)
        steps.subtract(went)

    def _redirect(self, poset: Poset) -> None:
        poset.redirect()

    def _filters(self, pair: Pair) -> set[bytes]:
        return self.accounts[pair[0]].filters[pair[1]]


class LiteralTable(Table):
    """Mode `literal`: equation (1) as printed, on trees of the sources, which loses messages on cycles (E6).

    All filters are in one poset, so each may be left out in favour of a cover of another issuer. A
    neighbour is sent one issuer of a filter: in the paper a second subscription of f from U is case 1,
    without effect, whichever issuer it is from. It is sent another one when that one is gone.
    """

    def __init__(self, relation: Relation = SUBSCRIPTIONS, offers: Offers | None = None) -> None:
        super().__init__(relation, offers)
        self._announced: dict[tuple[int, bytes], int] = {}
        """(interface, filter) -> the issuer that the neighbour there was sent."""

    def _key(self, issuer: int) -> int:
        del issuer
        return ANYBODY

    def _open_to(self, key: int, interface: int, filter_: bytes) -> int:
        del key
        found = 0
        for pair, open_to in self._open.items():
            if pair[0] == interface and filter_ in self._filters(pair):
                found |= open_to
        return self._offered(found, ANYBODY, filter_)

    def _updates(self, key: int, forwarding: Forwarding) -> Iterator[Update]:
        del key
        filter_, before, after = forwarding
        for interface in interfaces(before | after):
            old, new = self._announced.get((interface, filter_)), None
            if after >> interface & 1:
                issuers = self._issuers(filter_, interface)
                new = old if old in issuers else min(issuers)
            if new != old:
                yield from self._replace(interface, filter_, old, new)

    def _replace(self, interface: int, filter_: bytes, old: int | None, new: int | None) -> Iterator[Update]:
        if new is not None:
            self._announced[interface, filter_] = new
            yield Update(interface, self.relation.announcement, new, filter_)
        else:
            del self._announced[interface, filter_]
        if old is not None:
            yield Update(interface, self.relation.withdrawal, old, filter_)

    def _issuers(self, filter_: bytes, towards: int) -> set[int]:
        """The original subscribers of a filter whose trees lead on over an interface."""
        pairs = [p for p, mask in self._open.items() if mask >> towards & 1 and filter_ in self._filters(p)]
        return {issuer for _, issuer in pairs}

    def _subscribe(self, interface: int, issuer: int, filters: list[bytes]) -> None:
        super()._subscribe(interface, issuer, filters)
        self._reconsider(filters)

    def _unsubscribe(self, interface: int, issuer: int, filters: list[bytes]) -> None:
        super()._unsubscribe(interface, issuer, filters)
        self._reconsider(filters)

    def _redirect(self, poset: Poset) -> None:
        self._reconsider(list(poset.nodes))

    def _reconsider(self, filters: list[bytes]) -> None:
        for filter_ in filters:
            self._posets[ANYBODY].reconsider(filter_)

"""What the clients of a router subscribed to.

A subscription stays as the bytes that came, by the client's own id, to be taken
back as a whole. Unions of subscriptions are kept in the kernel, one for each
client and one for all: a change costs what changed.

Not here: what is announced to other routers (`interest_exchange`), what is forwarded by (`install`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping

from fastpath.interests import FilterPool, Predicate, Union
from fastpath.wire.codec import WireError
from nodes.routing.effects import Reason
from nodes.routing.holdings import Holdings
from nodes.routing.link import Link
from nodes.routing.predicates import COUNT, REDUCED_FILTERS_MAX, filter_count
from nodes.routing.schemes.base import of_client
from nodes.routing.store import PredicateStore


class Subscriptions:
    """What the client at one interface subscribed to, by its own ids."""

    def __init__(self, pool: FilterPool) -> None:
        self._pool = pool
        self._predicates: dict[int, bytes] = {}
        self._union = Union(pool, REDUCED_FILTERS_MAX)
        self._filters = 0
        self._digest: str | None = None

    def __len__(self) -> int:
        return len(self._predicates)

    def set(self, subscription: int, predicate: bytes) -> None:
        """Add or replace one.

        Raises:
            WireError: The predicate is malformed; nothing was changed.
        """
        new = self._pool.read(predicate)
        self.discard(subscription)
        self._union.add(new)
        self._predicates[subscription] = predicate
        self._filters += _weight(predicate)
        self._digest = None

    def discard(self, subscription: int) -> bool:
        """Withdraw one; False if there is none of this id."""
        predicate = self._predicates.pop(subscription, None)
        if predicate is None:
            return False
        self._union.remove(self._pool.read(predicate))
        self._filters -= _weight(predicate)
        self._digest = None
        return True

    def clear(self) -> None:
        """The client is gone, and what it wanted with it."""
        for subscription in list(self._predicates):
            self.discard(subscription)

    def filters_with(self, subscription: int, predicate: bytes) -> int:
        """How many filters there would be with this subscription; one without any counts as one."""
        held = self._predicates.get(subscription)
        return self._filters + _weight(predicate) - (0 if held is None else _weight(held))

    def settle(self) -> tuple[Predicate, Predicate]:
        """(removed, added): how the union of all, reduced, has changed since this was last asked."""
        return self._union.settle()

    def digest(self) -> str:
        """What client and router compare to know that they agree."""
        if self._digest is None:
            self._digest = subscriptions_digest(self._predicates)
        return self._digest


class ClientSubscriptions:
    """What all clients of a router subscribed to.

    Many changes of one client's subscriptions, between two calls that take them, cost one.

    Args:
        clients: The interfaces to clients.
        store: Takes what each client wants, as `of_client`.
        holdings: How much a client may subscribe to.
        changed: Called with the time after every change.
    """

    def __init__(
        self,
        clients: Iterable[int],
        store: PredicateStore,
        holdings: Holdings,
        changed: Callable[[int], None],
    ) -> None:
        self.by_interface = {interface: Subscriptions(store.pool) for interface in clients}
        self._store = store
        self._holdings = holdings
        self._changed = changed
        self._wanted = Union(store.pool, REDUCED_FILTERS_MAX)
        self._touched: set[int] = set()

    def take_subscribe(self, now_ns: int, link: Link, payload: bytes) -> None:
        """SUBSCRIBE.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        subscription, predicate = _subscription(payload), payload[COUNT.size :]
        held = self.by_interface[link.interface.index]
        if self._holdings.admits_filters(link, held.filters_with(subscription, predicate)):
            held.set(subscription, predicate)
            self._touch(now_ns, link)

    def take_unsubscribe(self, now_ns: int, link: Link, payload: bytes) -> None:
        """UNSUBSCRIBE.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        subscription = _subscription(payload)
        if len(payload) != COUNT.size:
            raise WireError(f"an UNSUBSCRIBE has {COUNT.size} bytes; this has {len(payload)}")
        if self.by_interface[link.interface.index].discard(subscription):
            self._touch(now_ns, link)
        else:
            link.drop(Reason.UNKNOWN_SUBSCRIPTION)

    def end_session(self, now_ns: int, link: Link) -> None:
        """A client went away, or came back as another: it has to subscribe anew."""
        held = self.by_interface[link.interface.index]
        if len(held):
            held.clear()
            self._touch(now_ns, link)

    def store_changes(self) -> None:
        """Bring the store up to date."""
        for interface in sorted(self._touched):
            removed, added = self.by_interface[interface].settle()
            self._store.change(of_client(interface), removed, added)
            self._wanted.add(added)
            self._wanted.remove(removed)
        self._touched.clear()

    def settle(self) -> tuple[Predicate, Predicate]:
        """(removed, added): how what all clients want, reduced, has changed since this was last asked."""
        self.store_changes()
        return self._wanted.settle()

    def _touch(self, now_ns: int, link: Link) -> None:
        self._touched.add(link.interface.index)
        self._changed(now_ns)


def subscriptions_digest(predicates: Mapping[int, bytes]) -> str:
    """SHA-256 over subscription ids and encoded predicates."""
    whole = hashlib.sha256()
    for subscription, predicate in sorted(predicates.items()):
        whole.update(COUNT.pack(subscription) + hashlib.sha256(predicate).digest())
    return whole.hexdigest()


def _weight(predicate: bytes) -> int:
    return max(1, filter_count(predicate))


def _subscription(payload: bytes) -> int:
    if len(payload) < COUNT.size:
        raise WireError(f"a subscription's id has {COUNT.size} bytes; this payload has {len(payload)}")
    return int(COUNT.unpack_from(payload)[0])

"""What the clients of a router subscribed to.

Unions of subscriptions are kept in the kernel, one for each
client and one for all: a change costs what changed.

Not here: how clients tell their router (`client_predicates`), what is announced to other routers
(`interest_exchange`), what is forwarded by (`install`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fastpath.interests import FilterPool, Predicate, Union
from nodes.routing.client_predicates import FromClients, Predicates, Words
from nodes.routing.effects import Reason
from nodes.routing.holdings import Holdings
from nodes.routing.link import Link
from nodes.routing.policy import Policy
from nodes.routing.predicates import REDUCED_FILTERS_MAX
from nodes.routing.schemes.base import of_client
from nodes.routing.store import PredicateStore
from nodes.wire.packets import Refusal

_WORDS = Words(
    "a subscription",
    "UNSUBSCRIBE",
    Reason.UNKNOWN_SUBSCRIPTION,
    refusal=Refusal.SUBSCRIPTION_NOT_PERMITTED,
    over_limit=Refusal.SUBSCRIPTION_OVER_LIMIT,
    room=Refusal.SUBSCRIPTION_ROOM,
)


class Subscriptions(Predicates):
    """What the client at one interface subscribed to, by its own ids."""

    def __init__(self, pool: FilterPool) -> None:
        super().__init__()
        self._pool = pool
        self._union = Union(pool, REDUCED_FILTERS_MAX)

    def settle(self) -> tuple[Predicate, Predicate]:
        """(removed, added): how the union of all, reduced, has changed since this was last asked."""
        return self._union.settle()

    def _check(self, predicate: bytes) -> None:
        self._pool.read(predicate)

    def _added(self, predicate: bytes) -> None:
        self._union.add(self._pool.read(predicate))

    def _removed(self, predicate: bytes) -> None:
        self._union.remove(self._pool.read(predicate))


class ClientSubscriptions(FromClients[Subscriptions]):
    """What all clients of a router subscribed to.

    Many changes of one client's subscriptions, between two calls that take them, cost one.

    Args:
        clients: The interfaces to clients.
        store: Takes what each client wants, as `of_client`.
        holdings: How much a client may subscribe to.
        policy: And to what.
        changed: Called with the time after every change.
    """

    def __init__(
        self,
        clients: Iterable[int],
        store: PredicateStore,
        holdings: Holdings,
        policy: Policy,
        changed: Callable[[int], None],
    ) -> None:
        held = {interface: Subscriptions(store.pool) for interface in clients}
        super().__init__(held, _WORDS, holdings, policy)
        self._changed = changed
        self._touched: set[int] = set()
        self._store = store
        self._wanted = Union(store.pool, REDUCED_FILTERS_MAX)

    def want(self, now_ns: int, interface: int, number: int, predicate: bytes) -> None:
        """What the router's own monitors want, at the interface to them."""
        self.by_interface[interface].set(number, predicate)
        self._note(now_ns, interface)

    def unwant(self, now_ns: int, interface: int, number: int) -> None:
        """They want it no longer."""
        self.by_interface[interface].discard(number)
        self._note(now_ns, interface)

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

    def _permits(self, interface: int, predicate: bytes) -> bool:
        return self._policy.may_subscribe(interface, predicate)

    def _touch(self, now_ns: int, link: Link) -> None:
        self._note(now_ns, link.interface.index)

    def _note(self, now_ns: int, interface: int) -> None:
        self._touched.add(interface)
        self._changed(now_ns)

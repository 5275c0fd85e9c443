"""What the clients of a router advertise that they will publish (ADR 2.4.2, decision 29).

Where the scheme has the option `advertisements`, the data plane takes from a client only what is within them,
and the client is told of what was not taken. What each advertises is then in the store also, as
`of_publisher`, for the scheme to announce.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from fastpath.fib import Gate
from fastpath.wire import codec
from nodes.routing.client_predicates import FromClients, Predicates, Words
from nodes.routing.effects import Reason
from nodes.routing.holdings import Holdings
from nodes.routing.link import Link
from nodes.routing.predicates import filters_of, predicate_of
from nodes.routing.schemes.base import of_publisher
from nodes.routing.store import PredicateStore
from nodes.wire.packets import Kind, Refusal

_WORDS = Words("an advertisement", "UNADVERTISE", Reason.UNKNOWN_ADVERTISEMENT)
_COUNT_MAX = 0xFFFF_FFFF


class Advertisements(Predicates):
    """What the client at one interface advertises, by its own ids."""

    def __init__(self) -> None:
        super().__init__()
        self._advertised: Counter[bytes] = Counter()

    def together(self) -> bytes:
        """All of them, as one predicate."""
        return predicate_of(self._advertised)

    def _added(self, predicate: bytes) -> None:
        self._advertised.update(filters_of(predicate))

    def _removed(self, predicate: bytes) -> None:
        self._advertised.subtract(filters_of(predicate))
        self._advertised = +self._advertised


class ClientAdvertisements(FromClients[Advertisements]):
    """What all clients of a router advertise.

    Args:
        clients: The interfaces to clients.
        holdings: How much a client may advertise.
        gate: Is told at once what each client may publish; None: they may publish anything.
        store: Takes what each client advertises, if there is a gate.
        changed: Called with the time after every change of it.
    """

    def __init__(
        self,
        clients: Iterable[int],
        holdings: Holdings,
        gate: Gate | None,
        store: PredicateStore,
        changed: Callable[[int], None],
    ) -> None:
        super().__init__({interface: Advertisements() for interface in clients}, _WORDS, holdings)
        self._gate = gate
        self._store = store
        self._changed = changed
        self._told: Counter[int] = Counter()
        self._before: Counter[int] = Counter()
        """Refused in earlier sessions."""

    def end_session(self, now_ns: int, link: Link) -> None:
        """As of `FromClients`."""
        super().end_session(now_ns, link)
        if self._gate is not None:
            interface = link.interface.index
            self._before[interface] = self._told[interface] = self._gate.refused(interface)[0]

    def tell(self, now_ns: int, link: Link) -> None:
        """Tell a client what of its messages was refused since it was told last."""
        interface = link.interface.index
        if self._gate is None or not link.up:
            return
        count, sequence = self._gate.refused(interface)
        if count != self._told[interface]:
            self._told[interface] = count
            refused = min(count - self._before[interface], _COUNT_MAX)
            payload = codec.encode_refused(Refusal.UNADVERTISED, refused, sequence)
            link.send(now_ns, Kind.REFUSED, payload, (Kind.REFUSED, Refusal.UNADVERTISED))

    def _touch(self, now_ns: int, link: Link) -> None:
        if self._gate is not None:
            interface = link.interface.index
            together = self.by_interface[interface].together()
            self._gate.set(interface, together)
            if self._store.replace(of_publisher(interface), together):
                self._changed(now_ns)

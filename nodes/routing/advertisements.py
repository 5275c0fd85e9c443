"""What the clients of a router advertise that they will publish (ADR 2.4.2, decision 29)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nodes.routing.client_predicates import FromClients, Predicates, Words
from nodes.routing.effects import Reason
from nodes.routing.holdings import Holdings

_WORDS = Words("an advertisement", "UNADVERTISE", Reason.UNKNOWN_ADVERTISEMENT)


class ClientAdvertisements(FromClients[Predicates]):
    """What all clients of a router advertise.

    Args:
        clients: The interfaces to clients.
        holdings: How much a client may advertise.
        changed: Called with the time after every change.
    """

    def __init__(self, clients: Iterable[int], holdings: Holdings, changed: Callable[[int], None]) -> None:
        super().__init__({interface: Predicates() for interface in clients}, _WORDS, holdings, changed)

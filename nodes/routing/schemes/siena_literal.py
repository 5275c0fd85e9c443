"""Equation (1) as printed, on trees of the sources: it loses messages on cyclic graphs (E6).

All filters are in one poset, so each may be left out in favour of a cover of
another issuer. A neighbour is told of one issuer of a filter: in the paper a
second subscription of f from U is case 1, without effect, whoever it is from.
He is told of another one when that one is gone.

Not here: the mode that does not lose, and what both share (`siena_table`).
"""

from __future__ import annotations

from collections.abc import Iterator

from nodes.routing.schemes.siena_messages import Word
from nodes.routing.schemes.siena_poset import Forwarding, Poset, interfaces
from nodes.routing.schemes.siena_table import SubscriptionTable
from nodes.routing.schemes.siena_trees import ANYBODY
from nodes.wire.packets import Kind


class LiteralTable(SubscriptionTable):
    """The subscriptions of one router; filters prune those of all issuers."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple[int, bytes], int] = {}
        """(interface, filter) -> the issuer the neighbour there was told of."""

    def _key(self, issuer: int) -> int:
        del issuer
        return ANYBODY

    def _open_to(self, key: int, interface: int, filter_: bytes) -> int:
        del key
        found = 0
        for pair, open_to in self._open.items():
            if pair[0] == interface and filter_ in self._filters(pair):
                found |= open_to
        return found

    def _words(self, key: int, forwarding: Forwarding) -> Iterator[Word]:
        del key
        filter_, before, after = forwarding
        for interface in interfaces(before | after):
            old, new = self._told.get((interface, filter_)), None
            if after >> interface & 1:
                issuers = self._issuers(filter_, interface)
                new = old if old in issuers else min(issuers)
            if new != old:
                yield from self._retell(interface, filter_, old, new)

    def _retell(self, interface: int, filter_: bytes, old: int | None, new: int | None) -> Iterator[Word]:
        if new is not None:
            self._told[interface, filter_] = new
            yield Word(interface, Kind.SIENA_SUBSCRIBE, new, filter_)
        else:
            del self._told[interface, filter_]
        if old is not None:
            yield Word(interface, Kind.SIENA_UNSUBSCRIBE, old, filter_)

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

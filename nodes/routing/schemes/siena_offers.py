"""Where something is advertised that a filter overlaps, so that its subscription goes there (E14).

Who advertises is known as what the trees can lead to: on source trees the publisher's router, which
its advertisements name; else the neighbour who sent them.
"""

from __future__ import annotations

from collections.abc import Iterable

from fastpath import cover
from nodes.routing.schemes.siena_trees import NoTree, Trees

Change = tuple[tuple[int, int], list[bytes], list[bytes]]
"""((interface, issuer), advertisements that went, that came), as a table of them reports."""


class Offers:
    """The advertisements that count, held against the filters that somebody wants.

    Args:
        by_interface: Whether it is the interface by which advertisements came that counts, not their issuer.
    """

    def __init__(self, *, by_interface: bool) -> None:
        self._by_interface = by_interface
        self._overlaps = cover.Overlaps()
        self._trees: Trees = NoTree()

    def turn(self, trees: Trees) -> None:
        """The trees are these now."""
        self._trees = trees

    def ask(self, filters: Iterable[bytes]) -> None:
        """Somebody wants these, or wants them once more."""
        for filter_ in filters:
            self._overlaps.add(filter_)

    def drop(self, filters: Iterable[bytes]) -> None:
        """Somebody no longer does."""
        for filter_ in filters:
            self._overlaps.remove(filter_)

    def take(self, changes: Iterable[Change]) -> list[bytes]:
        """Advertisements have come and gone; the filters for which that may make a difference, ascending."""
        concerned: set[bytes] = set()
        changes = list(changes)
        for (interface, issuer), _, came in changes:
            owner = interface if self._by_interface else issuer
            for each in came:
                concerned.update(self._overlaps.advertise(owner, each))
        for (interface, issuer), went, _ in changes:
            owner = interface if self._by_interface else issuer
            for each in went:
                concerned.update(self._overlaps.withdraw(owner, each))
        return sorted(concerned)

    def open_to(self, issuer: int, filter_: bytes) -> int:
        """The interfaces on which an issuer's subscription goes to those who may publish for it."""
        found = 0
        for owner in self._overlaps.owners(filter_):
            way = self._trees.back(owner) if self._by_interface else self._trees.towards(issuer, owner)
            found |= way
        return found

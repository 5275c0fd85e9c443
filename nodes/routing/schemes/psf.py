"""PSF: one predicate a source and interface, forwarding within the source's tree (RTE 3.1, T2).

    F_u(v, w)  = OR of pred(x), x in T_v/(u, w)
    Fwd_u(v,m) = {w : m in F_u(v, w)}

The header class is the source router's id all the way (Init, Hdr; E10). Sources
that have equal tables share one; what the paper counts for each source apart is
still to be had (`nodes.routing.schemes.state`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from nodes.routing.schemes.base import FibSpec, Options, Source, TableSpec, View, of_router
from nodes.routing.schemes.sources import source_classes


class Psf:
    """Per-source forwarding."""

    name: ClassVar[str] = "psf"
    floods_interest: ClassVar[bool] = True

    def __init__(self, options: Options) -> None:
        del options

    def compile(self, view: View) -> FibSpec:
        """One class a source router, each over the table of its group of sources."""
        tables = source_tables(view)
        classes = source_classes(view, tables.of_source)
        return FibSpec(view.node, classes, tables.specs)


class SourceTables:
    """The distinct tables of a router, and which of them is a source's."""

    def __init__(self) -> None:
        self.of_source: dict[int, int] = {}
        self._numbers: dict[tuple[tuple[int, tuple[Source, ...]], ...], int] = {}

    @property
    def specs(self) -> tuple[TableSpec, ...]:
        """The tables by number."""
        return tuple(dict(table) for table in self._numbers)

    def add(self, sources: Iterable[int], table: TableSpec) -> None:
        """Let these sources have this table."""
        number = self._numbers.setdefault(tuple(table.items()), len(self._numbers))
        self.of_source.update(dict.fromkeys(sources, number))


def source_tables(view: View, only: frozenset[int] | None = None) -> SourceTables:
    """F_u for all sources, or for those of a set.

    By E7 x is in T_v/(u, w) exactly if u is on the path from v to x and w is u's own next hop to
    x. So F_u(v, .) is what PIF's table leaves of T_v/u, and equal for indistinguishable sources.
    """
    towards = view.topology.first_hops(view.node)
    sending = {
        router: (view.interfaces[hop][0], of_router(router))
        for router in view.wanting
        if (hop := towards.get(router, 0)) in view.interfaces
    }
    found = SourceTables()
    for group in view.topology.groups(view.node):
        sources = [s for s in group.sources if only is None or s in only]
        if sources:
            table: dict[int, list[Source]] = {}
            for interface, source in (sending[x] for x in group.below if x in sending):
                table.setdefault(interface, []).append(source)
            united = {interface: tuple(table[interface]) for interface in sorted(table)}
            found.add(sources, {**united, **view.client_tables})
    return found

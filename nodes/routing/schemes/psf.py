"""PSF: one predicate a source and interface, forwarding within the source's tree (RTE 3.1, T2).

    F_u(v, w)  = OR of pred(x), x in T_v/(u, w)
    Fwd_u(v,m) = {w : m in F_u(v, w)}

The header class is the source router's id all the way (Init, Hdr; E10). Sources
share a table where they can; what the paper counts for each source apart is
still to be had (`nodes.routing.schemes.state`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nodes.routing.schemes.base import (
    ClassSpec,
    FibSpec,
    Scheme,
    Source,
    TableSpec,
    View,
    mask,
    of_router,
)
from nodes.routing.schemes.sources import accept_mask

Row = dict[int, tuple[Source, ...]]
"""F_u(v, .): whose predicates are united at each interface on which v's messages may be wanted."""


class Psf(Scheme):
    """Per-source forwarding."""

    def compile(self, view: View) -> FibSpec:
        """One class a source router."""
        return source_tables(view, {source: source for source in view.topology.nodes})


def source_tables(
    view: View,
    rewrites: dict[int, int],
    wanting: tuple[int, ...] | None = None,
    name: Callable[[int], Source] = of_router,
) -> FibSpec:
    """Classes for these headers, by what each is rewritten to; a header goes by F_u of who it names.

    Args:
        view: What the router knows.
        rewrites: By header class, the class that messages leave with.
        wanting: The routers that want anything; None: those of the view.
        name: Of what a router wants.
    """
    rows = source_rows(view, wanting, name)
    tables = _Tables()
    numbers = [tables.place(row) for _, row in rows]
    of_source = {source: at for at, (sources, _) in enumerate(rows) for source in sources}
    towards = view.topology.first_hops(view.node)
    classes = tuple(
        ClassSpec(
            header_class=header,
            accept=accept_mask(view, towards, header),
            out=view.client_mask | mask(rows[of_source[header]][1]),
            table=numbers[of_source[header]],
            rewrite=rewrite,
        )
        for header, rewrite in sorted(rewrites.items())
    )
    return FibSpec(view.node, classes, tuple(_whole(table, view) for table in tables.rows))


def source_rows(
    view: View, wanting: tuple[int, ...] | None = None, name: Callable[[int], Source] = of_router
) -> list[tuple[tuple[int, ...], Row]]:
    """F_u by groups of indistinguishable sources, those with the most interfaces first.

    By E7 x is in T_v/(u, w) exactly if u is on the path from v to x and w is u's own next hop to
    x. So F_u(v, .) is what PIF's table leaves of T_v/u.
    """
    towards = view.topology.first_hops(view.node)
    sending = {
        router: (view.interfaces[hop][0], name(router))
        for router in (view.wanting if wanting is None else wanting)
        if (hop := towards.get(router, 0)) in view.interfaces
    }
    rows = [
        (g.sources, _row(sending[x] for x in g.below if x in sending))
        for g in view.topology.groups(view.node)
    ]
    return sorted(rows, key=lambda row: (-len(row[1]), row[0]))


def _row(sending: Iterable[tuple[int, Source]]) -> Row:
    found: dict[int, list[Source]] = {}
    for interface, source in sending:
        found.setdefault(interface, []).append(source)
    return {interface: tuple(found[interface]) for interface in sorted(found)}


def _whole(row: Row, view: View) -> TableSpec:
    return {**{interface: row[interface] for interface in sorted(row)}, **view.client_tables}


class _Tables:
    """Tables that hold several rows each: rows that do not differ at any interface that both use.

    A class's mask keeps it from the interfaces that are not its own. In a tree all rows fit into one.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._places: dict[tuple[tuple[int, tuple[Source, ...]], ...], int] = {}

    def place(self, row: Row) -> int:
        """Put a row into the first table where it fits; which."""
        key = tuple(row.items())
        if key not in self._places:
            self._places[key] = self._fit(row)
        return self._places[key]

    def _fit(self, row: Row) -> int:
        for number, table in enumerate(self.rows):
            if all(table.get(interface, sources) == sources for interface, sources in row.items()):
                table.update(row)
                return number
        self.rows.append(dict(row))
        return len(self.rows) - 1

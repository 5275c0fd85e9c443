"""From a scheme's plain tables to the compiled FIB, changing only what changed.

A table is kept and edited: filters that came or went are added or removed and
committed at once. FIBs made before hold the table as it was then, so each is
immutable and the swap is atomic.
"""

from __future__ import annotations

from collections.abc import Hashable

from fastpath import codec
from fastpath.fib import ClassEntry, Fib, ForwardingTable, Route
from nodes.config import NodeConfig
from nodes.routing.channel import UDP_OVERHEAD_BYTES
from nodes.routing.predicates import filters_of, reduced_union
from nodes.routing.schemes.base import EVERYTHING, FibSpec, RouteSpec, Source, TableSpec
from nodes.routing.store import PredicateStore
from nodes.wire.packets import Role

MATCHES_EVERYTHING = codec.encode_predicate([[]])


class _Table:
    """A forwarding table, what is in it, and by which state of the store."""

    def __init__(self, store: PredicateStore) -> None:
        self.compiled = ForwardingTable()
        self._store = store
        self._made_of: dict[int, tuple[tuple[Hashable, int], ...]] = {}
        self._ids: dict[int, dict[bytes, int]] = {}

    def become(self, spec: TableSpec) -> bool:
        """Hold what the spec says, as the store has it now; whether that is a change."""
        changed = [
            self._edit(interface, spec.get(interface, ())) for interface in sorted({*self._made_of, *spec})
        ]
        if any(changed):
            self.compiled.commit()
        return any(changed)

    def _edit(self, interface: int, sources: tuple[Source, ...]) -> bool:
        made_of = tuple((source, self._store.version(source)) for source in sources)
        if made_of == self._made_of.get(interface, ()):
            return False
        ids = self._ids.setdefault(interface, {})
        wanted = united(sources, self._store)
        gone, new = [f for f in ids if f not in wanted], sorted(wanted.difference(ids))
        for filter_ in gone:
            self.compiled.remove(ids.pop(filter_))
        for filter_ in new:
            ids[filter_] = self.compiled.add(interface, filter_)
        self._made_of[interface] = made_of
        return bool(gone or new)

    def contents(self) -> dict[int, frozenset[bytes]]:
        """The filters at each interface."""
        return {interface: frozenset(ids) for interface, ids in self._ids.items() if ids}


def united(sources: tuple[Source, ...], store: PredicateStore) -> frozenset[bytes]:
    """The filters of a union of named predicates."""
    if EVERYTHING in sources:
        return frozenset(filters_of(MATCHES_EVERYTHING))
    return frozenset(filters_of(reduced_union(store.predicate(source) for source in sources)))


class Installer:
    """Makes the FIBs of one router."""

    def __init__(self, config: NodeConfig, store: PredicateStore) -> None:
        self.serial = 0
        """Counts the FIBs made."""
        self._store = store
        self._node = config.node_id
        self._clients = [i.peer_id if i.peer_role is Role.CLIENT else 0 for i in config.interfaces]
        self._datagram_bytes = [i.mtu - UDP_OVERHEAD_BYTES for i in config.interfaces]
        self._tables: list[_Table] = []
        self._spec: FibSpec | None = None
        self._fib: Fib | None = None

    @property
    def spec(self) -> FibSpec | None:
        """What the last FIB was made from."""
        return self._spec

    def build(self, spec: FibSpec) -> Fib | None:
        """The FIB to install, or None if it would be the one that is."""
        new = range(len(self._tables), len(spec.tables))
        self._tables += [_Table(self._store) for _ in new]
        del self._tables[len(spec.tables) :]
        pairs = zip(self._tables, spec.tables, strict=True)
        changes = [table.become(wanted) for table, wanted in pairs]
        if spec == self._spec and not any(changes):
            return None
        self._spec = spec
        self._fib = self._make(spec)
        self.serial += 1
        return self._fib

    def contents(self) -> tuple[dict[int, frozenset[bytes]], ...]:
        """The filters at each interface of each table, as they were installed."""
        return tuple(table.contents() for table in self._tables)

    def stats(self) -> dict[str, int]:
        """Sizes of the last FIB."""
        return dict(self._fib.stats()) if self._fib is not None else {}

    def _make(self, spec: FibSpec) -> Fib:
        entries = [
            ClassEntry(c.header_class, c.accept, c.out, c.table, c.rewrite, c.routed) for c in spec.classes
        ]
        tables = [table.compiled for table in self._tables]
        route = _route(self._node, spec.route) if spec.route else None
        return Fib(spec.origin_class, self._clients, entries, tables, self._datagram_bytes, route)


def _route(node: int, spec: RouteSpec) -> Route:
    return Route(node, spec.table, spec.destinations, spec.one_each)

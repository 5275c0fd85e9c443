"""From a scheme's plain tables to the compiled FIB, changing only what changed.

A table is kept and edited. For each interface the kernel counts which filters
the union of the named predicates has. When a predicate changes, the store reports
the difference, which is counted in wherever the predicate stands; when a scheme
gives other names, the predicates that came or went are counted in or out. What
follows for the table is committed together (`build`, `refresh`). A union of few
filters is installed reduced (D2), a large one as it is (`predicates`). FIBs made
before hold the table as it was then, so each is immutable and the swap is atomic.
"""

from __future__ import annotations

from collections.abc import Hashable

from fastpath.fib import ClassEntry, Fib, ForwardingTable, Gate, Permits, Route
from fastpath.interests import Predicate, TableEditor
from fastpath.wire import codec
from nodes.config import Messages, NodeConfig
from nodes.routing.channel import UDP_OVERHEAD_BYTES
from nodes.routing.predicates import REDUCED_FILTERS_MAX, filters_of
from nodes.routing.schemes.base import EVERYTHING, FibSpec, RouteSpec, Source, TableSpec
from nodes.routing.store import PredicateStore
from nodes.wire.datagram_seal import SEAL_BYTES
from nodes.wire.packets import Role

INNER_BYTES = 65_535
"""Of messages for the router's own monitors, which no link carries."""
MATCHES_EVERYTHING = codec.encode_predicate([[]])


class _Table:
    """A forwarding table, and the names of what is in it."""

    def __init__(self, store: PredicateStore) -> None:
        self.compiled = ForwardingTable()
        self.editor = TableEditor(store.pool, self.compiled, REDUCED_FILTERS_MAX)
        self.spec: TableSpec = {}
        self._store = store
        self._everything = store.pool.read(MATCHES_EVERYTHING)

    def become(self, spec: TableSpec) -> bool:
        """Hold what the spec says, as the store has it now; whether that is a change."""
        spec = {interface: _effective(sources) for interface, sources in spec.items()}
        for interface in sorted({*self.spec, *spec}):
            held, wanted = self.spec.get(interface, ()), spec.get(interface, ())
            if held != wanted:
                self._edit(interface, held, wanted)
        self.spec = spec
        return self.editor.settle()

    def _edit(self, interface: int, held: tuple[Source, ...], wanted: tuple[Source, ...]) -> None:
        gone, new = set(held).difference(wanted), set(wanted).difference(held)
        for source in sorted(new):
            self.editor.add(interface, self._of(source))
        for source in sorted(gone):
            self.editor.remove(interface, self._of(source))

    def _of(self, source: Source) -> Predicate:
        return self._everything if source == EVERYTHING else self._store.named(source)

    def contents(self) -> dict[int, frozenset[bytes]]:
        """The filters at each interface."""
        return {i: frozenset(filters_of(p)) for i, p in self.editor.contents().items()}

    def stats(self) -> dict[str, int]:
        """Filters, constraints, and bytes with those of keeping the table up."""
        stats = self.compiled.stats()
        return {name: stats[name] for name in ("filters", "constraints")} | {
            "bytes": stats["bytes"] + self.editor.bytes
        }


def _effective(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    """Each source once; beside what every message matches, nothing else counts."""
    return (EVERYTHING,) if EVERYTHING in sources else tuple(dict.fromkeys(sources))


class Installer:
    """Makes the FIBs of one router.

    Args:
        config: The router's.
        store: What its tables are made of.
        gate: What its clients have advertised; None: they need not.
        permits: What they may publish; None: anything.
        inner: Whether there is an interface to its own monitors, after the last.
    """

    def __init__(
        self,
        config: NodeConfig,
        store: PredicateStore,
        gate: Gate | None = None,
        permits: Permits | None = None,
        *,
        inner: bool = False,
    ) -> None:
        self.serial = 0
        """Counts the FIBs made."""
        self._store = store
        self._gate = gate
        self._permits = permits
        self._node = config.node_id
        self._clients = [i.peer_id if i.peer_role is Role.CLIENT else 0 for i in config.interfaces]
        room = UDP_OVERHEAD_BYTES + (SEAL_BYTES if config.security.messages is not Messages.OFF else 0)
        self._datagram_bytes = [i.mtu - room for i in config.interfaces]
        if inner:
            self._clients.append(config.node_id)
            self._datagram_bytes.append(INNER_BYTES)
        self._tables: list[_Table] = []
        self._spec: FibSpec | None = None
        self._fib: Fib | None = None
        self._places: dict[Hashable, list[tuple[_Table, int]]] = {}
        store.watch(self._note)

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
        if self._spec is None or spec.tables != self._spec.tables:
            self._find_places()
        if spec == self._spec and not any(changes):
            return None
        self._spec = spec
        return self._note_made(self._make(spec))

    def refresh(self) -> Fib | None:
        """The same for the specification of the last FIB: predicates alone may have changed."""
        changes = [table.editor.settle() for table in self._tables]
        if self._fib is None or not any(changes):
            return None
        return self._note_made(self._fib.over([table.compiled for table in self._tables]))

    def contents(self) -> tuple[dict[int, frozenset[bytes]], ...]:
        """The filters at each interface of each table, as they were installed."""
        return tuple(table.contents() for table in self._tables)

    def stats(self) -> dict[str, object]:
        """Sizes of the last FIB in sum, `by_table`, and of what is kept to change them (`upkeep_bytes`)."""
        if self._fib is None:
            return {}
        kept = self._store.stats()["bytes"] + sum(table.editor.bytes for table in self._tables)
        by_table = [table.stats() for table in self._tables]
        return {**self._fib.stats(), "by_table": by_table, "upkeep_bytes": kept}

    def _note(self, name: Hashable, removed: Predicate, added: Predicate) -> None:
        for table, interface in self._places.get(name, ()):
            table.editor.add(interface, added)
            table.editor.remove(interface, removed)

    def _find_places(self) -> None:
        self._places = {}
        for table in self._tables:
            for interface, sources in table.spec.items():
                for source in sources:
                    self._places.setdefault(source, []).append((table, interface))

    def _make(self, spec: FibSpec) -> Fib:
        entries = [
            ClassEntry(c.header_class, c.accept, c.out, c.table, c.rewrite, c.routed) for c in spec.classes
        ]
        tables = [table.compiled for table in self._tables]
        route = _route(self._node, spec.route) if spec.route else None
        about = (self._clients, entries, tables, self._datagram_bytes, route, self._gate, self._permits)
        return Fib(spec.origin_class, *about)

    def _note_made(self, fib: Fib) -> Fib:
        self._fib, self.serial = fib, self.serial + 1
        return fib


def _route(node: int, spec: RouteSpec) -> Route:
    return Route(node, spec.table, spec.destinations, spec.one_each)

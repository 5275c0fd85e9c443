"""From a scheme's plain tables to the compiled FIB, changing only what changed.

A table is kept and edited: filters that came or went are added or removed and
committed at once. FIBs made before hold the table as it was then, so each is
immutable and the swap is atomic.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastpath.fib import ClassEntry, Fib, ForwardingTable
from nodes.config import NodeConfig
from nodes.routing.channel import UDP_OVERHEAD_BYTES
from nodes.routing.schemes.base import FibSpec, TableSpec
from nodes.wire.packets import Role


class _Table:
    """A forwarding table and the ids of what is in it."""

    def __init__(self) -> None:
        self.compiled = ForwardingTable()
        self._spec: TableSpec = {}
        self._ids: dict[int, dict[bytes, int]] = {}

    def become(self, spec: TableSpec) -> None:
        """Hold just what the spec says."""
        for interface in sorted({*self._spec, *spec}):
            self._edit(interface, spec.get(interface, ()))
        self._spec = spec
        self.compiled.commit()

    def _edit(self, interface: int, wanted: Sequence[bytes]) -> None:
        if wanted == self._spec.get(interface, ()):
            return
        ids, keep = self._ids.setdefault(interface, {}), frozenset(wanted)
        for gone in [f for f in ids if f not in keep]:
            self.compiled.remove(ids.pop(gone))
        for new in wanted:
            if new not in ids:
                ids[new] = self.compiled.add(interface, new)


class Installer:
    """Makes the FIBs of one router."""

    def __init__(self, config: NodeConfig) -> None:
        self.serial = 0
        """Counts the FIBs made."""
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
        if spec == self._spec:
            return None
        for _ in range(len(self._tables), len(spec.tables)):
            self._tables.append(_Table())
        del self._tables[len(spec.tables) :]
        for table, wanted in zip(self._tables, spec.tables, strict=True):
            table.become(wanted)
        self._spec = spec
        self._fib = self._make(spec)
        self.serial += 1
        return self._fib

    def stats(self) -> dict[str, int]:
        """Sizes of the last FIB."""
        return dict(self._fib.stats()) if self._fib is not None else {}

    def _make(self, spec: FibSpec) -> Fib:
        entries = [ClassEntry(c.header_class, c.accept, c.out, c.table, c.rewrite) for c in spec.classes]
        tables = [table.compiled for table in self._tables]
        return Fib(spec.origin_class, self._clients, entries, tables, self._datagram_bytes)

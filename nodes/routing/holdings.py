"""What neighbours make us hold, and how much of it they may.

Every record counts against the link it came by: its encoded bytes and a sum for
its keeping. So neither many made-up origins nor large predicates nor forged
sequences make a router hold more than a bound, and the other links' share stays
as it is. A record that comes anew by another link counts there.
"""

from __future__ import annotations

from nodes.config import LimitConfig
from nodes.routing.drops import Reason
from nodes.routing.link import Link
from nodes.wire.packets import Kind

RECORD_BYTES = 1_024
"""What a record counts for besides its bytes."""


class Holdings:
    """Bytes held, by the link they came by."""

    def __init__(self, limits: LimitConfig) -> None:
        self._limits = limits
        self._by_link: dict[int, int] = {}
        self._records: dict[tuple[Kind, int], tuple[int, int]] = {}
        self._refused: set[tuple[int, Reason]] = set()

    def admits_filters(self, link: Link, filters: int) -> bool:
        """Whether so many filters of one origin or client may be held; if not, it is said."""
        limit = self._limits.filters_per_neighbour
        if filters > limit:
            setting = "limits.filters_per_neighbour"
            self._refuse(link, Reason.TOO_MANY_FILTERS, filters=filters, limit=limit, setting=setting)
        return filters <= limit

    def charge(self, link: Link, kind: Kind, origin: int, size: int) -> bool:
        """Count a record instead of the one before it, if there is room; if not, it is said."""
        interface, limit = link.interface.index, self._limits.bytes_per_neighbour
        held_by, held = self._records.get((kind, origin), (interface, 0))
        total = self._by_link.get(interface, 0) + size + RECORD_BYTES - (held if held_by == interface else 0)
        if total > limit:
            setting = "limits.bytes_per_neighbour"
            self._refuse(link, Reason.TOO_MUCH_HELD, bytes=total, limit=limit, setting=setting)
            return False
        self.release(kind, origin)
        self._by_link[interface] = total
        self._records[kind, origin] = (interface, size + RECORD_BYTES)
        return True

    def release(self, kind: Kind, origin: int) -> None:
        """A record is held no more."""
        interface, size = self._records.pop((kind, origin), (0, 0))
        if size:
            self._by_link[interface] -= size

    def reset(self, link: Link) -> None:
        """A new session: what is refused now is said again."""
        interface = link.interface.index
        self._refused = {(at, reason) for at, reason in self._refused if at != interface}

    def stats(self) -> dict[int, int]:
        """The bytes that count against each interface."""
        return {interface: size for interface, size in sorted(self._by_link.items()) if size}

    def _refuse(self, link: Link, reason: Reason, **fields: object) -> None:
        """Say it once a session; a neighbour that goes on must not fill the log."""
        first = (link.interface.index, reason) not in self._refused
        self._refused.add((link.interface.index, reason))
        link.drop(reason, **(fields if first else {}))

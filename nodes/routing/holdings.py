"""Bounds what neighbours can make a router hold, whatever the records claim.

Every record counts against the link it came by, with its bytes and a sum for keeping
it. So neither many origins nor large predicates nor forged numbers make a router hold
more than a bound, and the other links keep their share.

Records of origins that no router lists with which we are connected may be invented.
They are bounded apart, all links together: what is refused is a newcomer of that kind,
never the record of a router that is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from nodes.config import LimitConfig
from nodes.routing.effects import Reason
from nodes.routing.link import Link
from nodes.wire.packets import Kind, Refusal

RECORD_BYTES = 1_024
"""What a record counts for besides its bytes."""


class Size(NamedTuple):
    """What predicates of one origin or client amount to."""

    filters: int
    constraints: int
    size_bytes: int

    def plus(self, other: Size) -> Size:
        """Both."""
        return Size(
            self.filters + other.filters,
            self.constraints + other.constraints,
            self.size_bytes + other.size_bytes,
        )

    def minus(self, other: Size) -> Size:
        """What is left without it."""
        return Size(
            self.filters - other.filters,
            self.constraints - other.constraints,
            self.size_bytes - other.size_bytes,
        )

    def within(self, other: Size) -> bool:
        """Whether it is in no respect more."""
        return (
            self.filters <= other.filters
            and self.constraints <= other.constraints
            and self.size_bytes <= other.size_bytes
        )


NOTHING = Size(0, 0, 0)


class _Unlisted:
    """The records of origins that nobody lists who is connected with us."""

    def __init__(self) -> None:
        self.size = 0
        self._listed: Collection[int] = ()
        self._sizes: dict[tuple[Kind, int], int] = {}
        self._origins: Counter[int] = Counter()

    def see(self, listed: Collection[int]) -> None:
        """Somebody lists these now."""
        self._listed = listed
        for kind, origin in [each for each in self._sizes if each[1] in listed]:
            self.remove(kind, origin)

    def concerns(self, origin: int, held: bool) -> bool:
        """Whether a record counts here; those of routers that were listed once do not."""
        return origin not in self._listed and (not held or origin in self._origins)

    def origins_with(self, origin: int) -> int:
        """How many origins there are with this one."""
        return len(self._origins) + (origin not in self._origins)

    def add(self, kind: Kind, origin: int, size: int) -> None:
        """It is held."""
        self._sizes[kind, origin] = size
        self._origins[origin] += 1
        self.size += size

    def remove(self, kind: Kind, origin: int) -> int:
        """It is not held any more, or somebody lists its origin; returns its size, if it counted."""
        size = self._sizes.pop((kind, origin), 0)
        if size:
            self.size -= size
            self._origins[origin] -= 1
            if not self._origins[origin]:
                del self._origins[origin]
        return size


class Holdings:
    """Bytes held, by the link they came by."""

    def __init__(self, limits: LimitConfig) -> None:
        self._limits = limits
        self._by_link: dict[int, int] = {}
        self._records: dict[tuple[Kind, int], tuple[int, int]] = {}
        self._unlisted = _Unlisted()
        self._counts: Counter[int] = Counter()
        """Of records, by the link they came by."""
        self._refused: set[tuple[int, Reason]] = set()
        self.of_client = Size(
            limits.filters_per_neighbour, limits.constraints_per_neighbour, limits.bytes_per_neighbour
        )
        """How much of one kind a client may hold."""

    def see_listed(self, origins: Collection[int]) -> None:
        """Routers that we are connected with list these, or are these."""
        self._unlisted.see(origins)

    def admits_filters(self, link: Link, filters: int) -> bool:
        """Whether so many filters of one origin or client may be held; if not, it is logged."""
        limit = self._limits.filters_per_neighbour
        if filters > limit:
            setting = "limits.filters_per_neighbour"
            self._refuse(link, Reason.TOO_MANY_FILTERS, filters=filters, limit=limit, setting=setting)
        return filters <= limit

    def admits_constraints(self, link: Link, constraints: int) -> bool:
        """Whether the filters of one origin or client may have so many together; if not, it is logged."""
        limit = self._limits.constraints_per_neighbour
        if constraints > limit:
            setting = "limits.constraints_per_neighbour"
            self._refuse(
                link, Reason.TOO_MANY_CONSTRAINTS, constraints=constraints, limit=limit, setting=setting
            )
        return constraints <= limit

    def admits_of_client(self, link: Link, size: Size) -> bool:
        """Whether a client may hold so much of one kind; if not, it is logged."""
        if not self.admits_filters(link, size.filters) or not self.admits_constraints(link, size.constraints):
            return False
        limit = self._limits.bytes_per_neighbour
        if size.size_bytes > limit:
            setting = "limits.bytes_per_neighbour"
            self._refuse(link, Reason.TOO_MUCH_HELD, bytes=size.size_bytes, limit=limit, setting=setting)
        return size.size_bytes <= limit

    def pattern_refusal(self, link: Link, patterns: int, size: int) -> Refusal | None:
        """Why a neighbour may not have so many patterns, one of them of this size; None: it may.

        If it may not, it is logged.
        """
        limits = self._limits
        if size > limits.pattern_bytes:
            limit, setting = limits.pattern_bytes, "limits.pattern_bytes"
            self._refuse(link, Reason.OVERSIZE_PATTERN, bytes=size, limit=limit, setting=setting)
            return Refusal.OVERSIZE_PATTERN
        if patterns > limits.patterns_per_neighbour:
            limit, setting = limits.patterns_per_neighbour, "limits.patterns_per_neighbour"
            self._refuse(link, Reason.TOO_MANY_PATTERNS, patterns=patterns, limit=limit, setting=setting)
            return Refusal.TOO_MANY_PATTERNS
        return None

    def admits_origin(self, link: Link, kind: Kind, origin: int, size: int) -> bool:
        """Whether a record of this origin may be held, if nobody lists it; if not, it is logged."""
        unlisted, limits = self._unlisted, self._limits
        if not unlisted.concerns(origin, (kind, origin) in self._records):
            return True
        origins, total = unlisted.origins_with(origin), unlisted.size + size + RECORD_BYTES
        if origins <= limits.unlisted_origins and total <= limits.unlisted_bytes:
            return True
        self._refuse(
            link,
            Reason.UNLISTED_ORIGIN,
            origins=origins,
            bytes=total,
            setting="limits.unlisted_origins, limits.unlisted_bytes",
        )
        return False

    def charge(self, link: Link, kind: Kind, origin: int, size: int) -> bool:
        """Count a record instead of the one before it, if there is room; if not, it is logged."""
        interface, limit = link.interface.index, self._limits.bytes_per_neighbour
        held_by, held = self._records.get((kind, origin), (interface, 0))
        total = self._by_link.get(interface, 0) + size + RECORD_BYTES - (held if held_by == interface else 0)
        if total > limit:
            setting = "limits.bytes_per_neighbour"
            self._refuse(link, Reason.TOO_MUCH_HELD, bytes=total, limit=limit, setting=setting)
            return False
        records = self._counts[interface] + (held_by != interface or not held)
        if records > self._limits.records_per_neighbour:
            limit, setting = self._limits.records_per_neighbour, "limits.records_per_neighbour"
            self._refuse(link, Reason.TOO_MANY_RECORDS, records=records, limit=limit, setting=setting)
            return False
        counts_apart = self._unlisted.concerns(origin, (kind, origin) in self._records)
        self.release(kind, origin)
        self._by_link[interface] = total
        self._counts[interface] = records
        self._records[kind, origin] = (interface, size + RECORD_BYTES)
        if counts_apart:
            self._unlisted.add(kind, origin, size + RECORD_BYTES)
        return True

    def release(self, kind: Kind, origin: int) -> None:
        """A record is held no more."""
        interface, size = self._records.pop((kind, origin), (0, 0))
        if size:
            self._by_link[interface] -= size
            self._counts[interface] -= 1
            self._unlisted.remove(kind, origin)

    def reset(self, link: Link) -> None:
        """A new session: what is refused now is logged again."""
        interface = link.interface.index
        self._refused = {(at, reason) for at, reason in self._refused if at != interface}

    def stats(self) -> dict[int, int]:
        """The bytes that count against each interface."""
        return {interface: size for interface, size in sorted(self._by_link.items()) if size}

    def _refuse(self, link: Link, reason: Reason, **fields: object) -> None:
        """Log it once a session; a neighbour that goes on must not fill the log."""
        first = (link.interface.index, reason) not in self._refused
        self._refused.add((link.interface.index, reason))
        link.drop(reason, **(fields if first else {}))

"""The payloads of `bp`, `bs` and `amsp` as bytes (docs/wire-format.md, kinds 24 to 27; MM 5).

A descriptor is a filter with an id, (router, number). Filters stay encoded. None in the place of a filter
is a descriptor of whatever may be published.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from fastpath import cover
from fastpath.wire.codec import WireError, split_predicate
from nodes.model import UsageError

_COST, _CAUSE, _CHANGE, _DESCRIPTOR, _UPDATE, _COUNT = (
    struct.Struct(layout) for layout in (">IQBQQH", ">I", ">IBI", ">IQI", ">BIQIQ", ">I")
)
_COST_FIELDS = (
    *(("origin", 4), ("sequence", 8), ("flags", 1)),
    *(("publication_rate", 8), ("subscription_rate", 8), ("count", 2)),
)
_CHANGE_FIELDS = (("change", 4), ("marking", 1), ("count", 4))
_DESCRIPTOR_FIELDS = (("router", 4), ("descriptor", 8), ("place", 4))
_UPDATE_FIELDS = (("flags", 1), ("publisher", 4), ("pcd", 8), ("subscriber", 4), ("scd", 8))
_NO_FILTERS = _COUNT.pack(0)
PUBLISHES, SUBSCRIBES = 1, 2
WITHDRAWN, AGAIN, KEPT = 1, 2, 4
FLAGS = (0, WITHDRAWN, AGAIN, WITHDRAWN | KEPT)
REMEMBERED, REMEMBERED_BYTES = 4_096, 512
"""So many payloads of a kind, of at most this size, are known by their bytes: each goes over many links."""


@dataclass(frozen=True, slots=True)
class CostAnnounce:
    """COST_ANNOUNCE: what a router publishes and wants in a unit of time, and its causes (E18)."""

    origin: int
    sequence: int
    publishes: bool
    subscribes: bool
    publication_rate: int
    """f, in millionths of a descriptor a second."""
    subscription_rate: int
    """g, likewise."""
    causes: tuple[int, ...]
    """The links that it prefers as s-links, by the neighbours they lead to, ascending."""

    def encode(self) -> bytes:
        """The payload."""
        flags = PUBLISHES * self.publishes | SUBSCRIBES * self.subscribes
        rates = self.publication_rate, self.subscription_rate
        head = _pack(_COST, self.origin, self.sequence, flags, *rates, len(self.causes))
        return head + b"".join(_pack(_CAUSE, each) for each in self.causes)

    @classmethod
    def decode(cls, data: bytes) -> CostAnnounce:
        """Read a payload.

        Raises:
            WireError: It is no announcement of costs.
        """
        return (_known_costs if len(data) <= REMEMBERED_BYTES else _costs)(data)


def _costs(data: bytes) -> CostAnnounce:
    origin, sequence, flags, *rates, count = _unpack(_COST, _COST_FIELDS, data)
    _require(origin, "origin", 0, "is 0, which is not allowed")
    _require(not sequence >> 63, "sequence", 4, "has its top bit set")
    _require(flags <= PUBLISHES | SUBSCRIBES, "flags", 12, "has reserved bits set")
    causes = tuple(_causes(data, count))
    _finish(data, _COST.size + count * _CAUSE.size, "COST_ANNOUNCE")
    publishes, subscribes = bool(flags & PUBLISHES), bool(flags & SUBSCRIBES)
    return CostAnnounce(origin, sequence, publishes, subscribes, rates[0], rates[1], causes)


_known_costs = lru_cache(maxsize=REMEMBERED)(_costs)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A content descriptor."""

    router: int
    number: int
    filter: bytes | None


@dataclass(frozen=True, slots=True)
class MarkingChange:
    """CHANGE_MARKING, with PCDs, or CHANGE_MARKING_REPLY, with SCDs."""

    number: int
    marking: int
    """1 for a p-link, 0 for an s-link."""
    descriptors: tuple[Descriptor, ...]
    """Ascending."""

    def encode(self) -> bytes:
        """The payload."""
        filters = sorted({each.filter for each in self.descriptors if each.filter is not None})
        places = {filter_: at for at, filter_ in enumerate(filters, 1)}
        head = _pack(_CHANGE, self.number, self.marking, len(self.descriptors))
        listed = (
            _pack(
                _DESCRIPTOR, each.router, each.number, places[each.filter] if each.filter is not None else 0
            )
            for each in self.descriptors
        )
        return head + b"".join(listed) + _COUNT.pack(len(filters)) + b"".join(filters)

    @classmethod
    def decode(cls, data: bytes) -> MarkingChange:
        """Read a payload.

        Raises:
            WireError: It is no change of a marking.
        """
        number, marking, count = _unpack(_CHANGE, _CHANGE_FIELDS, data)
        _require(number, "change", 0, "is 0, which is not allowed")
        _require(marking <= 1, "marking", 4, "is neither 0 nor 1")
        at = _CHANGE.size + count * _DESCRIPTOR.size
        listed = [*_listed(data, count)]
        filters = [None, *_filters(data, at)]
        places = {place for *_, place in listed}
        _require(max(places, default=0) < len(filters), "place", at - 4, "is beyond the last filter")
        _require({*places, 0} == {*range(len(filters))}, "predicate", at, "has a filter that nothing names")
        return cls(number, marking, tuple(Descriptor(r, n, filters[place]) for r, n, place in listed))


@dataclass(frozen=True, slots=True)
class DescriptorUpdate:
    """CD_UPDATE: a PCD (no subscriber), an SCD (no publisher) or an MCD comes, is repeated, or goes."""

    publisher: int
    pcd: int
    subscriber: int
    scd: int
    filter: bytes | None
    """Of a PCD or SCD its own, of an MCD that of the SCD; None where it goes, or if it is of anything."""
    withdrawn: bool = False
    again: bool = False
    kept: bool = False
    """Of one withdrawn: it no longer comes this way, and the matches that it made stay."""

    def encode(self) -> bytes:
        """The payload."""
        flags = WITHDRAWN * self.withdrawn | AGAIN * self.again | KEPT * self.kept
        head = _pack(_UPDATE, flags, self.publisher, self.pcd, self.subscriber, self.scd)
        return head + (_COUNT.pack(0) if self.filter is None else _COUNT.pack(1) + self.filter)

    @classmethod
    def decode(cls, data: bytes) -> DescriptorUpdate:
        """Read a payload.

        Raises:
            WireError: It is no update of a descriptor.
        """
        flags, publisher, pcd, subscriber, scd = _unpack(_UPDATE, _UPDATE_FIELDS, data)
        _require(flags in FLAGS, "flags", 0, "has bits set that do not go together")
        _require(publisher or not pcd, "publisher", 1, "is 0, and its descriptor is not")
        _require(subscriber or not scd, "subscriber", 13, "is 0, and its descriptor is not")
        _require(publisher or subscriber, "subscriber", 13, "is 0, as is the publisher")
        filters = _filters(data, _UPDATE.size) if data[_UPDATE.size :] != _NO_FILTERS else []
        allowed = 0 if flags & WITHDRAWN else 1
        more = "has more than 0 filters" if flags & WITHDRAWN else "has more than 1 filters"
        _require(len(filters) <= allowed, "predicate", _UPDATE.size, more)
        found = filters[0] if filters else None
        withdrawn, again, kept = flags & WITHDRAWN != 0, flags & AGAIN != 0, flags & KEPT != 0
        return cls(publisher, pcd, subscriber, scd, found, withdrawn, again, kept)


def _causes(data: bytes, count: int) -> Iterator[int]:
    before = 0
    for at in range(_COST.size, _COST.size + count * _CAUSE.size, _CAUSE.size):
        (cause,) = _unpack(_CAUSE, (("cause", 4),), data, at)
        _require(cause > before, "cause", at, "is not above the one before it")
        yield cause
        before = cause


def _listed(data: bytes, count: int) -> Iterator[tuple[int, int, int]]:
    before = (0, 0)
    for at in range(_CHANGE.size, _CHANGE.size + count * _DESCRIPTOR.size, _DESCRIPTOR.size):
        router, number, place = _unpack(_DESCRIPTOR, _DESCRIPTOR_FIELDS, data, at)
        _require(router, "router", at, "is 0, which is not allowed")
        _require((router, number) > before, "router", at, "is not above the one before it")
        yield router, number, place
        before = router, number


def _filters(data: bytes, at: int) -> list[bytes]:
    """The filters of the predicate that ends a payload."""
    predicate = data[at:]
    try:
        cover.count(predicate)
    except WireError as error:
        why = re.sub(r"at byte (\d+)", lambda found: f"at byte {int(found[1]) + at}", str(error))
        raise WireError(why) from error
    return split_predicate(predicate)


def _pack(layout: struct.Struct, *fields: int) -> bytes:
    try:
        return layout.pack(*fields)
    except struct.error as error:
        raise UsageError(f"a number does not fit: {error}") from error


def _unpack(
    layout: struct.Struct, fields: tuple[tuple[str, int], ...], data: bytes, at: int = 0
) -> tuple[int, ...]:
    if at + layout.size > len(data):
        for name, size in fields:
            _require(at + size <= len(data), name, at, "runs past the end")
            at += size
    return layout.unpack_from(data, at)


def _require(condition: object, name: str, at: int, why: str) -> None:
    if not condition:
        raise WireError(f"{name} at byte {at} {why}")


def _finish(data: bytes, at: int, name: str) -> None:
    _require(len(data) <= at, name, at, "is followed by bytes that belong to nothing")

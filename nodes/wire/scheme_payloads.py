"""The payloads of the schemes whose routers talk, as bytes (docs/wire-format.md, kinds 16 to 21).

Predicates stay encoded, as routers work on them. `Advertisement`, `Request`, `Reply`
and the records of an era are `cbcb`'s; a payload of `siena` is an issuer and a predicate.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from fastpath import cover
from fastpath.wire.codec import WireError
from nodes.model import UsageError

_RA, _SR, _UR, _RECORD, _ISSUER = (
    struct.Struct(layout) for layout in (">IQIB", ">IQIB", ">IQI", ">IQQ", ">I")
)
_RA_FIELDS = (("origin", 4), ("era", 8), ("revision", 4), ("flags", 1))
_SR_FIELDS = (("origin", 4), ("era", 8), ("request", 4), ("flags", 1))
_UR_FIELDS = (("origin", 4), ("era", 8), ("request", 4))
_RECORD_FIELDS = (("router", 4), ("renewal", 8), ("nonce", 8))


@dataclass(frozen=True, slots=True)
class Advertisement:
    """RA: what a router wants in addition to what it sent before (FWD 2.1, P2)."""

    origin: int
    era: int
    revision: int
    narrowed: bool
    predicate: bytes

    def encode(self) -> bytes:
        """The payload."""
        return _pack(_RA, self.origin, self.era, self.revision, self.narrowed) + self.predicate

    @classmethod
    def decode(cls, data: bytes) -> Advertisement:
        """Read a payload.

        Raises:
            WireError: It is no advertisement.
        """
        origin, era, revision, flags = _unpack(_RA, _RA_FIELDS, data)
        return cls(_origin(origin), era, revision, _flag(flags), _predicate(data, _RA.size))


@dataclass(frozen=True, slots=True)
class Request:
    """SR: asks for the predicates of all routers below, in the origin's tree (P3)."""

    origin: int
    era: int
    number: int
    periodic: bool
    signature: bytes = b""
    """Of the origin, where requests are signed; it stands behind the payload."""

    def encode(self) -> bytes:
        """The payload, without a signature."""
        return _pack(_SR, self.origin, self.era, self.number, self.periodic)

    @classmethod
    def decode(cls, data: bytes, signature: bytes = b"") -> Request:
        """Read a payload whose signature was taken off.

        Raises:
            WireError: It is no request.
        """
        origin, era, number, flags = _unpack(_SR, _SR_FIELDS, data)
        request = cls(_origin(origin), era, number, _flag(flags), signature)
        if len(data) != _SR.size:
            raise WireError(f"request at byte {_SR.size} is followed by bytes that belong to nothing")
        return request


@dataclass(frozen=True, slots=True)
class Reply:
    """UR: the predicates of the sender and of all routers below it, in the tree of the SR's origin (P3)."""

    origin: int
    era: int
    number: int
    predicate: bytes

    def encode(self) -> bytes:
        """The payload."""
        return _pack(_UR, self.origin, self.era, self.number) + self.predicate

    @classmethod
    def decode(cls, data: bytes) -> Reply:
        """Read a payload.

        Raises:
            WireError: It is no reply.
        """
        origin, era, number = _unpack(_UR, _UR_FIELDS, data)
        return cls(_origin(origin), era, number, _predicate(data, _UR.size))


def split_records(data: bytes) -> list[bytes]:
    """The records of an ERA payload, each (router, renewal, nonce), checked.

    Raises:
        WireError: It is none.
    """
    whole = len(data) - len(data) % _RECORD.size
    if not data or whole < len(data):
        _require(_RECORD_FIELDS, data, whole)
    before = 0
    for at in range(0, whole, _RECORD.size):
        router, renewal, _ = _RECORD.unpack_from(data, at)
        _origin(router, "router", at)
        if router <= before:
            raise WireError(f"router at byte {at} is not above the one before it")
        if renewal >> 63:
            raise WireError(f"renewal at byte {at + 4} has its top bit set")
        before = router
    return [data[at : at + _RECORD.size] for at in range(0, whole, _RECORD.size)]


def join_issuer(issuer: int, predicate: bytes) -> bytes:
    """A SIENA_SUBSCRIBE or SIENA_UNSUBSCRIBE."""
    return _ISSUER.pack(issuer) + predicate


def split_issuer(payload: bytes) -> tuple[int, bytes]:
    """(Issuer, encoded predicate); what the predicate says is not looked at.

    Raises:
        WireError: There is no room for an issuer.
    """
    if len(payload) < _ISSUER.size:
        raise WireError("issuer at byte 0 runs past the end")
    return int(_ISSUER.unpack_from(payload)[0]), payload[_ISSUER.size :]


def _pack(layout: struct.Struct, origin: int, *fields: int) -> bytes:
    if not origin:
        raise UsageError("the id of a router is 0; expected 1 to 4294967295")
    try:
        return layout.pack(origin, *fields)
    except struct.error as error:
        raise UsageError(f"a number does not fit: {error}") from error


def _unpack(layout: struct.Struct, fields: tuple[tuple[str, int], ...], data: bytes) -> tuple[int, ...]:
    _require(fields, data)
    return layout.unpack_from(data)


def _require(fields: tuple[tuple[str, int], ...], data: bytes, at: int = 0) -> None:
    for name, size in fields:
        if at + size > len(data):
            raise WireError(f"{name} at byte {at} runs past the end")
        at += size


def _predicate(data: bytes, at: int) -> bytes:
    predicate = data[at:]
    try:
        cover.count(predicate)
    except WireError as error:
        why = re.sub(r"at byte (\d+)", lambda found: f"at byte {int(found[1]) + at}", str(error))
        raise WireError(why) from error
    return predicate


def _origin(origin: int, name: str = "origin", at: int = 0) -> int:
    if not origin:
        raise WireError(f"{name} at byte {at} is 0, which is not allowed")
    return origin


def _flag(flags: int) -> bool:
    if flags > 1:
        raise WireError(f"flags at byte {_RA.size - 1} has reserved bits set")
    return flags == 1

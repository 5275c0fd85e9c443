"""The payloads of the scheme `siena` as bytes: kinds 20 and 21 of docs/wire-format.md, predicates encoded.

Both kinds are an issuer and a predicate. Routers work on these; `payloads`
turns them into the readable values of `packets`.
"""

from __future__ import annotations

import struct

from fastpath.codec import WireError

_ISSUER = struct.Struct(">I")


def join(issuer: int, predicate: bytes) -> bytes:
    """The payload."""
    return _ISSUER.pack(issuer) + predicate


def split(payload: bytes) -> tuple[int, bytes]:
    """(Issuer, encoded predicate); what the predicate says is not looked at.

    Raises:
        WireError: There is no room for an issuer.
    """
    if len(payload) < _ISSUER.size:
        raise WireError("issuer at byte 0 runs past the end")
    return int(_ISSUER.unpack_from(payload)[0]), payload[_ISSUER.size :]

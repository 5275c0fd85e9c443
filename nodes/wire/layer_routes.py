"""The route of a message as a list of destinations, for Scapy: readable and apart from the compiled codec.

A route is the scheme's own; where it is no list of destinations it stays bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from scapy.fields import XStrLenField
from scapy.packet import Packet

from fastpath.codec import WireError

ID_MAX = 0xFFFF_FFFF


def encode_destinations(routers: Iterable[int]) -> bytes:
    """The route of a message for these routers, whose ids ascend."""
    route, before = bytearray(), 0
    for router in routers:
        route += _varint(router - before - 1)
        before = router
    return bytes(route)


def decode_destinations(route: bytes) -> tuple[int, ...]:
    """The routers a route names, ascending.

    Raises:
        WireError: It is no list of destinations.
    """
    found, before, step, shift = [], 0, 0, 0
    for byte in route:
        step |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            before += step + 1
            found.append(before)
            step = shift = 0
    if shift or before > ID_MAX or encode_destinations(found) != route:
        raise WireError("this route is no list of destinations")
    return tuple(found)


class RouteField(XStrLenField):
    """Bytes, shown with the destinations they name."""

    def i2repr(self, pkt: Packet | None, x: bytes) -> str:
        """Show the bytes and, if there are any, the destinations."""
        shown = str(super().i2repr(pkt, x))
        try:
            routers = decode_destinations(bytes(x))
        except WireError:
            return shown
        return f"{shown} (to {', '.join(map(str, routers))})" if routers else shown


def _varint(step: int) -> bytes:
    low, rest = step & 0x7F, step >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])

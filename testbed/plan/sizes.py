"""How large a message is on the wire (docs/wire-format.md, MESSAGE), to know in time that it does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nodes.model import Time, Value
from nodes.scheme_catalog import CATALOG

_DATAGRAM_OVERHEAD = 28  # IPv4 and UDP
_FIXED_BYTES = 36
_ATTRIBUTE_BYTES = 2  # type and length of the name
_PAYLOAD_BYTES = 2  # its length
_DESTINATION_BITS = 7  # a byte


@dataclass(frozen=True, slots=True)
class Room:
    """What a message may take to cross every link.

    Where messages carry destinations, a router cuts them apart so that they
    fit; what must fit is the message with one.
    """

    mtu: int
    """The smallest there is."""
    scheme: str
    routers: int
    seal_bytes: int = 0
    """What the seal of a datagram takes, if messages are sealed."""

    @property
    def datagram_bytes(self) -> int:
        """What a link carries besides the headers of IP and UDP, and a seal."""
        return self.mtu - _DATAGRAM_OVERHEAD - self.seal_bytes

    @property
    def route_bytes(self) -> int:
        """What one destination takes, if messages carry any: that of the highest id."""
        if not CATALOG[self.scheme].routed or self.routers < 2:
            return 0
        return max(1, -(-(self.routers - 1).bit_length() // _DESTINATION_BITS))

    def complaint(self, message: Mapping[str, Value], payload: str = "") -> tuple[str, str] | None:
        """Why a message does not fit and what was expected; None if it does."""
        size = message_packet_bytes(message) + _payload_bytes(payload) + self.route_bytes
        if size <= self.datagram_bytes:
            return None
        carried = f" with the one destination it carries under {self.scheme}" if self.route_bytes else ""
        expected = f"at most {self.datagram_bytes}: the smallest MTU, {self.mtu}, less {_DATAGRAM_OVERHEAD}"
        what = f"the message takes {size} bytes{carried}, and messages are not fragmented"
        sealed = f" and {self.seal_bytes} for the seal" if self.seal_bytes else ""
        return what, f"{expected} for IP and UDP{sealed}"


def message_packet_bytes(message: Mapping[str, Value]) -> int:
    """The length of the MESSAGE packet, with neither route nor trailer."""
    return _FIXED_BYTES + sum(
        _ATTRIBUTE_BYTES + len(name.encode()) + _value_bytes(value) for name, value in message.items()
    )


def _payload_bytes(payload: str) -> int:
    return len(payload.encode()) + _PAYLOAD_BYTES if payload else 0


def _value_bytes(value: Value) -> int:
    if isinstance(value, str):
        return 2 + len(value.encode())
    if isinstance(value, bool):
        return 1
    assert isinstance(value, int | float | Time)
    return 8

"""How large a message is on the wire (docs/wire-format.md, MESSAGE), to know in time that it does not fit."""

from __future__ import annotations

from collections.abc import Mapping

from nodes.model import Time, Value

_FIXED_BYTES = 36
_ATTRIBUTE_BYTES = 2  # type and length of the name


def message_packet_bytes(message: Mapping[str, Value]) -> int:
    """The length of the MESSAGE packet, with neither route nor trailer."""
    return _FIXED_BYTES + sum(
        _ATTRIBUTE_BYTES + len(name.encode()) + _value_bytes(value) for name, value in message.items()
    )


def _value_bytes(value: Value) -> int:
    if isinstance(value, str):
        return 2 + len(value.encode())
    if isinstance(value, bool):
        return 1
    assert isinstance(value, int | float | Time)
    return 8

"""What a message says, by its capture, or else by what its client announced."""

from __future__ import annotations

from collections.abc import Mapping

from nodes.model import PredicateSyntaxError, Value, parse_message
from nodes.wire.codec import WireError, decode_attributes


def content_of(attributes: bytes | None, count: int, message: str | None) -> Mapping[str, Value] | None:
    """What was published; None if neither the captures nor the events have it.

    Nobody is owed what cannot be read, and a delivery of it is spurious.

    Args:
        attributes: As captured.
        count: How many these are.
        message: As announced.
    """
    try:
        if attributes is not None:
            return decode_attributes(attributes, count)
        return None if message is None else parse_message(message)
    except (WireError, PredicateSyntaxError):
        return None

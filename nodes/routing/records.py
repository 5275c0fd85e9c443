"""Records that every router holds a copy of, one an origin, the newest winning.

A payload begins with origin and sequence. A record is kept as the bytes in which
it arrived, so that to hold and to flood it costs one object. Here is what decides
whether a record is news; `flooding` passes it on. (Interest, which is large and
changes in steps, has its own ways: `interest`.)

A router that restarts has forgotten the sequence number it used. It learns it
from its neighbours, who send it its own older record, and jumps above it.
Records of dead routers count for nothing, as no living router lists them; they
are forgotten in time (`ageing`).
"""

from __future__ import annotations

import struct
from enum import Enum

from fastpath.codec import WireError
from nodes.wire.packets import Kind

HEAD = struct.Struct(">IQ")
LAST_SEQUENCE = (1 << 63) - 1


class Verdict(Enum):
    """What a record that arrived is to what we hold."""

    NEWER = "newer"
    CONTRADICTION = "same sequence, other content; of two such the greater bytes win everywhere"
    SAME = "same"
    OLDER = "older"
    OURS = "our own, from before we restarted"


class Records:
    """The records of one kind."""

    def __init__(self, kind: Kind, node: int, initial: bytes) -> None:
        self.kind = kind
        self.version = 0
        """Counts the changes."""
        self._node = node
        self._payloads: dict[int, bytes] = {}
        self._body = initial
        self._sequence = 0

    def payloads(self) -> list[tuple[int, bytes]]:
        """(origin, payload) of every record, by origin."""
        return sorted(self._payloads.items())

    def body(self, origin: int) -> memoryview | None:
        """What an origin says, after origin and sequence; None if nothing is known."""
        payload = self._payloads.get(origin)
        return None if payload is None else memoryview(payload)[HEAD.size :]

    def payload(self, origin: int) -> bytes | None:
        """The record of an origin."""
        return self._payloads.get(origin)

    def forget(self, origin: int) -> None:
        """An origin is gone for good."""
        if self._payloads.pop(origin, None) is not None:
            self.version += 1

    def originate(self, body: bytes) -> bytes | None:
        """Say something new of ourselves: the payload to flood, or None if it is what was said already."""
        if body == self._body and self._node in self._payloads:
            return None
        self._body = body
        self._sequence += 1
        payload = HEAD.pack(self._node, self._sequence) + body
        self._set(self._node, payload)
        return payload

    def jump_above(self, payload: bytes) -> None:
        """Forget that we said anything, so that the next `originate` outdoes this record of ours."""
        self.outdo(head(payload)[1])

    def outdo(self, sequence: int) -> None:
        """The same, for a record of this sequence."""
        self._sequence = max(self._sequence, sequence)
        self._payloads.pop(self._node, None)

    def consider(self, payload: bytes) -> Verdict:
        """Compare a record with what we hold; nothing changes yet, and the body is not looked at."""
        origin, sequence = head(payload)
        held = self._payloads.get(origin)
        if origin == self._node:
            return self._consider_ours(sequence, payload, held)
        if held is None or sequence > head(held)[1]:
            return Verdict.NEWER
        if sequence < head(held)[1] or payload == held:
            return Verdict.SAME if payload == held else Verdict.OLDER
        return Verdict.CONTRADICTION if payload > held else Verdict.OLDER

    def store(self, payload: bytes) -> None:
        """Keep a record that was considered and checked."""
        self._set(head(payload)[0], payload)

    def _consider_ours(self, sequence: int, payload: bytes, held: bytes | None) -> Verdict:
        if sequence > self._sequence or (sequence == self._sequence and payload != held):
            return Verdict.OURS
        return Verdict.SAME if payload == held else Verdict.OLDER

    def _set(self, origin: int, payload: bytes) -> None:
        self._payloads[origin] = payload
        self.version += 1


def head(payload: bytes) -> tuple[int, int]:
    """Origin and sequence.

    Raises:
        WireError: They are not there, or are not what the wire format allows.
    """
    if len(payload) < HEAD.size:
        raise WireError(f"a record has at least {HEAD.size} bytes; this has {len(payload)}")
    origin, sequence = HEAD.unpack_from(payload)
    if not origin or sequence >= LAST_SEQUENCE:
        raise WireError(f"origin {origin} or sequence {sequence} is out of range")
    return origin, sequence

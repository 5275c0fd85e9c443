"""Records that every router holds a copy of, and the rules for holding them.

A record belongs to its origin, a router; of two the newer wins. Its payload begins
with origin and sequence. `Records` keeps one of each origin as the bytes in which
it arrived, so that holding and flooding it costs one object, and decides which
arrivals are news. (Interest is large and changes in steps: `interest` keeps it.)

A router that restarts has forgotten the number it used. It learns it
from its neighbours, who send it its own older record, and goes above it (`numbers`).

All exchanges of records go by the same rules: `Holdings` bounds what a neighbour can
make us hold, `Ageing` decides when records of a router that is gone are deleted,
`Identity` notices what arrives in our own name, and `Signatures` whether a record is its
origin's. Where records are signed, a payload ends with the signature.

Not here: which of two records is newer (`numbers`), and the rules (`holdings`, `ageing`, `identity`,
`signatures`).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from fastpath.wire.codec import WireError
from nodes.routing.ageing import Ageing
from nodes.routing.holdings import Holdings
from nodes.routing.identity import Identity
from nodes.routing.numbers import LAST, Mark, Numbering, Order, OwnNumber, of_last_class
from nodes.routing.signatures import UNSIGNED, Signatures
from nodes.wire.packets import Kind

HEAD = struct.Struct(">IQ")


class Records:
    """The records of one kind."""

    def __init__(
        self, kind: Kind, node: int, initial: bytes, renumber_ms: int, signatures: Signatures = UNSIGNED
    ) -> None:
        self.kind = kind
        self.version = 0
        """Counts the changes."""
        self.own = OwnNumber(renumber_ms, from_clock=signatures.required)
        self.numbering = Numbering(renumber_ms)
        self._signatures = signatures
        self._node = node
        self._payloads: dict[int, bytes] = {}
        self._body = initial

    @property
    def settled(self) -> bool:
        """Whether nothing is contradicted, and nothing known that is not taken yet."""
        return not self.own.contradicted and self.numbering.settled

    def payloads(self) -> list[tuple[int, bytes]]:
        """(origin, payload) of every record, by origin."""
        return sorted(self._payloads.items())

    def payload(self, origin: int) -> bytes | None:
        """The record of an origin."""
        return self._payloads.get(origin)

    def forget(self, origin: int) -> None:
        """An origin is gone for good."""
        self.numbering.forget(origin)
        if self._payloads.pop(origin, None) is not None:
            self.version += 1

    def originate(self, now_ns: int, body: bytes) -> bytes | None:
        """Make our own record: the payload to flood, or None if its body is what it was."""
        if body == self._body and self._node in self._payloads:
            return None
        self._body = body
        record = HEAD.pack(self._node, self.own.take_next(now_ns)) + body
        payload = self._signatures.signed(self.kind, record)
        self._set(self._node, payload)
        return payload

    def withdraw(self) -> None:
        """Forget what we originated, so that the next `originate` makes it anew under another number."""
        self._payloads.pop(self._node, None)

    def may_be_news(self, payload: bytes) -> bool:
        """Whether a record could take the place of the one that is held, so that it has to be proved."""
        origin, sequence = head(payload)
        held = self._payloads.get(origin)
        if held is None:
            return True
        number, _ = _mark(held)
        older = sequence < number and of_last_class(sequence) is of_last_class(number)
        return not older and payload != held

    def consider(self, now_ns: int, payload: bytes) -> Order:
        """Compare a record with what is held; the body is not looked at."""
        origin, sequence = head(payload)
        held = self._payloads.get(origin)
        marks = (None if held is None else _mark(held)), (sequence, payload)
        if origin == self._node:
            return self.own.receive(now_ns, *marks)
        return self.numbering.compare(now_ns, origin, *marks)

    def store(self, now_ns: int, payload: bytes) -> bool:
        """Keep a record that was considered and checked; whether its origin went back to ordinary numbers."""
        origin, sequence = head(payload)
        held = self._payloads.get(origin)
        returned = self.numbering.store(now_ns, origin, None if held is None else _mark(held)[0], sequence)
        self._set(origin, payload)
        return returned

    def last_class(self) -> set[int]:
        """The other origins whose numbers are of the last class."""
        return self.numbering.last_class()

    def _set(self, origin: int, payload: bytes) -> None:
        self._payloads[origin] = payload
        self.version += 1


def _mark(payload: bytes) -> Mark:
    return HEAD.unpack_from(payload)[1], payload


def head(payload: bytes) -> tuple[int, int]:
    """Origin and sequence.

    Raises:
        WireError: They are not there, or are not what the wire format allows.
    """
    if len(payload) < HEAD.size:
        raise WireError(f"a record has at least {HEAD.size} bytes; this has {len(payload)}")
    origin, sequence = HEAD.unpack_from(payload)
    if not origin or sequence > LAST:
        raise WireError(f"origin {origin} or sequence {sequence} is out of range")
    return origin, sequence


class Rules(NamedTuple):
    """What all exchanges of records go by."""

    holdings: Holdings
    ageing: Ageing
    identity: Identity
    signatures: Signatures = UNSIGNED

"""Records that every router holds a copy of, and the rules for holding them.

A record belongs to its origin, a router; of two the newer wins. Its payload begins
with origin and sequence. `Records` keeps one of each origin as the bytes in which
it arrived, so that holding and flooding it costs one object, and decides which
arrivals are news. (Interest is large and changes in steps: `interest` keeps it.)

A router that restarts has forgotten the sequence number it used. It learns it
from its neighbours, who send it its own older record, and jumps above it.

Both exchanges of records, `linkstate` and `interest_exchange`, go by the same rules:

- `Holdings` bounds what a neighbour can make us hold. Every record counts against
  the link it came by, with its bytes and a sum for keeping it. So neither many
  made-up origins nor large predicates nor forged sequences make a router hold
  more than a bound, and the other links keep their share.
- `Ageing` decides when a record of a router that is gone may be forgotten, and
  how that stays safe. Such records have no effect, as no living router lists
  their origin. Whoever receives an older record than it holds answers with its
  own if that is so old that the sender may have forgotten it
  (`may_be_forgotten`): otherwise the two have merely crossed. So the newer record
  reaches its origin, which supersedes it. Whoever has forgotten an origin may have
  neighbours that have not, and that assume it knows; when it learns of the origin
  again (`recall`), it asks them (docs/protocols.md).
- `Identity` notices that another router has our id. A record in our name that we
  did not originate comes from before our restart, and one above it ends the matter.
  If it does not end, another router answers: after some rounds we give in, for two
  that supersede each other would go on for ever. The one that gives in is out of
  the network until a person gives one of them another id. (Whoever forges records
  can bring that about, as anything else: version 1 of the wire format authenticates
  nobody.)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import NamedTuple

from fastpath.wire.codec import WireError
from nodes.config import MILLISECOND_NS, LimitConfig
from nodes.routing.effects import Log, Reason
from nodes.routing.link import Link
from nodes.routing.pending import Pending
from nodes.wire.packets import Kind

RECORD_BYTES = 1_024
"""What a record counts for besides its bytes."""
FORGOTTEN_MAX = 65_536
"""So many ids of forgotten origins are remembered: made-up ones must not fill our memory."""
ROUNDS = 8
"""So often we are superseded in close succession before we give in."""
QUIET_NS = 10_000_000_000
"""After so long without, the rounds count from the beginning."""
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
        """The record of an origin without its head; None if there is none."""
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
        """Make our own record: the payload to flood, or None if its body is what it was."""
        if body == self._body and self._node in self._payloads:
            return None
        self._body = body
        self._sequence += 1
        payload = HEAD.pack(self._node, self._sequence) + body
        self._set(self._node, payload)
        return payload

    def jump_above(self, sequence: int) -> None:
        """Forget what we originated, so that the next `originate` supersedes a record of this sequence."""
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


class Holdings:
    """Bytes held, by the link they came by."""

    def __init__(self, limits: LimitConfig) -> None:
        self._limits = limits
        self._by_link: dict[int, int] = {}
        self._records: dict[tuple[Kind, int], tuple[int, int]] = {}
        self._refused: set[tuple[int, Reason]] = set()

    def admits_filters(self, link: Link, filters: int) -> bool:
        """Whether so many filters of one origin or client may be held; if not, it is logged."""
        limit = self._limits.filters_per_neighbour
        if filters > limit:
            setting = "limits.filters_per_neighbour"
            self._refuse(link, Reason.TOO_MANY_FILTERS, filters=filters, limit=limit, setting=setting)
        return filters <= limit

    def charge(self, link: Link, kind: Kind, origin: int, size: int) -> bool:
        """Count a record instead of the one before it, if there is room; if not, it is logged."""
        interface, limit = link.interface.index, self._limits.bytes_per_neighbour
        held_by, held = self._records.get((kind, origin), (interface, 0))
        total = self._by_link.get(interface, 0) + size + RECORD_BYTES - (held if held_by == interface else 0)
        if total > limit:
            setting = "limits.bytes_per_neighbour"
            self._refuse(link, Reason.TOO_MUCH_HELD, bytes=total, limit=limit, setting=setting)
            return False
        self.release(kind, origin)
        self._by_link[interface] = total
        self._records[kind, origin] = (interface, size + RECORD_BYTES)
        return True

    def release(self, kind: Kind, origin: int) -> None:
        """A record is held no more."""
        interface, size = self._records.pop((kind, origin), (0, 0))
        if size:
            self._by_link[interface] -= size

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


class Ageing:
    """Since when origins have been gone."""

    def __init__(self, forget_ms: int) -> None:
        self._forget_ns = forget_ms * MILLISECOND_NS
        self._gone_since: dict[int, int] = {}
        self._stored_at: dict[int, int] = {}
        self._forgotten: dict[int, None] = {}

    def stored(self, now_ns: int, origin: int) -> None:
        """A record of this origin was news, and is sent to all neighbours."""
        self._stored_at[origin] = now_ns

    def may_be_forgotten(self, now_ns: int, origin: int) -> bool:
        """Whether a neighbour that we sent this origin's record may have forgotten it since."""
        return now_ns - self._stored_at.get(origin, now_ns) >= self._forget_ns // 2

    def look(self, now_ns: int, origins: Iterable[int], connected: Collection[int]) -> None:
        """Note whose records we hold, and with whom we are connected."""
        since = self._gone_since
        self._gone_since = {o: since.get(o, now_ns) for o in origins if o not in connected}

    def take_due(self, now_ns: int) -> list[int]:
        """The origins to forget now; they are forgotten here."""
        due = sorted(o for o, since in self._gone_since.items() if now_ns - since >= self._forget_ns)
        for origin in due:
            del self._gone_since[origin]
            self._stored_at.pop(origin, None)
            self._forgotten[origin] = None
        while len(self._forgotten) > FORGOTTEN_MAX:
            del self._forgotten[next(iter(self._forgotten))]
        return due

    def recall(self, origins: Iterable[int]) -> list[int]:
        """Those of these origins that we had forgotten; each is returned once."""
        found = [origin for origin in origins if origin in self._forgotten] if self._forgotten else []
        for origin in found:
            del self._forgotten[origin]
        return found

    def next_deadline(self) -> int | None:
        """When `take_due` gives something."""
        return min(self._gone_since.values()) + self._forget_ns if self._gone_since else None


class Identity:
    """How often another router spoke in our name of late.

    Args:
        node: Our id.
        log: Takes what a person should know.
        gave_in: Called with the time when we give in.
    """

    def __init__(self, node: int, log: Callable[[Log], None], gave_in: Callable[[int], None]) -> None:
        self.refused = False
        """Whether we have given in."""
        self._node = node
        self._log = log
        self._gave_in = gave_in
        self._rounds = 0
        self._last_ns = 0

    def superseded(self, now_ns: int, kind: Kind, sequence: int, announcement: Pending) -> bool:
        """A record in our name is newer than ours; whether to originate one above it.

        The announcement waits, so that two routers with one id do not drown the network.
        """
        if self.refused:
            return False
        if announcement.at is None:
            self._count(now_ns, kind, sequence)
        announcement.want(now_ns)
        return True

    def _count(self, now_ns: int, kind: Kind, sequence: int) -> None:
        self._rounds = self._rounds + 1 if now_ns - self._last_ns <= QUIET_NS else 1
        self._last_ns = now_ns
        self.refused = self._rounds >= ROUNDS
        fields = {"kind": kind.name, "sequence": sequence}
        if self.refused:
            why = "another router has our id; we fall silent"
            self._log(Log("node_id_collision", fields | {"node_id": self._node, "why": why}))
            self._gave_in(now_ns)
        else:
            why = "from before our restart, or another router has our id"
            self._log(Log("own_record_received", fields | {"why": why}))


class Rules(NamedTuple):
    """What both exchanges of records go by."""

    holdings: Holdings
    ageing: Ageing
    identity: Identity

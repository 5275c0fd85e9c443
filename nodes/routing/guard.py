"""Whether a packet is the neighbour's: seals what goes over a link, and looks at the seals of what comes.

    off          nothing is sealed, and no seal is looked at
    permissive   all is sealed; what comes without a seal is taken and counted, with a wrong one refused
    required     all is sealed; without a right seal nothing is taken

Counters make repeated packets known. Ours begin at the clock, so those of a node that has started again
are higher than before. If its clock was set back, they are lower. Then it is believed once no session is
open, when its HELLO lists our end of the next one: that has a name which is drawn anew whenever a session
ends, so nobody can have recorded it before.

Keys are changed while the link carries (`use`): the neighbour, which is told a little earlier or later, may
go on with its old key for as long as it may be silent.

Not here: the bytes of a seal (`nodes.wire.seal`); what a session is (`adjacency`). Decision 33.
"""

from __future__ import annotations

from collections.abc import Mapping

from mypy_extensions import mypyc_attr

from nodes.config import MILLISECOND_NS, InterfaceConfig, LinkKey, Neighbours, NodeConfig
from nodes.routing.effects import Reason
from nodes.wire.packets import PacketType
from nodes.wire.seal import SEAL_BYTES, direction_key, proves, seal, seal_of

SEALED = frozenset((PacketType.HELLO, PacketType.CONTROL, PacketType.ACK))
"""Types of packets that two neighbours say to each other alone."""
TYPE_AT = 1
SEEN_AT, SEEN_END = 24, 32
"""Where a HELLO has the name of our end of the session."""
WINDOW = 4096
"""By how many counters a packet may have been overtaken."""
COUNTERS = 1 << 64
SEALS_REFUSED: Mapping[Reason, str] = {
    Reason.NO_SEAL: "the neighbour seals nothing, or somebody else speaks for it (security.neighbours)",
    Reason.UNKNOWN_KEY: "the neighbour has a key that we do not have",
    Reason.WRONG_SEAL: "the neighbour has another key under this number, or somebody else speaks for it",
    Reason.REPEATED_SEAL: "it came before, or the neighbour's clock was set back",
}


class Window:
    """Which of the last counters have come."""

    def __init__(self) -> None:
        self._highest = 0
        self._seen = 0
        """Bit n: the highest less n."""

    def has(self, counter: int) -> bool:
        """Whether it has come, or is so old that nobody knows."""
        behind = self._highest - counter
        return behind >= WINDOW or (behind >= 0 and bool(self._seen >> behind & 1))

    def add(self, counter: int) -> None:
        """It has come."""
        ahead = counter - self._highest
        if ahead > 0:
            self._seen = (self._seen << min(ahead, WINDOW) | 1) & ((1 << WINDOW) - 1)
            self._highest = counter
        else:
            self._seen |= 1 << -ahead


@mypyc_attr(allow_interpreted_subclasses=True)
class Guard:
    """One end of one link."""

    def __init__(self, node: NodeConfig, interface: InterfaceConfig) -> None:
        self._mode = node.security.neighbours
        self.watches = node.security.seals
        """Whether anything is sealed and looked at."""
        self._ids = node.node_id, interface.peer_id
        self._grace_ns = node.timers.hold_ms * MILLISECOND_NS
        self._ours: tuple[int, bytes] | None = None
        self._theirs: dict[int, bytes] = {}
        self._ends: dict[int, int] = {}
        """Of keys that we were told no more of: from when on they are refused."""
        self._window = Window()
        self._counter = 0
        self.use(0, interface.keys)

    def use(self, now_ns: int, keys: tuple[LinkKey, ...]) -> None:
        """Take these keys from now on: each for what comes, the first for what goes.

        Those of before that are not among them are taken for a hold time more.
        """
        us, peer = self._ids
        for key_id in [key_id for key_id, end in self._ends.items() if now_ns >= end]:
            del self._theirs[key_id], self._ends[key_id]
        for key_id in self._theirs:
            self._ends.setdefault(key_id, now_ns + self._grace_ns)
        for key in keys:
            self._theirs[key.key_id] = direction_key(key.secret, peer, us)
            self._ends.pop(key.key_id, None)
        self._ours = (keys[0].key_id, direction_key(keys[0].secret, us, peer)) if keys else None

    @property
    def seal_bytes(self) -> int:
        """By how much packets become longer."""
        return SEAL_BYTES if self.watches else 0

    def seal(self, now_ns: int, packet: bytes) -> bytes:
        """The packet as it is to be sent."""
        if not self.watches or self._ours is None or packet[TYPE_AT] not in SEALED:
            return packet
        self._counter = max(self._counter + 1, now_ns) % COUNTERS
        key_id, key = self._ours
        return seal(packet, key, key_id, self._counter)

    def refusal(self, now_ns: int, packet: bytes, opening: int = 0) -> Reason | None:
        """Why a packet that came must not be taken, if so. One that may be is known from then on.

        While no session is open, `opening` names our end of the next one.
        """
        if not self.watches or len(packet) <= TYPE_AT or packet[TYPE_AT] not in SEALED:
            return None
        found = seal_of(packet)
        if found is None:
            return Reason.NO_SEAL
        key = self._theirs.get(found.key_id)
        if key is None or now_ns >= self._ends.get(found.key_id, now_ns + 1):
            return Reason.UNKNOWN_KEY
        if not proves(packet, found, key):
            return Reason.WRONG_SEAL
        if self._window.has(found.counter):
            if not opening or not _lists(packet, opening):
                return Reason.REPEATED_SEAL
            self._window = Window()
        self._window.add(found.counter)
        return None

    def permits(self, reason: Reason) -> bool:
        """Whether such a packet is counted and taken nevertheless."""
        return reason is Reason.NO_SEAL and self._mode is Neighbours.PERMISSIVE


def _lists(packet: bytes, incarnation: int) -> bool:
    """Whether it is a HELLO of somebody who has heard this end."""
    return packet[TYPE_AT] == PacketType.HELLO and packet[SEEN_AT:SEEN_END] == incarnation.to_bytes(8, "big")

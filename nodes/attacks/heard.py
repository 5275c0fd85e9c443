"""What somebody on a link has heard: the last packets each way, and what names a session.

No key is known here, and none is needed: all of it is in packets that anybody on the link can read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from nodes.routing.records import head
from nodes.wire.codec import WireError, decode, split_datagram
from nodes.wire.packets import Control, Hello, Kind, Message, PacketType

KEPT = 4096
"""Packets that are kept of each sort, each way: the last ones."""
SORTS = {
    PacketType.HELLO: "hello",
    PacketType.CONTROL: "control",
    PacketType.ACK: "control",
    PacketType.MESSAGE: "message",
}
RECORDS = (Kind.LINK_STATE, Kind.INTEREST, Kind.INTEREST_CHANGE)
"""Payloads that begin with whom they are about, and a number that grows."""


def _sorts() -> dict[str, deque[bytes]]:
    return {sort: deque(maxlen=KEPT) for sort in ("hello", "control", "message")}


@dataclass(slots=True)
class Way:
    """What went one way over a link."""

    packets: dict[str, deque[bytes]] = field(default_factory=_sorts)
    hello: Hello | None = None
    """The last, which names this end of the session."""
    next_number: int = 1
    """Which CONTROL this end will send next."""


class Heard:
    """All that is known of a link: `ways[0]` is from its end `a` to its end `b`."""

    def __init__(self) -> None:
        self.ways = (Way(), Way())
        self.numbers: dict[tuple[bool, int], int] = {}
        """The highest number of the records of a router, by whether they are of links, and its id."""
        self.sequences: dict[int, int] = {}
        """The highest number of the messages of a client."""
        self._own: dict[bytes, None] = {}

    def ours(self, datagram: bytes) -> None:
        """This is put on the link by the attacker itself: it says nothing about the ends."""
        self._own[datagram] = None
        if len(self._own) > KEPT:
            del self._own[next(iter(self._own))]

    def note(self, way: int, datagram: bytes) -> None:
        """A datagram passes."""
        if datagram in self._own:
            del self._own[datagram]
            return
        try:
            packets = split_datagram(datagram)
        except WireError:
            return
        sealed = packets[-1][0] is PacketType.SEAL
        for kind, packet in packets:
            sort = SORTS.get(kind)
            if sort is not None:
                # Where a datagram's messages are sealed together, they are repeated together.
                together = sealed and kind is PacketType.MESSAGE
                self.ways[way].packets[sort].append(datagram if together else packet)
                self._learn(self.ways[way], packet)

    def _learn(self, way: Way, packet: bytes) -> None:
        with suppress(WireError):  # a link may have changed bits
            match decode(packet):
                case Hello() as hello:
                    way.hello = hello
                case Control() as control:
                    self._learn_control(way, control)
                case Message() as message:
                    highest = self.sequences.get(message.source, 0)
                    self.sequences[message.source] = max(highest, message.sequence)

    def _learn_control(self, way: Way, said: Control) -> None:
        way.next_number = said.sequence + 1
        if said.first and said.kind in RECORDS:
            origin, number = head(said.fragment)
            key = said.kind == Kind.LINK_STATE, origin
            self.numbers[key] = max(self.numbers.get(key, 0), number)

    def all_packets(self, sort: str) -> Iterator[tuple[int, deque[bytes]]]:
        """The packets of a sort, by the way they went; none where nothing was heard."""
        for number, way in enumerate(self.ways):
            if way.packets[sort]:
                yield number, way.packets[sort]

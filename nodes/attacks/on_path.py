"""What somebody on a link, without keys, puts on it: what was there before, and packets in the ends' names.

Each act is one packet. What it takes to make one is taken from what was heard: whoever has heard nothing of
the kind does nothing. Not here: when acts happen, and how packets come onto a link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from fastpath.wire.codec import encode_link_state
from nodes.attacks.heard import Heard, Way
from nodes.model import parse_predicate
from nodes.wire.codec import decode, encode, encode_predicate, split_datagram
from nodes.wire.packets import Control, Kind, Message, PacketType

EVERYTHING, NOTHING = (encode_predicate(parse_predicate(text)) for text in ("all", "nothing = 1"))
UNKNOWN_KIND = 99
"""Of a control payload that means nothing to anybody."""
WINDOW = 16
MUTATED = {"mutate": ("hello", "control"), "mutate_message": ("message",)}
"""Of which packets bits are turned, by way."""
Act = tuple[int, bytes]
"""Which way a packet goes, 0 from the link's end `a` to `b`, and the packet."""


class OnPath:
    """One attack of somebody on a link.

    Args:
        do: `replay` or `forge`.
        by: Its ways (`topologies.fault_kinds`).
        heard: All that was heard on the link.
        rng: Draws the way, the direction, and what is repeated or changed.
    """

    def __init__(self, do: str, by: Sequence[str], heard: Heard, rng: Random) -> None:
        self._heard = heard
        self._rng = rng
        self._by = tuple(by)
        self._make = self._repeated if do == "replay" else self._forged

    def act(self) -> Act | None:
        """One packet; None if too little was heard to make it."""
        made = self._make(self._rng.choice(self._by))
        if made is not None:
            self._heard.ours(made[1])
        return made

    def _repeated(self, sort: str) -> Act | None:
        found = list(self._heard.all_packets(sort))
        if not found:
            return None
        way, packets = self._rng.choice(found)
        return way, packets[self._rng.randrange(len(packets))]

    def _forged(self, way: str) -> Act | None:
        if way in MUTATED:
            return self._mutated(MUTATED[way])
        first = self._rng.randrange(2)
        for number in (first, 1 - first):  # it may be that one end alone has said anything of the kind
            packet = _FORGERIES[way](self, self._heard.ways[number], self._heard.ways[1 - number])
            if packet is not None:
                return number, packet
        return None

    def _hello(self, way: Way, _: Way) -> bytes | None:
        """This end seems to have started again: the session is over."""
        if way.hello is None:
            return None
        return encode(replace(way.hello, incarnation=self._rng.randrange(1, 1 << 64), trailer=None))

    def _control(self, way: Way, other: Way, kind: int, payload: bytes) -> bytes | None:
        """The next packet of the session, which takes the number of a real one."""
        if way.hello is None or other.hello is None:
            return None
        names = way.hello.incarnation, other.hello.incarnation
        number, way.next_number = way.next_number, way.next_number + 1
        return encode(Control(kind, *names, number, 0, WINDOW, True, True, payload))

    def _number(self, way: Way, other: Way) -> bytes | None:
        return self._control(way, other, UNKNOWN_KIND, b"")

    def _links(self, way: Way, other: Way) -> bytes | None:
        """Some router seems to have no links."""
        record = self._next_record(of_links=True)
        return record and self._control(way, other, Kind.LINK_STATE, encode_link_state(*record, ()))

    def _interest(self, way: Way, other: Way, predicate: bytes = EVERYTHING) -> bytes | None:
        """Some router seems to want everything, or nothing."""
        record = self._next_record(of_links=False)
        if record is None:
            return None
        origin, number = record
        payload = origin.to_bytes(4, "big") + number.to_bytes(8, "big") + predicate
        return self._control(way, other, Kind.INTEREST, payload)

    def _withdraw(self, way: Way, other: Way) -> bytes | None:
        return self._interest(way, other, NOTHING)

    def _next_record(self, *, of_links: bool) -> tuple[int, int] | None:
        """A router of which records were heard, and a number above theirs."""
        origins = sorted(origin for kind, origin in self._heard.numbers if kind == of_links)
        if not origins:
            return None
        origin = self._rng.choice(origins)
        self._heard.numbers[of_links, origin] += 1
        return origin, self._heard.numbers[of_links, origin]

    def _mutated(self, sorts: Sequence[str]) -> Act | None:
        """What was there before, with a packet that is cut short or has one bit turned."""
        act = self._repeated(self._rng.choice(sorts))
        if act is None:
            return None
        way, datagram = act
        packets = [packet for _, packet in split_datagram(datagram)]
        which = self._rng.randrange(len(packets)) if len(packets) > 1 else 0
        packets[which] = self._damaged(packets[which])
        return way, b"".join(packets)

    def _damaged(self, whole: bytes) -> bytes:
        """Its length is right, so that it is looked at."""
        packet = bytearray(whole)
        if self._rng.random() < 0.5:
            packet[self._rng.randrange(4, len(packet))] ^= 1 << self._rng.randrange(8)
        else:
            del packet[self._rng.randrange(5, len(packet)) :]
            packet[2:4] = len(packet).to_bytes(2, "big")
        return bytes(packet)

    def _message(self, way: Way, _: Way) -> bytes | None:
        """A message in the name of a client, with a number that it will use later."""
        packets = way.packets["message"]
        if not packets:
            return None
        heard = split_datagram(packets[self._rng.randrange(len(packets))])
        real = decode(next(packet for kind, packet in heard if kind is PacketType.MESSAGE))
        assert isinstance(real, Message)
        self._heard.sequences[real.source] += 1
        return encode(replace(real, sequence=self._heard.sequences[real.source]))


_FORGERIES: Mapping[str, Callable[[OnPath, Way, Way], bytes | None]] = {
    "hello": OnPath._hello,
    "number": OnPath._number,
    "links": OnPath._links,
    "interest": OnPath._interest,
    "withdraw": OnPath._withdraw,
    "message": OnPath._message,
}
"""What each way of `forge` makes: of what is said one way, and the other."""

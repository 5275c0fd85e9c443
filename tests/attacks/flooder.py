"""A neighbour that floods its router over a real socket, in a process of its own.

Its session and its seals are real, and it answers HELLOs as an honest client does. What it says is as much as
it is told to say, whether the router has taken what came before or not: first a million filters, each
once, in subscriptions of a thousand; then, without an end, changes of these subscriptions. What the
router has not acknowledged is said again, and again.
"""

from __future__ import annotations

import multiprocessing
import random
import select
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from multiprocessing.sharedctypes import Synchronized, SynchronizedArray

from fastpath.wire import codec
from fastpath.wire.codec import split_datagram
from nodes.config import NodeConfig
from nodes.daemon.sockets import open_interface
from nodes.model import parse_predicate
from nodes.routing.effects import Send
from nodes.routing.link import Link
from nodes.routing.predicates import COUNT
from nodes.wire.codec import decode, encode_predicate
from nodes.wire.packets import Ack, Control, Kind, PacketType

TICK_S = 0.002
MOST_BEHIND_S = 0.1
"""What it could not say for longer than this it leaves out: it is a flood, not a queue."""
WINDOW = 64
FRAGMENT_BYTES = 1_380
FILTERS_EACH = 1_000
_VALUE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Flood:
    """How much it says."""

    filters: int
    fragments_per_second: int
    changes_per_second: int


@dataclass(frozen=True, slots=True)
class Said:
    """What it has said so far, and what of it has been acknowledged."""

    offered: int
    acknowledged: int
    filters_left: int
    """Fragments of the filters that have not been acknowledged."""
    sessions: int


def one_filter(number: int) -> bytes:
    """`flood = number`, encoded."""
    return _PREFIX + number.to_bytes(_VALUE_BYTES, "big")


_PREFIX = encode_predicate(parse_predicate("flood = 1"))[COUNT.size : -_VALUE_BYTES]


def fragments(filters: int) -> Iterator[tuple[bool, bool, bytes]]:
    """(first, last, bytes) of the SUBSCRIBEs of so many filters."""
    for subscription, begin in enumerate(range(0, filters, FILTERS_EACH), 1):
        several = [one_filter(n) for n in range(begin, min(begin + FILTERS_EACH, filters))]
        payload = subscription.to_bytes(4, "big") + COUNT.pack(len(several)) + b"".join(several)
        for at in range(0, len(payload), FRAGMENT_BYTES):
            end = at + FRAGMENT_BYTES
            yield at == 0, end >= len(payload), payload[at:end]


class _Neighbour:
    """The end of a link."""

    def __init__(self, config: NodeConfig, flood: Flood) -> None:
        self._socket = open_interface(config.interfaces[0])
        self._link = Link(config, config.interfaces[0], 1, random.Random(config.seed))
        self._flood = flood
        self._fragments = list(fragments(flood.filters))
        self._subscriptions = max(1, flood.filters // FILTERS_EACH)
        self._acknowledged = self._received = self._peer = 0
        self._made_for: tuple[int, int, int] | None = None
        self._made: list[bytes] = []
        self._limit = 0.0
        """So many packets may have been said by now."""
        self._looked_s = time.monotonic()
        self._offered = self._sessions = 0

    def said(self) -> Said:
        left = max(0, len(self._fragments) - self._acknowledged)
        return Said(self._offered, self._acknowledged, left, self._sessions)

    def turn(self, *, floods: bool) -> None:
        """Take what came, keep the session, and say what is due."""
        select.select([self._socket], [], [], TICK_S)
        while (datagram := self._arrived()) is not None:
            for _, at, size in split_datagram(datagram):
                self._take(datagram[at : at + size])
        now_ns = time.monotonic_ns()
        if self._link.next_deadline() <= now_ns:
            self._link.handle_timer(now_ns)
        self._send([out.datagram for out in self._link.take_outputs() if isinstance(out, Send)])
        if floods and self._link.up:
            self._say(now_ns)

    def _arrived(self) -> bytes | None:
        try:
            return self._socket.recv(65_536)
        except (BlockingIOError, ConnectionRefusedError):
            return None

    def _take(self, packet: bytes) -> None:
        if packet[1] == PacketType.HELLO:
            self._link.receive(time.monotonic_ns(), packet)
            return
        said = decode(packet) if packet[1] in (PacketType.CONTROL, PacketType.ACK) else None
        if not isinstance(said, Control | Ack) or said.peer_incarnation != self._link.incarnation:
            return
        if said.incarnation != self._peer:
            self._peer, self._sessions = said.incarnation, self._sessions + 1
            self._acknowledged = self._received = 0
        self._acknowledged = max(self._acknowledged, said.ack)
        if isinstance(said, Control) and said.sequence == self._received + 1:
            self._received += 1

    def _say(self, now_ns: int) -> None:
        """The window of what is not acknowledged, as often as there is time for."""
        left = self.said().filters_left
        rate = self._flood.fragments_per_second if left else self._flood.changes_per_second
        now_s = time.monotonic()
        self._limit = min(self._limit + rate * (now_s - self._looked_s), rate * MOST_BEHIND_S)
        self._looked_s = now_s
        while self._limit >= WINDOW:
            self._limit -= WINDOW
            self._offered += WINDOW
            self._send(self._window(now_ns))

    def _window(self, now_ns: int) -> list[bytes]:
        """As datagrams; those without seals are made once until something is acknowledged."""
        state = self._peer, self._acknowledged, self._received
        if self._made_for != state or self._link._guard.watches:
            first = self._acknowledged + 1
            packets = [self._packet(now_ns, number) for number in range(first, first + WINDOW)]
            self._made_for, self._made = state, bundled(packets, self._link.datagram_bytes)
        return self._made

    def _packet(self, now_ns: int, number: int) -> bytes:
        first, last, data = self._content(number)
        ends = self._link.incarnation, self._link._adjacency.peer_incarnation
        said = Kind.SUBSCRIBE, *ends, number, self._received, WINDOW, first, last, data
        return self._link._guard.seal(now_ns, codec.encode_control(*said))

    def _content(self, number: int) -> tuple[bool, bool, bytes]:
        if number <= len(self._fragments):
            return self._fragments[number - 1]
        subscription = number % self._subscriptions + 1
        changed = COUNT.pack(1) + one_filter(self._flood.filters + number)
        return True, True, subscription.to_bytes(4, "big") + changed

    def _send(self, datagrams: list[bytes]) -> None:
        for datagram in datagrams:
            try:
                self._socket.send(datagram)
            except (BlockingIOError, ConnectionRefusedError):
                continue  # as a link that loses it


def bundled(packets: list[bytes], size: int) -> list[bytes]:
    """Packets in datagrams of at most this size."""
    found, bundle = [], b""
    for packet in packets:
        if bundle and len(bundle) + len(packet) > size:
            found.append(bundle)
            bundle = b""
        bundle += packet
    return [*found, bundle] if bundle else found


class Flooder:
    """The process: says nothing until it is told to begin. Nobody waits for it to say how far it is."""

    def __init__(self, config: NodeConfig, flood: Flood) -> None:
        child = multiprocessing.get_context("fork")
        self._floods = child.Value("b", False)
        self._said = child.Array("q", len(fields(Said)))
        arguments = (config, flood, self._floods, self._said)
        self._process = child.Process(target=_run, args=arguments, daemon=True)
        self._process.start()

    def begin(self) -> None:
        """Say what is to be said from now on."""
        self._floods.value = True

    def pause(self) -> None:
        """Say nothing more, but live."""
        self._floods.value = False

    @property
    def said(self) -> Said:
        """What it has said by now."""
        return Said(*self._said)

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.join()


def _run(config: NodeConfig, flood: Flood, floods: Synchronized[bool], shown: SynchronizedArray[int]) -> None:
    neighbour = _Neighbour(config, flood)
    while True:
        neighbour.turn(floods=floods.value)
        shown[:] = astuple(neighbour.said())  # type: ignore[index]

"""The program `python -m testbed.emu.attacking`: one process attacks links of a run, without any key.

It reads its orders, one JSON document, from a file, opens two packet sockets at each link that will be
attacked, one in the namespace of each end, and reports on standard output that it is ready. From then on it
hears what leaves at either end. The request `begin` starts an attack, `look` tells which have ended. At the
end of its standard input it stops. The run's side of it is `attackers`; what attacks consist of is in
`nodes.attacks`.
"""

from __future__ import annotations

import heapq
import json
import selectors
import socket
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from nodes.attacks.heard import Heard
from nodes.attacks.on_path import OnPath
from nodes.daemon import kernel
from nodes.daemon.clock import Clock
from nodes.daemon.json_lines import Request, RequestError, done, say, serve
from nodes.records import from_plain
from nodes.wire.packets import PORT
from testbed.plan.model import Attack

EXIT_ORDERS = 2
EXIT_CANNOT = 3
LONGEST_WAIT_S = 0.2
ETH_P_ALL = 0x0003
PACKET_OUTGOING = 4
FRAME_BYTES = 65_536
BURST = 256
"""Frames that are taken from a socket before anything else is done."""
_ETHERNET_BYTES, _IPV4_BYTES, _UDP_BYTES = 14, 20, 8
_HEADER_BYTES = _ETHERNET_BYTES + _IPV4_BYTES + _UDP_BYTES
_IPV4_AT = b"\x08\x00\x45"
"""An EtherType, and an IPv4 header without options."""
_UDP = struct.Struct(">HHHH")


@dataclass(frozen=True, slots=True)
class End:
    """One end of a link: an interface, and the process in whose namespace it is."""

    pid: int
    interface: str


@dataclass(frozen=True, slots=True)
class AttackedLink:
    """A link, from its end `a`."""

    name: str
    a: End
    b: End


@dataclass(frozen=True, slots=True)
class Orders:
    """Which links there are to attack, on which clock."""

    links: tuple[AttackedLink, ...]
    dilate: int = 1
    dilate_from_ns: int = 0


def datagram_of(frame: bytes) -> bytes | None:
    """What a frame carries between two nodes; None if it is none of theirs."""
    if len(frame) < _HEADER_BYTES or frame[12:15] != _IPV4_AT or frame[23] != socket.IPPROTO_UDP:
        return None
    source, destination, size, _ = _UDP.unpack_from(frame, _ETHERNET_BYTES + _IPV4_BYTES)
    end = _ETHERNET_BYTES + _IPV4_BYTES + size
    if PORT not in (source, destination) or size < _UDP_BYTES or end > len(frame):
        return None
    return frame[_HEADER_BYTES:end]


def frame_like(heard: bytes, datagram: bytes) -> bytes:
    """A frame with the addresses of one that was heard. It has no UDP checksum, which IPv4 permits."""
    ip = bytearray(heard[_ETHERNET_BYTES : _ETHERNET_BYTES + _IPV4_BYTES])
    ip[2:4] = (_IPV4_BYTES + _UDP_BYTES + len(datagram)).to_bytes(2, "big")
    ip[10:12] = bytes(2)
    words = int.from_bytes(ip, "big") % 0xFFFF
    ip[10:12] = (0xFFFF - words).to_bytes(2, "big")
    source, destination, _, _ = _UDP.unpack_from(heard, _ETHERNET_BYTES + _IPV4_BYTES)
    udp = _UDP.pack(source, destination, _UDP_BYTES + len(datagram), 0)
    return heard[:_ETHERNET_BYTES] + bytes(ip) + udp + datagram


@dataclass(slots=True)
class Tapped:
    """A link, as the attacker on it knows it."""

    sockets: tuple[socket.socket, socket.socket]
    """By the way that frames go that leave there."""
    heard: Heard = field(default_factory=Heard)
    frames: list[bytes] = field(default_factory=lambda: [b"", b""])
    """The last that was heard, each way."""

    def listen(self, way: int) -> None:
        """Take what has left at an end."""
        for _ in range(BURST):
            try:
                frame, address = self.sockets[way].recvfrom(FRAME_BYTES)
            except BlockingIOError:
                return
            datagram = datagram_of(frame) if address[2] == PACKET_OUTGOING else None
            if datagram is not None:
                self.frames[way] = frame
                self.heard.note(way, datagram)

    def put(self, way: int, datagram: bytes) -> bool:
        """Send a datagram as if it left at an end; False if the interface would not take it."""
        if not self.frames[way]:
            return False
        try:
            self.sockets[way].send(frame_like(self.frames[way], datagram))
        except OSError:  # its queue is full, or it is down
            return False
        return True


@dataclass(slots=True)
class Going:
    """An attack that goes on."""

    number: int
    tapped: Tapped
    attacker: OnPath
    attack: Attack
    begins_ns: int
    turns: int = 0
    acts: int = 0

    def act(self) -> None:
        """One act; what could not be made or sent is none."""
        self.turns += 1
        made = self.attacker.act()
        self.acts += made is not None and self.tapped.put(*made)

    @property
    def due_ns(self) -> int:
        """When the next act is due, or the end."""
        return self.begins_ns + self.turns * self.attack.every_ns


class Attacking:
    """Hears all links, and attacks them as asked."""

    def __init__(self, links: dict[str, Tapped], clock: Clock) -> None:
        self._links = links
        self._clock = clock
        self._due: list[tuple[int, int, Going]] = []
        self._ended: list[Going] = []
        self._lock = threading.Lock()
        self._over = threading.Event()

    def begin(self, number: int, link: str, do: str, attack: Attack, seed: str) -> None:
        """Attack from now on."""
        tapped = self._links[link]
        attacker = OnPath(do, attack.by, tapped.heard, Random(seed))
        going = Going(number, tapped, attacker, attack, self._clock.now_ns())
        with self._lock:
            heapq.heappush(self._due, (going.due_ns, number, going))

    def look(self) -> list[dict[str, int]]:
        """The attacks that have ended since this was asked before."""
        with self._lock:
            ended, self._ended = self._ended, []
        return [{"number": each.number, "acts": each.acts} for each in ended]

    def end(self) -> None:
        """Attack nobody any more."""
        self._over.set()

    def run(self) -> None:
        """Hear and act until `end`."""
        with selectors.DefaultSelector() as selector:
            for tapped in self._links.values():
                for way, sock in enumerate(tapped.sockets):
                    selector.register(sock, selectors.EVENT_READ, (tapped, way))
            while not self._over.is_set():
                for key, _ in selector.select(self._wait_s()):
                    tapped, way = key.data
                    tapped.listen(way)
                self._act()

    def _wait_s(self) -> float:
        with self._lock:
            if not self._due:
                return LONGEST_WAIT_S
            left_ns = max(0, self._due[0][0] - self._clock.now_ns())
        return min(self._clock.real_wait_s(left_ns), LONGEST_WAIT_S)

    def _act(self) -> None:
        """Do what is due; of what is late at most a burst, so that it hears meanwhile."""
        with self._lock:
            for _ in range(BURST):
                if not self._due or self._due[0][0] > self._clock.now_ns():
                    return
                going = self._due[0][2]
                if going.turns == going.attack.times:
                    self._ended.append(heapq.heappop(self._due)[2])
                    continue
                going.act()
                heapq.heapreplace(self._due, (going.due_ns, going.number, going))


def main(arguments: Sequence[str]) -> int:
    """Attack until the input ends; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m testbed.emu.attacking ORDERS.json", file=sys.stderr)
        return EXIT_ORDERS
    orders = from_plain(Orders, json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    try:
        links = {link.name: Tapped((_tap(link.a), _tap(link.b))) for link in orders.links}
    except OSError as error:
        print(f"cannot attack: {error}", file=sys.stderr)
        return EXIT_CANNOT
    attacking = Attacking(links, Clock(orders.dilate, orders.dilate_from_ns))
    thread = threading.Thread(target=attacking.run, name="attacking")
    thread.start()
    say(done("ready"))
    serve(_answer(attacking))
    attacking.end()
    thread.join()
    return 0


def _answer(attacking: Attacking) -> Callable[[Request], object]:
    def answer(request: Request) -> object:
        match request:
            case {"do": "begin", "number": int(number), "link": str(link), "what": str(what), **more}:
                attack = from_plain(Attack, more.get("attack"), "attack")
                attacking.begin(number, link, what, attack, str(more.get("seed")))
                return None
            case {"do": "look"}:
                return attacking.look()
            case _:
                raise RequestError("expected `begin` with number, link, what, attack and seed, or `look`")

    return answer


def _tap(end: End) -> socket.socket:
    with kernel.inside_network_of(end.pid, f"the namespace of {end.interface}"):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        sock.bind((end.interface, ETH_P_ALL))
        sock.setblocking(False)
        return sock


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Sends a few frames over every link that does something, before the run's own, and times them.

What carries a link has its own account of what it did; this is another's: a
frame put in at one end, and when the kernel saw it come out at the other. The
frames are Ethernet of a type for local experiments, so nobody else takes
notice. They go before the captures begin.

Bare veth pairs are left out: there is nothing they were asked for. So are links
so slow that the run would have to wait for them (`MOST_WAIT_S`).
"""

from __future__ import annotations

import heapq
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from nodes.daemon.kernel import inside_network_of
from testbed.emu.capture import close_all
from testbed.plan.model import Impairment, LinkPlan, Plan
from testbed.runs.measures import PROBE_BYTES, ProbeMeasure

PidOf = Callable[[str], int]
ETHER_TYPE = 0x88B5
MARK = b"cbnprobe"
HEAD = struct.Struct(">6s6sH8sI")
SO_TIMESTAMPNS = 35
TIMESPEC = struct.Struct("=qq")
NS = 1_000_000_000
PROBES = 20
ALL_PROBES = 2000
"""Of large networks each link gets fewer, down to `FEWEST`."""
FEWEST = 5
CHUNK = 256
"""How many links are probed at a time."""
SPACING_NS = 1_000_000
MOST_WAIT_S = 2.0
"""For the frames of one round. Links that take longer, in real time, are not probed."""
GRACE_S = 0.05
MOST_LOSS = 0.5
"""A link that loses more is not asked again."""
ROUNDS = 5
ROUND_PAUSE_S = 0.3
"""A link that was just set up may carry nothing for up to a second, until the kernel has noticed."""


@dataclass(slots=True)
class _Way:
    """One direction of a link, and its probes of one round."""

    link: str
    source: str
    asked: Impairment
    into: socket.socket
    out: socket.socket
    head: bytes
    every_ns: int
    count: int
    sent_ns: list[int] = field(default_factory=list)
    delays_ns: dict[int, int] = field(default_factory=dict)
    """By number of the probe; of copies, the first."""

    def send(self) -> None:
        """The next probe. One that the kernel does not take is one that did not arrive."""
        frame = HEAD.pack(self.head[:6], self.head[6:], ETHER_TYPE, MARK, len(self.sent_ns))
        self.sent_ns.append(time.time_ns())
        try:
            self.into.send(frame.ljust(PROBE_BYTES, b"\0"))
        except OSError:
            return

    def take(self) -> None:
        """All that has arrived."""
        while True:
            try:
                frame, extra, _, _ = self.out.recvmsg(2048, 64)
            except BlockingIOError:
                return
            _, _, _, mark, number = HEAD.unpack_from(frame)
            if mark == MARK and number < len(self.sent_ns) and number not in self.delays_ns:
                self.delays_ns[number] = _stamp_ns(extra) - self.sent_ns[number]

    def measure(self, dilate: int) -> ProbeMeasure:
        """In the run's time."""
        delays = sorted(delay // dilate for delay in self.delays_ns.values())
        sent, got = len(self.sent_ns), len(delays)
        if not delays:
            return ProbeMeasure(self.link, self.source, sent, 0)
        return ProbeMeasure(self.link, self.source, sent, got, delays[0], delays[got // 2], delays[-1])


def probe_links(
    plan: Plan, chosen: Mapping[str, str], pid_of: PidOf, dilate: int
) -> tuple[ProbeMeasure, ...]:
    """Probe every link that something carries, both ways; the links must be up.

    Args:
        plan: what was built.
        chosen: what carries each link, by its name.
        pid_of: who holds a node's namespace.
        dilate: how many times slower than real time the links are.
    """
    links = [link for link in plan.links if chosen[link.name] != "veth"]
    count = max(FEWEST, min(PROBES, ALL_PROBES // max(1, 2 * len(links))))
    found: list[ProbeMeasure] = []
    for first in range(0, len(links), CHUNK):
        with _ways(plan, links[first : first + CHUNK], pid_of, dilate, count) as ways:
            _probe(ways, dilate)
            found += [way.measure(dilate) for way in ways]
    return tuple(found)


@contextmanager
def _ways(
    plan: Plan, links: Sequence[LinkPlan], pid_of: PidOf, dilate: int, count: int
) -> Iterator[list[_Way]]:
    """The directions that can be probed, with sockets at their ends until they are done with."""
    interfaces = {i.name: i for node in plan.nodes for i in node.interfaces}
    wanted = [
        link for link in links if all(_takes_ns(way) * dilate <= MOST_WAIT_S * NS for way in _both(link))
    ]
    ends: dict[str, list[str]] = {}
    for link in wanted:
        ends.setdefault(link.a, []).append(link.a_interface)
        ends.setdefault(link.b, []).append(link.b_interface)
    sockets: dict[str, socket.socket] = {}
    with ExitStack() as held:
        held.callback(lambda: close_all(sockets.values()))
        for node, names in ends.items():
            with inside_network_of(pid_of(node), f"the namespace of {node}"):
                for name in names:
                    sockets[name] = _socket(name)
        ways = []
        for link in wanted:
            forth, back = _both(link)
            for asked, source, sink in (
                (forth, link.a_interface, link.b_interface),
                (back, link.b_interface, link.a_interface),
            ):
                every_ns = max(SPACING_NS, 2 * _serial_ns(asked) * dilate)
                ways.append(
                    _Way(
                        link.name,
                        source,
                        asked,
                        sockets[source],
                        sockets[sink],
                        _address(interfaces[source].peer_mac) + _address(interfaces[source].mac),
                        every_ns,
                        max(1, min(count, int(MOST_WAIT_S * NS) // every_ns)),
                    )
                )
        yield ways


def _probe(ways: Sequence[_Way], dilate: int) -> None:
    """A round of probes over all; again over those that carried none, unless they are to lose about all."""
    for _ in range(ROUNDS):
        silent = [way for way in ways if not way.delays_ns]
        if not silent:
            return
        for way in silent:
            way.sent_ns.clear()
        _send(silent)
        _await(silent, dilate)
        if all(way.delays_ns or way.asked.loss >= MOST_LOSS for way in silent):
            return
        time.sleep(ROUND_PAUSE_S)


def _send(ways: Sequence[_Way]) -> None:
    """All probes, each direction's as far apart as it needs."""
    began_ns = time.monotonic_ns()
    agenda = [(began_ns + n * SPACING_NS // len(ways), n) for n in range(len(ways))]
    while agenda:
        due_ns, n = heapq.heappop(agenda)
        time.sleep(max(0, due_ns - time.monotonic_ns()) / NS)
        way = ways[n]
        way.send()
        if len(way.sent_ns) < way.count:
            heapq.heappush(agenda, (due_ns + way.every_ns, n))


def _await(ways: Sequence[_Way], dilate: int) -> None:
    """Until all have arrived, or those that are missing are not to be expected any more."""
    deadline = time.monotonic() + max(_takes_ns(way.asked) for way in ways) * dilate / NS + GRACE_S
    missing = {way.out.fileno(): way for way in ways}
    while missing and (left := deadline - time.monotonic()) > 0:
        poll = select.poll()
        for descriptor in missing:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(left * 1000):
            way = missing[descriptor]
            way.take()
            if len(way.delays_ns) == len(way.sent_ns):
                del missing[descriptor]


def _socket(interface: str) -> socket.socket:
    """Hears the probes that arrive on an interface, and no other frames."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sock.bind((interface, ETHER_TYPE))
    except OSError:
        sock.close()
        raise
    return sock


def _stamp_ns(extra: Sequence[tuple[int, int, bytes]]) -> int:
    """When the kernel saw the frame, by the machine's real time."""
    for level, kind, data in extra:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = TIMESPEC.unpack(data)
            return int(seconds * NS + nanoseconds)
    raise AssertionError("the kernel stamps what it was asked to stamp")


def _both(link: LinkPlan) -> tuple[Impairment, Impairment]:
    return link.impairment, link.impairment_back


def _serial_ns(asked: Impairment) -> int:
    return PROBE_BYTES * 8 * NS // asked.rate_bps if asked.rate_bps else 0


def _takes_ns(asked: Impairment) -> int:
    """How long a probe is under way at most, but for the rare ones of a long tail."""
    return (asked.delay_ns or 0) + 4 * asked.jitter_ns + _serial_ns(asked)


def _address(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))

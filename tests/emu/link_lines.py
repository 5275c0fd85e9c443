"""One link to try things on, in any world: a simulated channel, or a real link between two namespaces."""

from __future__ import annotations

import errno
import select
import socket
import struct
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fastpath.cable import LinkModel
from nodes.daemon.kernel import inside_network_of
from testbed.plan.model import Impairment
from testbed.runs.measures import LinkMeasure
from testbed.sim.frames import Framer
from testbed.sim.link import Channel, End, Flight
from testbed.sim.scheduler import Scheduler
from tests.emu.links_lab import SO_TIMESTAMPNS, Lab

NS = 1_000_000_000
SEED = 7
STAMP = struct.Struct(">qq")
QUIET_S = 0.25
"""How long nothing may arrive after all is due."""
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2


@dataclass(frozen=True, slots=True)
class Arrival:
    """A datagram that came through."""

    number: int
    sent_ns: int
    arrived_ns: int

    @property
    def took_ns(self) -> int:
        """From just before it was sent until the kernel of the far end had it."""
        return self.arrived_ns - self.sent_ns


class Line(Protocol):
    """A link between `a` (0) and `b` (1)."""

    def impair(self, there: Impairment, back: Impairment | None = None) -> None:
        """Both ways."""

    def take_down(self) -> None:
        """Carry nothing."""

    def bring_up(self) -> None:
        """Carry again."""

    def send(self, numbers: Sequence[int], every_ns: int = 0, payload: int = 58, source: int = 0) -> None:
        """Send datagrams; a payload of 58 bytes makes a frame of 100."""

    def collect(self, within_ns: int = 0, sink: int = 1) -> list[Arrival]:
        """All that arrives, the last of it no later than `within_ns` after now."""

    def checksum_errors(self) -> int:
        """How many datagrams `b` has dropped for theirs."""

    def close(self) -> None:
        """Take it away."""


class SimulatedLine:
    """Two channels of the simulator."""

    def __init__(self, mtu: int = 1500) -> None:
        self._scheduler = Scheduler(0)
        self._arrived: tuple[list[Arrival], list[Arrival]] = ([], [])
        self._channels = tuple(self._channel(source, mtu) for source in (0, 1))

    def impair(self, there: Impairment, back: Impairment | None = None) -> None:
        for channel, does in zip(self._channels, (there, back or there), strict=True):
            channel.impair(does)

    def take_down(self) -> None:
        for channel in self._channels:
            channel.take_down()

    def bring_up(self) -> None:
        for channel in self._channels:
            channel.bring_up()

    def send(self, numbers: Sequence[int], every_ns: int = 0, payload: int = 58, source: int = 0) -> None:
        scheduler = self._scheduler
        for number in numbers:
            data = STAMP.pack(number, scheduler.now_ns).ljust(payload, b".")
            self._channels[source].send(data, False)
            if every_ns:
                scheduler.run(scheduler.now_ns + every_ns, 10**18)

    def collect(self, within_ns: int = 0, sink: int = 1) -> list[Arrival]:
        self._scheduler.run(self._scheduler.now_ns + max(within_ns, NS), 10**18)
        got = self._arrived[sink][:]
        self._arrived[sink].clear()
        return got

    def checksum_errors(self) -> int:
        return self._channels[0].received()["rx_checksum_errors"]

    def close(self) -> None:
        """Nothing to take away."""

    def _channel(self, source: int, mtu: int) -> Channel:
        def receive(_: int, data: bytes) -> None:
            self._arrived[1 - source].append(Arrival(*STAMP.unpack_from(data), self._scheduler.now_ns))

        framer = Framer("x", ("02:00:00:00:00:01", "02:00:00:00:00:02"), ("10.0.0.1", "10.0.0.2"), mtu)
        model = LinkModel(SEED + source)
        end = End(0, receive, None)
        return Channel(
            self._scheduler, Flight(), framer, impairment=Impairment(), model=model, capture=None, end=end
        )


class RealLine:
    """A link of a run's own making, and UDP sockets at its ends."""

    def __init__(
        self, carrier: str, mtu: int = 1500, dilate: int = 1, does: Impairment | None = None
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        first = does or Impairment()
        self.lab = Lab(Path(self._folder.name), carrier, [(first, first)], mtu, dilate)
        self._sockets = self.lab.sockets()
        for each in self._sockets:
            each.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)

    def impair(self, there: Impairment, back: Impairment | None = None) -> None:
        self.lab.links.impair(self.lab.link(), there, back or there)

    def take_down(self) -> None:
        self.lab.links.take_down(self.lab.link())

    def bring_up(self) -> None:
        self.lab.links.bring_up(self.lab.link())

    def measures(self) -> list[LinkMeasure]:
        """By the carrier's own account."""
        return self.lab.links.measures()

    def send(self, numbers: Sequence[int], every_ns: int = 0, payload: int = 58, source: int = 0) -> None:
        start_ns = time.monotonic_ns()
        for at, number in enumerate(numbers):
            if every_ns and (wait_ns := start_ns + at * every_ns - time.monotonic_ns()) > 0:
                time.sleep(wait_ns / NS)
            data = STAMP.pack(number, time.time_ns()).ljust(payload, b".")
            try:
                self._sockets[source].send(data)
            except OSError as error:
                if error.errno == errno.EMSGSIZE:
                    raise AssertionError(f"larger than the link's MTU: {payload}") from error
                raise

    def collect(self, within_ns: int = 0, sink: int = 1) -> list[Arrival]:
        sock, found = self._sockets[sink], []
        deadline = time.monotonic() + within_ns / NS + QUIET_S
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([sock], [], [], left)[0]:
                break
            while (arrival := _receive(sock)) is not None:
                found.append(arrival)
            deadline = max(deadline, time.monotonic() + QUIET_S)
        return found

    def checksum_errors(self) -> int:
        with inside_network_of(self.lab.pid("b"), "b"):
            text = Path("/proc/thread-self/net/snmp").read_text(encoding="ascii")
        names, values = (line.split() for line in text.splitlines() if line.startswith("Udp:"))
        return int(dict(zip(names, values, strict=True))["InCsumErrors"])

    def close(self) -> None:
        self.lab.close()
        self._folder.cleanup()
        assert self.lab.problems == []


class SlowedLine:
    """A link on which everything takes so many times longer, and is reported as if it did not.

    On a machine that is slow itself, its lateness then weighs so many times less.
    """

    def __init__(
        self, carrier: str, mtu: int = 1500, dilate: int = 1, does: Impairment | None = None
    ) -> None:
        self._line = RealLine(carrier, mtu, dilate, does)
        self._dilate = dilate

    def impair(self, there: Impairment, back: Impairment | None = None) -> None:
        self._line.impair(there, back)

    def take_down(self) -> None:
        self._line.take_down()

    def bring_up(self) -> None:
        self._line.bring_up()

    def send(self, numbers: Sequence[int], every_ns: int = 0, payload: int = 58, source: int = 0) -> None:
        self._line.send(numbers, every_ns * self._dilate, payload, source)

    def collect(self, within_ns: int = 0, sink: int = 1) -> list[Arrival]:
        by = self._dilate
        arrived = self._line.collect(within_ns * by, sink)
        return [Arrival(a.number, a.sent_ns // by, a.arrived_ns // by) for a in arrived]

    def checksum_errors(self) -> int:
        return self._line.checksum_errors()

    def close(self) -> None:
        self._line.close()


def _receive(sock: socket.socket) -> Arrival | None:
    try:
        data, ancillary, _, _ = sock.recvmsg(65_536, 64, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    stamps = [
        value for level, kind, value in ancillary if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS)
    ]
    seconds, fraction = struct.unpack("qq", stamps[0])
    return Arrival(*STAMP.unpack_from(data), seconds * NS + fraction)

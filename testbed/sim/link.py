"""One direction of a simulated link: queue, rate and fate of what is sent, and the captures at its ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from testbed.plan.model import Impairment
from testbed.sim.capture import Tap
from testbed.sim.fate import BITS_NS, Fate
from testbed.sim.frames import HEADER_BYTES, Framer
from testbed.sim.scheduler import Scheduler

Receive = Callable[[int, bytes], None]
"""`receive(interface, datagram)` of the node at the far end."""

LONGEST_QUEUE_NS = 500_000_000
"""What would wait longer than this for a link's rate is dropped, as the emulated world's tbf does."""


@dataclass(slots=True)
class Flight:
    """How many datagrams with a MESSAGE in them are on their way, over all links."""

    messages: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """The receiving end of a channel."""

    interface: int
    receive: Receive
    capture: Tap | None


class Channel:
    """Carries datagrams one way. The two ways of a link share its random source."""

    __slots__ = (
        "_arrived",
        "_arrived_bytes",
        "_busy_until_ns",
        "_capture",
        "_checksum_errors",
        "_end",
        "_even_ns",
        "_fate",
        "_flight",
        "_framer",
        "_impairment",
        "_lost",
        "_scheduler",
        "_sent",
        "_sent_bytes",
        "_up",
        "_waiting",
        "_waiting_bytes",
    )

    def __init__(
        self,
        scheduler: Scheduler,
        flight: Flight,
        framer: Framer,
        *,
        impairment: Impairment,
        fate: Fate,
        capture: Tap | None,
        end: End,
    ) -> None:
        self._scheduler = scheduler
        self._flight = flight
        self._framer = framer
        self._impairment = impairment
        self._fate = fate
        self._even_ns = fate.even
        self._capture = capture
        self._end = end
        self._up = True
        self._busy_until_ns = self._waiting = self._waiting_bytes = 0
        self._sent = self._sent_bytes = self._lost = 0
        self._arrived = self._arrived_bytes = self._checksum_errors = 0

    def sent(self) -> dict[str, int]:
        """What the sending interface counts."""
        return {"tx_datagrams": self._sent, "tx_bytes": self._sent_bytes, "lost": self._lost}

    def received(self) -> dict[str, int]:
        """What the receiving interface counts."""
        return {
            "rx_datagrams": self._arrived,
            "rx_bytes": self._arrived_bytes,
            "rx_checksum_errors": self._checksum_errors,
        }

    def send(self, datagram: bytes, has_message: bool) -> None:
        """Take a datagram from the sending node at this instant."""
        self._sent += 1
        self._sent_bytes += len(datagram)
        if has_message:
            self._flight.messages += 1
        if not self._up:
            self._lose(has_message)
        elif self._impairment.rate_bps is None:
            self._depart(datagram, has_message)
        else:
            self._queue(datagram, has_message, self._impairment.rate_bps)

    def cut(self) -> None:
        """Carry nothing any more; what is on the way, or waits, is lost."""
        self._up = False
        self._busy_until_ns = self._waiting = self._waiting_bytes = 0
        for _, _, action, _, b in self._scheduler.withdraw(self):
            # Arriving messages have an action of their own; the others say it in `b`.
            self._lose(b is True or action == self._arrive_message)

    def mend(self) -> None:
        """Carry again."""
        self._up = True

    def impair(self, impairment: Impairment) -> None:
        """Do this to frames from now on; what is on its way stays as it is.

        What waits for the rate leaves when it would have left, and meets the new fate then.
        """
        self._impairment = impairment
        self._fate = self._fate.under(impairment)
        self._even_ns = self._fate.even

    def _queue(self, datagram: bytes, has_message: bool, rate_bps: int) -> None:
        """Wait until the link has sent what was handed to it before."""
        now_ns = self._scheduler.now_ns
        start_ns = max(now_ns, self._busy_until_ns)
        size = len(datagram) + HEADER_BYTES
        if start_ns > now_ns and not self._has_room(start_ns - now_ns, size):
            self._lose(has_message)
            return
        self._busy_until_ns = start_ns + size * BITS_NS // rate_bps
        if start_ns == now_ns:
            self._depart(datagram, has_message)
        else:
            self._waiting += 1
            self._waiting_bytes += size
            self._scheduler.at(start_ns, self._leave_queue, datagram, has_message)

    def _has_room(self, wait_ns: int, size: int) -> bool:
        limits = self._impairment
        return (
            wait_ns <= LONGEST_QUEUE_NS
            and (limits.queue_packets is None or self._waiting < limits.queue_packets)
            and (limits.queue_bytes is None or self._waiting_bytes + size <= limits.queue_bytes)
        )

    def _leave_queue(self, datagram: bytes, has_message: bool) -> None:
        self._waiting -= 1
        self._waiting_bytes -= len(datagram) + HEADER_BYTES
        self._depart(datagram, has_message)

    def _depart(self, datagram: bytes, has_message: bool) -> None:
        now_ns = self._scheduler.now_ns
        frame = self._framer.frame(datagram)
        if self._capture is not None:
            self._capture.record(now_ns, frame)
        if self._even_ns is None:
            self._try_luck(datagram, frame, has_message)
        else:
            arrive = self._arrive_message if has_message else self._arrive
            self._scheduler.at(now_ns + self._even_ns, arrive, datagram, frame)

    def _try_luck(self, datagram: bytes, frame: bytes, has_message: bool) -> None:
        copies = self._fate.copies()
        if not copies:
            self._lose(has_message)
        elif copies > 1 and has_message:
            self._flight.messages += copies - 1
        for _ in range(copies):
            arrives_ns = self._scheduler.now_ns + self._fate.travel_ns(len(frame))
            if self._fate.spoils():
                self._scheduler.at(arrives_ns, self._arrive_spoilt, self._fate.spoilt(frame), has_message)
            else:
                arrive = self._arrive_message if has_message else self._arrive
                self._scheduler.at(arrives_ns, arrive, datagram, frame)

    def _lose(self, has_message: bool) -> None:
        self._lost += 1
        if has_message:
            self._flight.messages -= 1

    def _arrive_message(self, datagram: bytes, frame: bytes) -> None:
        self._flight.messages -= 1
        self._arrive(datagram, frame)

    def _arrive(self, datagram: bytes, frame: bytes) -> None:
        self._arrived += 1
        self._arrived_bytes += len(datagram)
        end = self._end
        if end.capture is not None:
            end.capture.record(self._scheduler.now_ns, frame)
        end.receive(end.interface, datagram)

    def _arrive_spoilt(self, frame: bytes, has_message: bool) -> None:
        """The kernel finds the checksum wrong: the capture has the frame, the node does not."""
        self._checksum_errors += 1
        if has_message:
            self._flight.messages -= 1
        if self._end.capture is not None:
            self._end.capture.record(self._scheduler.now_ns, frame)

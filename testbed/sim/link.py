"""One direction of a simulated link: delay, jitter, loss and rate, and the captures at its ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from testbed.plan.model import Impairment
from testbed.sim.capture import Capture
from testbed.sim.frames import HEADER_BYTES, Framer
from testbed.sim.scheduler import Scheduler

Receive = Callable[[int, bytes], None]
"""`receive(interface, datagram)` of the node at the far end."""

_BITS_NS = 8 * 1_000_000_000

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
    capture: Capture | None


class Channel:
    """Carries datagrams one way. The two ways of a link share its random source."""

    __slots__ = (
        "_arrived",
        "_arrived_bytes",
        "_busy_until_ns",
        "_capture",
        "_delay_ns",
        "_end",
        "_flight",
        "_framer",
        "_impairment",
        "_lost",
        "_plain",
        "_rng",
        "_scheduler",
        "_sent",
        "_sent_bytes",
    )

    def __init__(
        self,
        scheduler: Scheduler,
        flight: Flight,
        framer: Framer,
        *,
        impairment: Impairment,
        open_delay_ns: int,
        rng: Random,
        capture: Capture | None,
        end: End,
    ) -> None:
        self._scheduler = scheduler
        self._flight = flight
        self._framer = framer
        self._impairment = impairment
        self._delay_ns = open_delay_ns if impairment.delay_ns is None else impairment.delay_ns
        self._plain = not (impairment.jitter_ns or impairment.loss or impairment.rate_bps)
        self._rng = rng
        self._capture = capture
        self._end = end
        self._busy_until_ns = 0
        self._sent = self._sent_bytes = self._lost = self._arrived = self._arrived_bytes = 0

    def sent(self) -> dict[str, int]:
        """What the sending interface counts."""
        return {"tx_datagrams": self._sent, "tx_bytes": self._sent_bytes, "lost": self._lost}

    def received(self) -> dict[str, int]:
        """What the receiving interface counts."""
        return {"rx_datagrams": self._arrived, "rx_bytes": self._arrived_bytes}

    def send(self, datagram: bytes, has_message: bool) -> None:
        """Take a datagram from the sending node at this instant."""
        self._sent += 1
        self._sent_bytes += len(datagram)
        if has_message:
            self._flight.messages += 1
        if self._impairment.rate_bps is None:
            self._depart(datagram, has_message)
        else:
            self._queue(datagram, has_message, self._impairment.rate_bps)

    def _queue(self, datagram: bytes, has_message: bool, rate_bps: int) -> None:
        """Wait until the link has sent what was handed to it before."""
        now_ns = self._scheduler.now_ns
        start_ns = max(now_ns, self._busy_until_ns)
        if start_ns - now_ns > LONGEST_QUEUE_NS:
            self._lose(has_message)
            return
        self._busy_until_ns = start_ns + (len(datagram) + HEADER_BYTES) * _BITS_NS // rate_bps
        if start_ns == now_ns:
            self._depart(datagram, has_message)
        else:
            self._scheduler.at(start_ns, self._depart, datagram, has_message)

    def _depart(self, datagram: bytes, has_message: bool) -> None:
        now_ns = self._scheduler.now_ns
        frame = self._framer.frame(datagram)
        if self._capture is not None:
            self._capture.record(now_ns, frame)
        travel_ns = self._delay_ns if self._plain else self._fate(len(frame))
        if travel_ns is not None:
            arrive = self._arrive_message if has_message else self._arrive
            self._scheduler.at(now_ns + travel_ns, arrive, datagram, frame)
        else:
            self._lose(has_message)

    def _lose(self, has_message: bool) -> None:
        self._lost += 1
        if has_message:
            self._flight.messages -= 1

    def _fate(self, frame_bytes: int) -> int | None:
        """How long this frame travels; None if it is lost."""
        impairment = self._impairment
        if impairment.loss and self._rng.random() < impairment.loss:
            return None
        travel_ns = self._delay_ns
        if impairment.jitter_ns:
            travel_ns += self._rng.randint(-impairment.jitter_ns, impairment.jitter_ns)
        if impairment.rate_bps is not None:
            travel_ns += frame_bytes * _BITS_NS // impairment.rate_bps
        return max(travel_ns, 0)

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

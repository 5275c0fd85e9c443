"""One direction of a simulated link: when what is sent arrives, and the captures at its ends.

What becomes of a frame, the compiled link model decides, as it does for the wires of the emulated world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fastpath.cable import LinkModel
from testbed.plan.model import Impairment
from testbed.sim.frames import HEADER_BYTES, Framer, Tap, Watch
from testbed.sim.scheduler import Action, Scheduler

Receive = Callable[[int, bytes], None]
"""`receive(interface, datagram)` of the node at the far end."""

Copies = tuple[tuple[int, int], ...]
"""When each copy of a frame arrives, and which of its bits is wrong then (-1: none)."""


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
    """Carries datagrams one way."""

    __slots__ = (
        "_arrive_action",
        "_arrive_message_action",
        "_arrived",
        "_arrived_bytes",
        "_capture",
        "_checksum_errors",
        "_constant_ns",
        "_end",
        "_flight",
        "_framer",
        "_lost",
        "_model",
        "_scheduler",
        "_sent",
        "_sent_bytes",
        "_up",
        "_watch",
    )

    def __init__(
        self,
        scheduler: Scheduler,
        flight: Flight,
        framer: Framer,
        *,
        impairment: Impairment,
        model: LinkModel,
        capture: Tap | None,
        end: End,
        watch: Watch | None = None,
    ) -> None:
        self._scheduler = scheduler
        self._flight = flight
        self._framer = framer
        self._model = model
        self.impair(impairment)
        self._capture = capture
        self._end = end
        self._watch = watch
        self._arrive_action: Action = self._arrive
        self._arrive_message_action: Action = self._arrive_message
        """Bound once, for each datagram that arrives."""
        self._up = True
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
        elif self._constant_ns is None:
            self._decide(datagram, has_message)
        else:
            arrive = self._arrive_message_action if has_message else self._arrive_action
            self._scheduler.at(
                self._scheduler.now_ns + self._constant_ns, arrive, datagram, self._framed(datagram)
            )

    def carry(self, frame: bytes) -> None:
        """Take a frame of background traffic at this instant: it needs time and room like any other."""
        now_ns = self._scheduler.now_ns
        decided = self._model.send(now_ns, len(frame)) if self._up else None
        if decided is not None:
            self._scheduler.at(max(decided[0], now_ns), self._pass_on, frame, decided[1])

    def _pass_on(self, frame: bytes, copies: Copies) -> None:
        """A frame of background traffic leaves."""
        if self._capture is not None:
            self._capture.record(self._scheduler.now_ns, frame)
        for arrives_ns, wrong_bit in copies:
            seen = frame if wrong_bit < 0 else with_wrong_bit(frame, wrong_bit)
            self._scheduler.at(arrives_ns, self._pass_by, seen, None)

    def _pass_by(self, frame: bytes, _: None) -> None:
        """It arrives, and no node wants it."""
        if self._end.capture is not None:
            self._end.capture.record(self._scheduler.now_ns, frame)

    def take_down(self) -> None:
        """Carry nothing any more; what is on the way, or waits, is lost."""
        self._up = False
        self._model.empty_queue()
        for action, _, b in self._scheduler.withdraw(self):
            if action in (self._pass_on, self._pass_by):
                continue
            # Arriving messages have an action of their own; the others say it in `b`.
            has_message = b[1] if isinstance(b, tuple) else b is True
            self._lose(has_message or action == self._arrive_message)

    def bring_up(self) -> None:
        """Carry again."""
        self._up = True

    def impair(self, impairment: Impairment) -> None:
        """Do this to frames that are sent from now on; what waits or is on its way stays as it is."""
        self._model.impair(impairment)
        self._constant_ns = self._model.constant_ns

    def _decide(self, datagram: bytes, has_message: bool) -> None:
        now_ns = self._scheduler.now_ns
        decided = self._model.send(now_ns, len(datagram) + HEADER_BYTES)
        if decided is None:
            self._lose(has_message)
        elif decided[0] > now_ns:
            self._scheduler.at(decided[0], self._depart, datagram, (decided[1], has_message))
        else:
            self._depart(datagram, (decided[1], has_message))

    def _depart(self, datagram: bytes, decided: tuple[Copies, bool]) -> None:
        copies, has_message = decided
        frame = self._framed(datagram)
        if not copies:
            self._lose(has_message)
        elif has_message:
            self._flight.messages += len(copies) - 1
        arrive = self._arrive_message_action if has_message else self._arrive_action
        for arrives_ns, wrong_bit in copies:
            if wrong_bit < 0:
                self._scheduler.at(arrives_ns, arrive, datagram, frame)
            else:
                corrupt = with_wrong_bit(frame, wrong_bit) if frame else b""
                self._scheduler.at(arrives_ns, self._arrive_corrupt, corrupt, has_message)

    def _framed(self, datagram: bytes) -> bytes:
        """The frame as it leaves now; empty if neither end is captured, so that nobody looks at it."""
        if self._watch is not None:
            self._watch(self._scheduler.now_ns, datagram)
        capture = self._capture
        if capture is None and self._end.capture is None:
            if len(datagram) > self._framer.datagram_max:
                self._framer.check(len(datagram))
            return b""
        frame = self._framer.frame(datagram)
        if capture is not None:
            capture.record(self._scheduler.now_ns, frame)
        return frame

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

    def _arrive_corrupt(self, frame: bytes, has_message: bool) -> None:
        """The kernel finds the checksum wrong: the capture has the frame, the node does not."""
        self._checksum_errors += 1
        if has_message:
            self._flight.messages -= 1
        if self._end.capture is not None:
            self._end.capture.record(self._scheduler.now_ns, frame)


def with_wrong_bit(frame: bytes, bit: int) -> bytes:
    """The frame with that bit turned, counted from the lowest of the first byte."""
    at = bit // 8
    return frame[:at] + bytes((frame[at] ^ 1 << bit % 8,)) + frame[at + 1 :]

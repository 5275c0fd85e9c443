"""The loop of a node process: descriptors, one deadline, signals.

Not asyncio: a node needs a handful of descriptors and one timer, and this
loop starts in a third of the time and holds 8 MB less, which counts when a
machine emulates hundreds of nodes. `select` is used for its microsecond
time-outs; `epoll` rounds them up to a millisecond and would bunch the
publications of a fast client.
"""

from __future__ import annotations

import selectors
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from nodes.daemon.clock import Clock
from nodes.daemon.lateness import Lateness

Callback = Callable[[], None]
LONGEST_WAIT_S = 3600.0


class Watcher(Protocol):
    """A loop that calls back when a descriptor is ready."""

    def watch(self, descriptor: int, on_read: Callback | None, on_write: Callback | None = None) -> None:
        """Call `on_read` or `on_write` when `descriptor` is ready for it."""

    def forget(self, descriptor: int) -> None:
        """Watch this descriptor no longer."""


class Selector:
    """A `Watcher` for a program without a loop of its own, which calls `turn` often."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def watch(self, descriptor: int, on_read: Callback | None, on_write: Callback | None = None) -> None:
        """See `Watcher`."""
        events = (selectors.EVENT_READ if on_read else 0) | (selectors.EVENT_WRITE if on_write else 0)
        if descriptor in self._selector.get_map():
            self._selector.modify(descriptor, events, (on_read, on_write))
        else:
            self._selector.register(descriptor, events, (on_read, on_write))

    def forget(self, descriptor: int) -> None:
        """See `Watcher`."""
        self._selector.unregister(descriptor)

    def turn(self, seconds: float) -> None:
        """Wait that long for something to be ready, and call back."""
        for key, events in self._selector.select(max(0.0, seconds)):
            on_read, on_write = key.data
            if on_write and events & selectors.EVENT_WRITE:
                on_write()
            if on_read and events & selectors.EVENT_READ:
                on_read()

    def close(self) -> None:
        """Watch nothing any more."""
        self._selector.close()


class Loop:
    """Calls back when a descriptor is ready; ends on `stop` or a signal."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.stopping = False
        self.lateness = Lateness()
        """How late deadlines were met, in the clock's time."""
        self._selector = selectors.SelectSelector()
        self._wake_read, self._wake_write = socket.socketpair()
        for end in (self._wake_read, self._wake_write):
            end.setblocking(False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, (self._woken, None))

    def watch(self, descriptor: int, on_read: Callback | None, on_write: Callback | None = None) -> None:
        """See `Watcher`."""
        events = (selectors.EVENT_READ if on_read else 0) | (selectors.EVENT_WRITE if on_write else 0)
        self.forget(descriptor)
        if events:
            self._selector.register(descriptor, events, (on_read, on_write))

    def forget(self, descriptor: int) -> None:
        """Watch this descriptor no longer; one that is not watched is fine."""
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def stop(self) -> None:
        """Let `run` return after what it is doing; callable from any thread."""
        self.stopping = True
        self.wake()

    def wake(self) -> None:
        """End the present wait; callable from any thread."""
        try:
            self._wake_write.send(b"\0")
        except BlockingIOError:
            return  # it is full of wake-ups already

    def stop_on(self, *signals: signal.Signals) -> None:
        """End orderly on any of these; only the main thread may call this."""
        signal.set_wakeup_fd(self._wake_write.fileno(), warn_on_full_buffer=False)
        for number in signals:
            signal.signal(number, self._on_signal)

    def run(self, tick: Callable[[], int | None]) -> None:
        """Loop until stopped.

        Args:
            tick: does what is due and returns the next deadline in ns, or None.
        """
        while not self.stopping:
            deadline_ns = tick()
            if self.stopping:
                break
            for key, events in self._selector.select(self._wait_s(deadline_ns)):
                on_read, on_write = key.data
                if on_read and events & selectors.EVENT_READ:
                    on_read()
                if on_write and events & selectors.EVENT_WRITE:
                    on_write()
            self._note_lateness(deadline_ns)

    def close(self) -> None:
        """Give the loop's own descriptors back."""
        self._selector.close()
        self._wake_read.close()
        self._wake_write.close()

    def _wait_s(self, deadline_ns: int | None) -> float:
        if deadline_ns is None:
            return LONGEST_WAIT_S
        return min(self.clock.real_wait_s(max(0, deadline_ns - self.clock.now_ns())), LONGEST_WAIT_S)

    def _note_lateness(self, deadline_ns: int | None) -> None:
        """Once a deadline: the tick that follows does what is due."""
        if deadline_ns is not None and (late_ns := self.clock.now_ns() - deadline_ns) >= 0:
            self.lateness.add(late_ns)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def _woken(self) -> None:
        self._wake_read.recv(4096)

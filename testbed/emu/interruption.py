"""Keeps cleaning up from being interrupted by what started it, or by what comes later.

The first signal ends the run: the handlers in force before (the CLI's, or
Python's own) raise what they raise. Every later one, and any once cleaning up
has begun, says that the end is on its way and nothing else.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from testbed.runs.interruption import Interruption

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = b"already cleaning up (if it hangs: kill -9, then `cbn clean`)\n"


class Shield:
    """While entered, at most one signal raises, and none once `closing` is set.

    Outside the main thread, which alone gets signals, it does nothing.
    """

    def __init__(self) -> None:
        self.closing = False
        self._before: dict[signal.Signals, Any] = {}
        self._holding = False
        self._held: signal.Signals | None = None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Put a signal off until the end of this block.

        For the moments between making a thing and noting that it is to be undone.
        """
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
            # Also if the block failed: a Ctrl-C reaches the commands it runs too, and is why they failed.
            if self._held is not None:
                self._raise(self._held, None)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` means what it says
                    self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.closing:
            os.write(2, PATIENCE)  # not print: it may have been interrupted in the middle of printing
            return
        if self._holding:
            self._held = signal.Signals(number)
            return
        self._raise(signal.Signals(number), frame)

    def _raise(self, number: signal.Signals, frame: FrameType | None) -> None:
        self.closing = True
        before = self._before[number]
        if callable(before):
            before(number, frame)
        raise Interruption(number.name)

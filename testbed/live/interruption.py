"""Keeps cleaning up from being interrupted by what started it, or by what comes later.

The first signal ends the run: the handlers in force before (the CLI's, or
Python's own) raise what they raise. Every later one, and any once cleaning up
has begun, says that the end is on its way and nothing else.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from testbed.runs.interruption import Interruption, SignalHandler

SOON = b"interrupted: what is being made is finished first, then all of it is removed\n"
PATIENCE = b"already cleaning up (if it hangs: kill -9, then `cbn clean`)\n"


class Shield(SignalHandler):
    """While entered, at most one signal raises, and none once `closing` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.closing = False
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

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Raise, once."""
        # os.write, not print: that may have been interrupted in the middle of printing.
        if self.closing or self._held is not None:
            os.write(2, PATIENCE)
        elif self._holding:
            self._held = signal.Signals(number)
            os.write(2, SOON)
        else:
            self._raise(signal.Signals(number), frame)

    def _raise(self, number: signal.Signals, frame: FrameType | None) -> None:
        self.closing = True
        before = self.before[number]
        if callable(before):
            before(number, frame)
        raise Interruption(number.name)

"""How a run is asked from outside to end: signals, handled for a time, become one exception."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption(KeyboardInterrupt):
    """Somebody wants the run to end: raised in the main thread by the CLI's signal handlers.

    It may come at any point. A world that catches it cleans up and returns an
    Outcome `interrupted`; as a KeyboardInterrupt it passes every `except Exception`.
    """

    def __init__(self, signal_name: str) -> None:
        super().__init__(f"interrupted by {signal_name}")
        self.signal_name = signal_name


class SignalHandler:
    """While entered, `on_signal` handles `SIGNALS`; does nothing outside the main thread."""

    def __init__(self) -> None:
        self.before: dict[signal.Signals, Any] = {}
        """The handlers that were in force."""

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """A signal has come."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            # What was ignored before stays ignored, so that `nohup` works.
            handled = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self.before = {number: signal.signal(number, self.on_signal) for number in handled}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

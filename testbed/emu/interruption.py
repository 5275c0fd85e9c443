"""Turns the first Ctrl-C or SIGTERM into an exception, and the later ones into nothing.

Cleaning up must not be interrupted: whoever presses Ctrl-C twice wants it to
end, and what it ends with is the cleaning up.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """The run was told to end."""


class Interruption:
    """While entered, the first signal raises `Interrupted` in the main thread.

    Outside the main thread, which alone may set handlers, it does nothing.
    """

    def __init__(self) -> None:
        self.closing = False
        """Set when cleaning up begins: from then on signals are noted only."""
        self.ignored = 0
        self._before: dict[signal.Signals, object] = {}

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
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.closing:
            self.ignored += 1
            return
        self.closing = True
        raise Interrupted(f"by {signal.Signals(number).name}")

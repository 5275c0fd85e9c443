"""Turns SIGINT, SIGTERM and SIGHUP into an orderly end.

The first one raises `Interruption` in the main thread; those after it only say
that the end is on its way, so that cleaning up is not itself interrupted.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from testbed.runs.interruption import Interruption

_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Installs the handlers for the time of a command."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        """128 + the number of the signal that ended the command."""
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            # What is ignored from outside stays ignored: `nohup` means what it says.
            heard = [number for number in _CAUGHT if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._catch) for number in heard}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _catch(self, number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self.exit_code is not None:
            print(
                f"cbn: {name}: already cleaning up (if it hangs: kill -9, then `cbn clean`)", file=sys.stderr
            )
            return
        self.exit_code = 128 + number
        raise Interruption(name)

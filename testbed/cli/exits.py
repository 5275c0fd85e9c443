"""How a command ends: exit codes, the error that carries one, and signals turned into an orderly end."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from testbed.runs.interruption import Interruption

OK = 0
NOT_CLEAN = 1
"""The run worked, and its verdict is not clean: missing, duplicate or spurious deliveries."""
USAGE = 2
"""A wrong command line or a broken scenario: nothing was started."""
MACHINE = 3
"""This machine cannot do it (no root, no Mininet, no Java, ...)."""
FAILED = 4
"""The run was started and failed."""
DEFECT = 70
"""A defect of the testbed itself."""
INTERRUPTED = 130
TERMINATED = 143


class CommandError(Exception):
    """The command ends here: a text for a person, and an exit code for a script."""

    def __init__(self, text: str, code: int = USAGE) -> None:
        super().__init__(text)
        self.code = code


_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Handlers of SIGINT, SIGTERM and SIGHUP for the time of a command.

    The first signal raises `Interruption` in the main thread; later ones only print
    that the end is on its way, so that cleaning up is not itself interrupted.
    """

    def __init__(self) -> None:
        self.exit_code: int | None = None
        """128 + the number of the signal that ended the command."""
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            # What was ignored before stays ignored, so that `nohup` works.
            caught = [number for number in _CAUGHT if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._catch) for number in caught}
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

"""How a command ends: exit codes, the error that carries one, and signals turned into an orderly end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from testbed.runs.interruption import Interruption, SignalHandler

OK = 0
NOT_CLEAN = 1
"""The run worked, and its verdict is wrong, doubtful or not judged."""
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


@contextmanager
def explained(*kinds: type[Exception], code: int = USAGE) -> Iterator[None]:
    """Errors of these kinds end the command, with their own text."""
    try:
        yield
    except kinds as error:
        raise CommandError(str(error), code) from error


class Signals(SignalHandler):
    """Handlers of SIGINT, SIGTERM and SIGHUP for the time of a command.

    The first signal raises `Interruption` in the main thread; later ones only print
    that the end is on its way, so that cleaning up is not itself interrupted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.exit_code: int | None = None
        """128 + the number of the signal that ended the command."""

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Raise, once."""
        name = signal.Signals(number).name
        if self.exit_code is not None:
            print(
                f"cbn: {name}: already cleaning up (if it hangs: kill -9, then `cbn clean`)", file=sys.stderr
            )
            return
        self.exit_code = 128 + number
        raise Interruption(name)

"""The exit codes of `cbn`, and the error that carries one."""

from __future__ import annotations

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

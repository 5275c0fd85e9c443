"""The run's side of the namespaces: one process that holds all of them, and their ids.

Not here: what a holder does (`holders`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed.emu.commands import NetworkError
from testbed.emu.processes import Child, drop_empty_errors, start

SOURCE_ROOT = Path(__file__).resolve().parents[2]
STOP_TIMEOUT_S = 10.0


class Namespaces:
    """A network namespace a node, each held by a process of its own."""

    def __init__(self, names: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        """Begin to make them. `log` is where the holders' standard error goes, with another ending."""
        command = [sys.executable, "-m", "testbed.emu.holders", *names]
        self._names = names
        self._pids: dict[str, int] = {}
        self.child: Child = start(
            "the process that holds the namespaces", command, environment, log, cwd=SOURCE_ROOT, pipes=True
        )

    def await_made(self) -> None:
        """Wait until all are there.

        Raises:
            NetworkError: one could not be made; the text says why.
        """
        assert self.child.process.stdout is not None
        line = self.child.process.stdout.readline()
        said = json.loads(line) if line else {}
        if "holders" not in said:
            self.child.process.wait()
            raise NetworkError(f"no namespace for {said.get('error') or self.child.death()}")
        self._pids = dict(zip(self._names, said["holders"], strict=True))

    def pid(self, node: str) -> int:
        """The process that holds a node's namespace."""
        return self._pids[node]

    def stop(self) -> list[str]:
        """End all holders; namespaces go when the last process in them does. What went wrong, for people."""
        try:
            self.child.process.communicate(timeout=STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.child.process.kill()
            self.child.process.communicate()
        said = [self.child.death() or ""] if self.child.process.returncode and self._pids else []
        drop_empty_errors([self.child])
        return said

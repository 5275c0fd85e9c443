"""What needs a terminal to be seen: shells in namespaces, and the live view, wide and narrow."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.emu.terminals import ROOT, TIMEOUT_S, Terminal, network

pytestmark = pytest.mark.emu


@dataclass
class Screen:
    """A command on a pseudo-terminal."""

    pid: int
    descriptor: int
    seen: str = ""

    @classmethod
    def of(cls, *words: str, columns: int = 80, lines: int = 24) -> Screen:
        pid, descriptor = pty.fork()
        if pid == 0:
            os.chdir(ROOT)
            os.execv(sys.executable, [sys.executable, "-m", "testbed.cli", *words])
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        return cls(pid, descriptor)

    def until(self, pattern: str) -> str:
        """Read until the pattern is on the screen that was not there before."""
        deadline, begun = time.monotonic() + TIMEOUT_S, len(self.seen)
        while not re.search(pattern, self.seen[begun:]):
            assert time.monotonic() < deadline, self.seen
            assert self._read(1.0) is not False, self.seen
        return self.seen[begun:]

    def type(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def end(self) -> int:
        """Read all that is left; the exit code."""
        while self._read(1.0) is not False:
            continue
        os.close(self.descriptor)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    def _read(self, seconds: float) -> bool | None:
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return None
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    folder: Path = tmp_path_factory.mktemp("live")
    with network(folder, f"live-{os.getpid()}") as terminal:
        yield terminal


def test_a_shell_says_where_it_is_and_has_the_terminal(lab: Terminal) -> None:
    shell = Screen.of("attach", "--run", lab.name, "r2")
    shell.until(rf"\[{lab.name} r2\]")
    shell.type("tty; echo $CBN_NAME-$((6 * 7)); ls /sys/class/net\n")
    assert re.search(r"/dev/(pts/\d+|console)", shell.until("r2-42"))
    shell.type("echo asleep-$((6 * 7)); sleep 100\n")
    shell.until("asleep-42")
    shell.type("\x03")
    shell.until(rf"\[{lab.name} r2\]")
    shell.type("exit 5\n")
    assert shell.end() == 5


def test_top_is_live_sorts_by_keys_and_leaves_the_terminal_as_it_was(lab: Terminal) -> None:
    top = Screen.of("top", "--run", lab.name, "--interval", "200ms", columns=150)
    page = top.until("SETTLED[^$]*CLIENT")
    assert "\x1b[?1049h" in top.seen
    assert "by name" in page
    top.type("i")
    top.until("by in")
    top.type("x")
    top.until("by drops")
    top.type("q")
    assert top.end() == 0
    assert top.seen.rstrip().endswith("\x1b[?25h\x1b[?1049l")


@pytest.mark.parametrize(("columns", "lines"), [(30, 9), (60, 12), (200, 50)])
def test_top_fits_into_any_terminal(lab: Terminal, columns: int, lines: int) -> None:
    top = Screen.of("top", "--run", lab.name, "--interval", "100ms", columns=columns, lines=lines)
    top.until("CLIENT")
    top.until("CLIENT")  # the first page may have come before the terminal had its size
    os.kill(top.pid, signal.SIGINT)
    assert top.end() == 130
    last = top.seen.split("\x1b[H")[-1].partition("\x1b[J")[0]
    shown = [line.rstrip("\r") for line in re.sub(r"\x1b\[\S", "", last).split("\n")]
    assert len(shown) <= lines
    assert max(map(len, shown)) <= columns
    assert top.seen.rstrip().count("\x1b[?1049l") == 1

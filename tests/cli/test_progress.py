"""Progress suits whoever looks at it."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from testbed.cli.progress import LineProgress, SilentProgress

ROOT = Path(__file__).parents[2]


def test_lines_name_the_phase_and_how_much_there_is_to_do() -> None:
    out = io.StringIO()
    lines = LineProgress(out)
    lines.phase("workload", 1234)
    lines.phase("something new")
    first, second = out.getvalue().splitlines()
    assert first.endswith("running the clients' scripts (1,234)")
    assert second.endswith("something new")


def test_quiet_still_prints_what_needs_attention(capsys: pytest.CaptureFixture[str]) -> None:
    SilentProgress().say("look")
    assert capsys.readouterr().err == "cbn: look\n"


@pytest.mark.sim
def test_a_terminal_gets_bars(tiny: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "testbed.cli", "run", str(tiny), "--world", "sim", "--out", "out"],
        cwd=tmp_path,
        env=environment | {"TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    shown = _all_of(ours).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "━" in shown
    assert "21 of 21" in shown


def _all_of(terminal: int) -> bytes:
    """What was written to a terminal that nobody has open any more."""
    found = b""
    with suppress(OSError):  # the end
        while more := os.read(terminal, 65_536):
            found += more
    return found

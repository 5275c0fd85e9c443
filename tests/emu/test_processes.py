"""Processes of a run: started with marks, watched, told of when they end. (No root needed.)"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.emu.interruption import Shield
from testbed.emu.processes import Child, ProcessDiedError, Watch, last_line, start, stop_all
from testbed.runs.interruption import Interruption

WAIT_FOR_END_OF_INPUT = "import sys; sys.stdin.read()"


@pytest.fixture
def watch() -> Iterator[Watch]:
    watched = Watch()
    yield watched
    watched.close()


def run(folder: Path, code: str, *, pipes: bool = True) -> Child:
    command = [sys.executable, "-c", code]
    return start("it", command, dict(os.environ), folder / "it.jsonl", pipes=pipes)


def test_waiting_takes_its_time_while_all_live(tmp_path: Path, watch: Watch) -> None:
    child = run(tmp_path, WAIT_FOR_END_OF_INPUT)
    watch.add(child)
    began = time.monotonic()
    watch.wait(0.05)
    assert time.monotonic() - began >= 0.05
    assert stop_all([child], timeout_s=30) == []


def test_a_death_ends_the_wait_at_once_and_tells_how_why_and_where(tmp_path: Path, watch: Watch) -> None:
    child = run(tmp_path, "import sys; print('no such thing', file=sys.stderr); sys.exit(3)", pipes=False)
    watch.add(child)
    with pytest.raises(
        ProcessDiedError, match=r"it ended with exit status 3: no such thing \(log: .*it\.jsonl\)"
    ):
        watch.wait(30)


def test_a_killed_process_is_told_of_by_its_signal(tmp_path: Path, watch: Watch) -> None:
    child = run(tmp_path, WAIT_FOR_END_OF_INPUT)
    watch.add(child)
    child.process.kill()
    with pytest.raises(ProcessDiedError, match="it was killed by SIGKILL"):
        watch.wait(30)


def test_a_process_that_will_not_stop_is_killed_and_told_of(tmp_path: Path, watch: Watch) -> None:
    deaf = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('x', flush=True); signal.pause()"
    )
    child = run(tmp_path, deaf)
    assert child.process.stdout is not None
    assert watch.readable(child.process.stdout, 30)
    (said,) = stop_all([child], timeout_s=0.1)
    assert "it did not stop" in said
    assert child.process.returncode == -signal.SIGKILL


def test_a_process_that_fails_while_stopping_is_told_of(tmp_path: Path, watch: Watch) -> None:
    code = "import signal as s; s.signal(s.SIGTERM, lambda *_: exit(70)); print('x', flush=True); s.pause()"
    child = run(tmp_path, code)
    assert child.process.stdout is not None
    assert watch.readable(child.process.stdout, 30)
    (said,) = stop_all([child], timeout_s=30)
    assert "it ended with exit status 70" in said


def test_what_a_process_says_before_it_dies_is_read(tmp_path: Path, watch: Watch) -> None:
    child = run(tmp_path, "print('ready', flush=True)")
    watch.add(child)
    os.waitid(os.P_PID, child.process.pid, os.WEXITED | os.WNOWAIT)
    assert child.process.stdout is not None
    assert watch.readable(child.process.stdout, 30)
    assert child.process.stdout.readline() == "ready\n"
    with pytest.raises(ProcessDiedError):
        watch.readable(child.process.stdout, 30)


def test_processes_die_with_the_one_that_started_them(tmp_path: Path) -> None:
    program = f"""
import os, sys
from pathlib import Path
from testbed.emu.processes import start
command = [sys.executable, "-c", "import signal; print('x', flush=True); signal.pause()"]
child = start("it", command, dict(os.environ), Path({str(tmp_path)!r}) / "it.jsonl", pipes=True)
child.process.stdout.readline()
print(child.process.pid, flush=True)
sys.stdin.read()
"""
    parent = run(tmp_path, program)
    assert parent.process.stdout is not None
    descriptor = os.pidfd_open(int(parent.process.stdout.readline()))
    parent.process.kill()
    parent.process.communicate()
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    assert poller.poll(30_000)
    os.close(descriptor)


def test_the_last_line_is_the_last_that_says_something(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\ntwo\n\n")
    assert last_line(tmp_path / "f") == "two"
    assert last_line(tmp_path / "none") == ""


def test_the_first_signal_raises_and_the_second_does_not() -> None:
    with Shield() as shield:
        with pytest.raises(Interruption, match="SIGTERM"):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        assert shield.closing


def test_a_signal_is_put_off_until_what_is_made_is_noted() -> None:
    noted = []

    def make() -> None:
        with shield.hold():
            os.kill(os.getpid(), signal.SIGTERM)
            noted.append("made")

    with Shield() as shield, pytest.raises(Interruption):
        make()
    assert noted == ["made"]


def test_the_handlers_before_are_there_again_and_an_ignored_signal_stays_ignored() -> None:
    before = signal.getsignal(signal.SIGINT)
    hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Shield():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGINT) is before
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, hangup)

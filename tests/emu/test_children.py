"""Processes of a run: started with marks, watched, told of when they end. (No root needed.)"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodes.daemon.kernel import ended_within
from testbed.emu.children import Child, Watch, last_line, start_helper, stop_all
from testbed.live.fabric import ProcessDiedError
from testbed.live.interruption import Shield
from testbed.runs.interruption import Interruption

WAIT_FOR_END_OF_INPUT = "import sys; sys.stdin.read()"


@pytest.fixture
def watch() -> Iterator[Watch]:
    watched = Watch()
    yield watched
    watched.close()


READY = """print('{"ok": true, "result": "x"}', flush=True)"""


def run(folder: Path, code: str) -> Child:
    return start_helper("it", "it", [], dict(os.environ), folder / "it.jsonl", options=["-c", code])


def test_waiting_takes_its_time_while_all_live(tmp_path: Path, watch: Watch) -> None:
    child = run(tmp_path, WAIT_FOR_END_OF_INPUT)
    watch.add(child)
    began = time.monotonic()
    watch.wait(0.05)
    assert time.monotonic() - began >= 0.05
    assert stop_all([child], timeout_s=30) == []


def test_a_death_ends_the_wait_at_once_and_tells_how_why_and_where(tmp_path: Path, watch: Watch) -> None:
    child = run(tmp_path, "import sys; print('no such thing', file=sys.stderr); sys.exit(3)")
    watch.add(child)
    with pytest.raises(
        ProcessDiedError, match=r"it ended with exit status 3: no such thing \(log: .*it\.jsonl\)"
    ):
        watch.wait(30)


def test_a_killed_process_is_reported_with_its_signal(tmp_path: Path, watch: Watch) -> None:
    child = run(tmp_path, WAIT_FOR_END_OF_INPUT)
    watch.add(child)
    child.process.kill()
    with pytest.raises(ProcessDiedError, match="it was killed by SIGKILL"):
        watch.wait(30)


def test_a_process_that_does_not_stop_is_killed_and_reported(tmp_path: Path, watch: Watch) -> None:
    deaf = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {READY}; signal.pause()"
    child = run(tmp_path, deaf)
    assert child.ready(30) == "x"
    (output,) = stop_all([child], timeout_s=0.1)
    assert "it did not stop" in output
    assert child.process.returncode == -signal.SIGKILL


def test_a_process_that_fails_while_stopping_is_reported(tmp_path: Path, watch: Watch) -> None:
    child = run(tmp_path, f"import signal as s; s.signal(s.SIGTERM, lambda *_: exit(70)); {READY}; s.pause()")
    assert child.ready(30) == "x"
    (output,) = stop_all([child], timeout_s=30)
    assert "it ended with exit status 70" in output


def test_what_a_process_sent_before_it_died_is_read(tmp_path: Path) -> None:
    child = run(tmp_path, READY)
    os.waitid(os.P_PID, child.process.pid, os.WEXITED | os.WNOWAIT)
    assert child.ready(30) == "x"
    with pytest.raises(ProcessDiedError, match="it ended with exit status 0"):
        child.ask("more", 30)


def test_a_helper_ends_with_its_input_and_one_that_does_not_is_killed(tmp_path: Path) -> None:
    assert run(tmp_path, WAIT_FOR_END_OF_INPUT).stop(30) == []
    (problem,) = run(tmp_path, "import signal; signal.pause()").stop(0.1)
    assert "it did not end within 0.1 s and was killed" in problem
    (problem,) = run(tmp_path, f"{WAIT_FOR_END_OF_INPUT}; sys.exit(4)").stop(30)
    assert "it ended with exit status 4" in problem


def test_what_a_helper_reports_at_the_end_of_its_input_is_read_however_long_it_is(tmp_path: Path) -> None:
    long = """print('{"ok": true, "result": "' + "x" * 3_000_000 + '"}', flush=True)"""
    child = run(tmp_path, f"{WAIT_FOR_END_OF_INPUT}; {long}")
    assert len(child.last_words(30)) == 3_000_000
    assert child.stop(30) == []


def test_a_helper_that_refuses_says_why_and_one_that_is_silent_is_named(tmp_path: Path) -> None:
    refusal = """print('{"ok": false, "error": "no room"}', flush=True)"""
    child = run(tmp_path, f"{refusal}; {WAIT_FOR_END_OF_INPUT}")
    with pytest.raises(ProcessDiedError, match="no room"):
        child.ready(30)
    child.process.kill()
    silent = run(tmp_path, "import signal; signal.pause()")
    with pytest.raises(ProcessDiedError, match=r"it: no answer within 0\.1 s"):
        silent.ready(0.1)
    silent.process.kill()
    for each in (child, silent):
        each.process.wait()
        each.close()


def test_processes_die_with_the_one_that_started_them(tmp_path: Path) -> None:
    program = f"""
import os, sys
from pathlib import Path
from testbed.emu.children import start_helper
code = "import signal; " + {READY!r} + "; signal.pause()"
folder = Path({str(tmp_path)!r})
child = start_helper("it", "it", [], dict(os.environ), folder / "it.jsonl", options=["-c", code])
child.ready(30)
print('{{"ok": true, "result": %d}}' % child.process.pid, flush=True)
sys.stdin.read()
"""
    parent = run(tmp_path, program)
    descriptor = os.pidfd_open(parent.ready(30))
    parent.process.kill()
    assert ended_within(descriptor, 30)
    os.close(descriptor)
    parent.process.wait()
    parent.close()


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

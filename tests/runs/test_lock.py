"""A directory in which a process is at work is not touched, and is free when that process has ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testbed.runs.directory import RunDirectory, RunDirectoryError
from testbed.runs.lock import LOCK, InUseError, held, holder

_HOLD = """\
import sys
from pathlib import Path
from testbed.runs.lock import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def somebody_at_work(path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


def some_run(path: Path) -> None:
    (path / "manifest.json").write_text(json.dumps({"format": 3, "run_id": "tiny-sim-1"}))


def test_force_refuses_a_directory_whose_run_is_going_on_by_name_and_process(tmp_path: Path) -> None:
    some_run(tmp_path)
    with somebody_at_work(tmp_path) as process:
        with pytest.raises(
            RunDirectoryError, match=f"run tiny-sim-1 is going on there, in process {process.pid}"
        ):
            RunDirectory.create(tmp_path, "new", force=True)
        assert (tmp_path / "manifest.json").exists()
        process.communicate()
    RunDirectory.create(tmp_path, "new", force=True)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_killed_is_at_work_no_longer(tmp_path: Path) -> None:
    some_run(tmp_path)
    with somebody_at_work(tmp_path) as process:
        assert holder(tmp_path) == process.pid
        process.send_signal(signal.SIGKILL)
    assert (tmp_path / LOCK).exists()
    assert holder(tmp_path) is None
    RunDirectory.create(tmp_path, "new", force=True)


def test_a_file_that_was_left_behind_means_nothing_whatever_process_it_names(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text(str(os.getppid()))
    assert holder(tmp_path) is None
    assert RunDirectory.create(tmp_path, "new").path == tmp_path


def test_two_do_not_work_in_one_directory(tmp_path: Path) -> None:
    with somebody_at_work(tmp_path), pytest.raises(InUseError, match="going on there"), held(tmp_path):
        raise AssertionError


def test_who_has_ended_leaves_no_file(tmp_path: Path) -> None:
    with held(tmp_path):
        assert (tmp_path / LOCK).exists()
    assert list(tmp_path.iterdir()) == []


def test_a_forked_process_does_not_keep_what_its_parent_held(tmp_path: Path) -> None:
    read, write = os.pipe()
    with somebody_at_work(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    with held(tmp_path):
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
    with held(tmp_path):  # the child lives
        os.close(write)
    os.close(read)
    os.waitpid(child, 0)

"""The Java process of Spark ends with the command that started it, at whatever moment that ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodes.processes import OWNER_MARK, SCRATCH, environment_of
from testbed.emu.cleanup import clean

pytestmark = [pytest.mark.sim, pytest.mark.spark]
PATIENCE_S = 90.0


def started_by(pid: int) -> dict[int, str]:
    """The command lines of the processes that carry the mark of this one, by id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and environment_of(int(entry.name)).get(OWNER_MARK, "").startswith(
            f"{pid}:"
        ):
            found[int(entry.name)] = _command(entry)
    return found


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def scratch_of(pid: int) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"{SCRATCH}{pid}.*"))


def launched(pid: int) -> bool:
    return bool(started_by(pid))


def in_java(pid: int) -> bool:
    return any("org.apache.spark.deploy.SparkSubmit" in command for command in started_by(pid).values())


def connected(pid: int) -> bool:
    return any((folder / "connection").exists() for folder in scratch_of(pid))


def at_work(pid: int) -> bool:
    return any("pyspark.daemon" in command for command in started_by(pid).values())


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str]) -> Any:
    """`start(*arguments)`: a `cbn` that is going on."""

    def begin(*arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "testbed.cli", *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


@pytest.mark.parametrize(
    ("command", "moment", "number"),
    [
        (("run", "tiny.yaml", "--world", "sim", "--analyze"), launched, signal.SIGINT),
        (("run", "tiny.yaml", "--world", "sim", "--analyze"), in_java, signal.SIGTERM),
        (("analyze", "one"), connected, signal.SIGHUP),
        (("analyze", "one"), at_work, signal.SIGINT),
        (("diff", "one", "two"), in_java, signal.SIGINT),
    ],
)
def test_no_java_process_outlives_a_command_that_is_interrupted(
    cbn: Any, start: Any, tiny: Path, command: tuple[str, ...], moment: Callable[[int], bool], number: int
) -> None:
    for name in ("one", "two"):
        cbn("run", tiny, "--world", "sim", "--out", name, "--quiet")
    with start(*command) as process:
        until(lambda: moment(process.pid) or process.poll() is not None, f"never {moment.__name__}")
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode == 128 + number
    until(lambda: not started_by(process.pid), "Java goes on")
    assert scratch_of(process.pid) == []
    assert "Traceback" not in said


@pytest.mark.usefixtures("sole_cleaner")
def test_a_command_that_is_killed_takes_java_with_it_and_clean_removes_the_rest(
    cbn: Any, start: Any, tiny: Path
) -> None:
    cbn("run", tiny, "--world", "sim", "--out", "one", "--quiet")
    with start("analyze", "one") as process:
        until(lambda: connected(process.pid), "never connected")
        process.kill()
        process.communicate()
    until(lambda: not started_by(process.pid), "Java goes on")
    (left,) = scratch_of(process.pid)
    assert left in clean(dry_run=True).folders
    assert left.exists()
    clean()
    assert not left.exists()

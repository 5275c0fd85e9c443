"""A network that `cbn up` leaves running, and terminals that take part: all processes of their own."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodes.processes import RUN_MARK, environment_of
from testbed.live.registry import Running, running

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60
SCENARIO = """
name: handmade
seed: 7
topology:
  routers: [r1, r2, r3]
  links: [r1 - r2, {between: [r2, r3], delay: 5ms}, r3 - r1]
clients:
  a: {at: r1, subscribe: ['k = "x" and n < 20']}
  b: {at: r2, publish: [{every: 5ms, count: 20, from: 0ms, message: {n: {count: 0}}}]}
  c: {at: r3, subscribe: ['k = "y"']}
"""
"""
   a --- r1 ------- r2 --- b
           \\       /
            \\     /
              r3 --- c
"""


@dataclass
class Terminal:
    """Where somebody types commands for one network."""

    folder: Path
    name: str

    @property
    def out(self) -> Path:
        return self.folder / "run"

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """A command that goes on."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, "-m", "testbed.cli", *words]
        return subprocess.Popen(command, cwd=ROOT, text=True, **{**streams, **options})

    def type(self, *words: str, code: int = 0, given: str | None = None) -> str:
        """A command that ends so; what it said."""
        done = subprocess.run(
            [sys.executable, "-m", "testbed.cli", *words],
            cwd=ROOT,
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout if code == 0 else done.stderr

    def on(self, command: str, *words: str, code: int = 0, given: str | None = None) -> str:
        """A command for this network; others may run beside it."""
        return self.type(command, "--run", self.name, *words, code=code, given=given)

    def up(self, *words: str, scenario: str = SCENARIO, code: int = 0) -> str:
        path = self.folder / "handmade.yaml"
        path.write_text(scenario, encoding="utf-8")
        return self.type("up", str(path), "--name", self.name, "--out", str(self.out), *words, code=code)

    def found(self) -> Running:
        (run,) = [run for run in running() if run.name == self.name]
        return run

    def supervisor(self) -> int:
        owner = self.found().owner
        assert owner is not None
        return owner.pid

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / "events.jsonl").read_text().splitlines()]

    def manifest(self) -> dict[str, Any]:
        return dict(json.loads((self.out / "manifest.json").read_text()))

    def processes(self, run_id: str) -> list[int]:
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
        return [pid for pid in pids if environment_of(pid).get(RUN_MARK) == run_id]

    def assert_nothing_is_left(self, run_id: str) -> None:
        assert self.processes(run_id) == []
        assert [run.run_id for run in running() if run.run_id == run_id] == []


@contextmanager
def network(folder: Path, name: str, *words: str) -> Iterator[Terminal]:
    """A network of that name, which is gone afterwards whatever happens."""
    terminal = Terminal(folder, name)
    terminal.up(*words)
    run = terminal.found()
    try:
        yield terminal
    finally:
        # Its supervisor lives for a moment after the run is no longer registered.
        if run.alive and run.folder.exists():
            terminal.type("down", "-q", run.run_id)
        elif run.folder.exists():
            terminal.type("clean")
        terminal.assert_nothing_is_left(run.run_id)


def wait_for(process: subprocess.Popen[str], words: str) -> str:
    """Read what a command says on standard error until it says that."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return line
    raise AssertionError(f"it ended without saying {words!r}")


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str, int]:
    """Ctrl-C; what else was said, and the exit code."""
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=TIMEOUT_S)
    return out, errors, process.returncode


def kill(pid: int) -> None:
    """No process gets round this one."""
    descriptor = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGKILL)
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        assert poller.poll(10_000)
    finally:
        os.close(descriptor)

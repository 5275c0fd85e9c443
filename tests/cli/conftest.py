"""Runs `cbn` in a folder of its own: as a process, as a user does, or in this process, which has Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.cli.main import main

ROOT = Path(__file__).parents[2]

TINY = """\
name: tiny
topology:
  routers: [r1, r2]
  links: [r1 - r2]
clients:
  alice:
    at: r1
    publish: [{message: {price: {uniform: [0, 99]}}, every: 1ms, count: 20, from: 0s}]
  bob:
    at: r2
    subscribe: [price < 50]
"""

Cbn = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment() -> dict[str, str]:
    """Finds the source tree from any folder; plain text of a known width."""
    kept = {k: v for k, v in os.environ.items() if k != "CBN_DEBUG"}
    return kept | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "100"}


@pytest.fixture
def cbn(tmp_path: Path, environment: dict[str, str]) -> Cbn:
    """`cbn(*arguments)`: the finished process, with its code and what it printed."""

    def run(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "testbed.cli", *map(str, arguments)],
            cwd=tmp_path,
            env=environment | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


@pytest.fixture
def cbn_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cbn:
    """The same, but in this process: for what is the same however `cbn` was started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        try:
            code = main([*map(str, arguments)])
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, printed.out, printed.err)

    return run


@pytest.fixture
def cbn_with_spark(spark: object, cbn_here: Cbn) -> Cbn:
    """The same, in a process where the analysis finds Spark started."""
    return cbn_here


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A scenario of two routers and two clients."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path

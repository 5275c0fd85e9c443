"""How long Spark's Java process may take to start."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import AnalysisError, jvm

STILL_S = 5.0
"""A busy machine may leave a process that works without a processor for so long, and hardly for longer."""
WORKS = f"""\
import sys, time
end = time.monotonic() + {STILL_S + 2}
while time.monotonic() < end:
    sum(range(300_000))
    time.sleep(0.1)
open(sys.argv[1] + ".partial", "wb").write(bytes.fromhex(sys.argv[2]))
import os; os.rename(sys.argv[1] + ".partial", sys.argv[1])
time.sleep(60)
"""


def test_one_that_does_nothing_any_more_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "_STILL_S", 0.3)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        try:
            with pytest.raises(AnalysisError, match="its Java process did nothing for"):
                jvm.Jvm(process, tmp_path).connection()
        finally:
            process.kill()


def test_one_that_works_is_waited_for_however_slow_the_machine_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jvm, "_STILL_S", STILL_S)
    monkeypatch.setattr(jvm, "_WORK_S", 0.01)
    said = struct.pack(">ii", 4711, 6) + b"secret"
    command = [sys.executable, "-c", WORKS, str(tmp_path / "connection"), said.hex()]
    with subprocess.Popen(command) as process:
        try:
            found = jvm.Jvm(process, tmp_path).connection()
        finally:
            process.kill()
    assert found == {"PYSPARK_GATEWAY_PORT": "4711", "PYSPARK_GATEWAY_SECRET": "secret"}


def test_one_that_ends_is_said_to_have_ended(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    with process, pytest.raises(AnalysisError, match="its Java process ended with code 3"):
        jvm.Jvm(process, tmp_path).connection()

"""The sampler: what it reads of the machine, and how it is spoken to. Needs no root."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.emu import measure
from testbed.emu.meter import read_turns
from testbed.runs.measures import MachineMeasure

ROOT = Path(__file__).resolve().parents[2]
TICKS = {"user": 100, "nice": 50, "system": 30, "idle": 800, "iowait": 10, "irq": 0, "softirq": 5, "steal": 5}


def later(**more: int) -> dict[str, int]:
    return {name: TICKS[name] + more.get(name, 0) for name in TICKS}


def test_idle_is_who_does_nothing_or_waits_for_a_disc() -> None:
    assert measure.shares(TICKS, later(idle=60, iowait=20, user=10, nice=5, steal=5)) == (0.2, 0.05)
    assert measure.shares(TICKS, later(user=7)) == (1.0, 0.0)
    assert measure.shares(TICKS, TICKS) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("field", "unit", "text"),
    [
        ("throttled_usec", 1e-6, "nr_periods 9\nthrottled_usec 1500000\n"),
        ("throttled_time", 1e-9, "nr_periods 9\nthrottled_time 1500000000\n"),
    ],
)
def test_both_kinds_of_control_groups_are_read(
    field: str, unit: float, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cpu.stat"
    path.write_text(text)
    monkeypatch.setattr(measure, "THROTTLING", (("/nowhere", "x", 1.0), (str(path), field, unit)))
    assert measure.read_throttled_s() == pytest.approx(1.5)
    monkeypatch.setattr(measure, "THROTTLING", (("/nowhere", "x", 1.0),))
    assert measure.read_throttled_s() is None


def test_the_sampler_answers_begins_anew_and_ends_with_its_input() -> None:
    process = subprocess.Popen(
        [sys.executable, "-S", "-m", "testbed.emu.measure"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    found = []
    for do in ("begin", "end", "begin"):
        process.stdin.write(json.dumps({"do": do}).encode() + b"\n")
        process.stdin.flush()
        found.append(MachineMeasure(**json.loads(process.stdout.readline())["result"]))
    process.stdin.close()
    assert process.wait(10) == 0
    process.stdout.close()
    first, second, third = found
    assert 0 <= first.seconds <= second.seconds
    assert third.seconds < 10
    for each in found:
        assert 0 <= each.busy <= each.busy_peak <= 1
        assert each.lag_max_ns >= 0


def test_turns_are_those_of_all_threads_and_of_nobody_who_is_gone() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert read_turns(process.pid) is None
    before, after = read_turns(1), read_turns(1)
    if before is not None and after is not None:
        assert 0 <= before.turns <= after.turns
        assert before.ran_ns <= after.ran_ns

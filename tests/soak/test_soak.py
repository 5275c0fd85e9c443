"""A slice of `make soak` in the simulator, and that it sees what it is there to see: leaks, drift, losses."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from nodes.processes import RUN_MARK
from nodes.routing.schemes import SCHEMES
from nodes.routing.schemes.base import FibSpec, View
from nodes.routing.schemes.pif import Pif
from testbed.plan.load import plan_of
from testbed.sim.simulation import Simulation
from tests.soak import simulated
from tests.soak.__main__ import main, parsed, soak_of
from tests.soak.drawing import CALM, Soak, scenario
from tests.soak.expected import at_moment, drifted
from tests.soak.findings import Findings, page
from tests.soak.trend import DAY_S, Bound, Sample, trend
from tests.soak.watching import CONTROLLER, Bounds, Samples, Series, Watcher, grown

HOLD_MS = 400
MB_A_DAY = Bound(a_day=1.0, in_all=0.5)
LEAK = """
import sys
held, files = [], []
for line in sys.stdin:
    held.append(bytearray(200_000))
    files.append(open("/dev/null"))
    print("held", flush=True)
"""


def hourly(values: Iterator[float]) -> list[Sample]:
    return [(3600.0 * hour, value) for hour, value in enumerate(values)]


def test_what_grows_evenly_has_its_slope_and_no_error() -> None:
    line = trend(hourly(100 + 0.5 * hour for hour in range(100)))
    assert line is not None
    assert line.slope_a_day == pytest.approx(12)
    assert line.error_a_day == pytest.approx(0, abs=1e-6)
    assert line.grows(MB_A_DAY)


def test_a_warm_up_and_one_step_of_an_allocator_are_no_leak() -> None:
    values = [100 + min(hour, 20) for hour in range(100)]
    stepped = [value + 0.4 * (hour > 60) for hour, value in enumerate(values)]
    line = trend(hourly(iter(stepped)))
    assert line is not None
    assert not line.grows(MB_A_DAY)


def test_what_goes_up_and_down_at_random_is_no_leak(seed: int) -> None:
    rng = Random(seed)
    line = trend(hourly(100 + rng.uniform(-5, 5) for _ in range(200)))
    assert line is not None
    assert not line.grows(MB_A_DAY)


def test_a_small_leak_under_much_noise_is_seen_after_a_week(seed: int) -> None:
    rng = Random(seed)
    line = trend(hourly(100 + rng.uniform(-3, 3) + 2 * hour / 24 for hour in range(24 * 7)))
    assert line is not None
    assert line.grows(MB_A_DAY)
    assert line.slope_a_day == pytest.approx(2, abs=1)


def test_too_few_samples_have_no_slope() -> None:
    assert trend(hourly(float(hour) for hour in range(9))) is None


def test_in_every_calm_all_is_repaired_and_nobody_changes_his_mind(seed: int) -> None:
    soak = Soak(seed, routers=12, rounds=5, hold_ms=HOLD_MS)
    plan = plan_of(scenario(soak))
    holds = [event.at_ns / 1e6 / HOLD_MS % 45 for event in plan.faults]
    changes = [a for node in plan.clients for a in node.script if a.do in ("subscribe", "unsubscribe")]
    holds += [change.at_ns / 1e6 / HOLD_MS % 45 for change in changes if change.at_ns >= 0]
    assert max(holds) < CALM
    for at_ms in soak.looks_ms:
        assert len(at_moment(plan, at_ms).routers) == 12
    kinds = {fault.do for fault in plan.faults}
    assert kinds == {"crash", "start", "link_down", "link_up", "pause", "resume", "rekey"}


def test_the_command_takes_days_and_hours() -> None:
    week = soak_of(parsed([]))
    assert (week.routers, week.lasts_ms, week.captures) == (100, 7 * 24 * 3_600_000, False)
    two_hours = soak_of(parsed(["--world", "emu", "--hours", "2", "--routers", "5"]))
    assert (two_hours.routers, two_hours.lasts_ms, two_hours.captures) == (5, 2 * 3_600_000, True)


def test_a_soak_in_the_simulator_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    minutes = ["--days", str(300 / DAY_S), "--hold-ms", str(HOLD_MS), "--routers", "12", "--quiet"]
    assert main([*minutes, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith("soak: all is well\n")
    assert "0 of them differed" in printed
    assert "0 missing, 0 duplicate, 0 spurious" in printed


class Hoarder(Pif):
    """A scheme that holds everything it was ever shown."""

    def compile(self, view: View) -> FibSpec:
        held = self.__dict__.setdefault("held", [])
        held.append((view, bytes(range(256)) * 2_000))
        return super().compile(view)


def test_a_scheme_that_holds_everything_is_called_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SCHEMES, "pif", Hoarder)
    minutes = ["--days", str(300 / DAY_S), "--hold-ms", str(HOLD_MS), "--routers", "8", "--quiet"]
    assert main([*minutes, "--out", str(tmp_path)]) == 1
    assert "WRONG: simulation: memory grows by" in capsys.readouterr().out


def test_a_table_that_is_not_as_it_should_be_has_drifted() -> None:
    soak = Soak(1, routers=6, rounds=1, hold_ms=HOLD_MS)
    plan = plan_of(scenario(soak))
    simulation = Simulation(plan, "soak", lambda _: None)
    simulation.get_ready()
    simulation.work()
    whole = at_moment(plan, soak.looks_ms[0])
    texts = {name: core.tables() for name, core in simulation.network.cores.items()}
    assert drifted(plan, whole, texts) == []
    name, text = next((name, text) for name, text in texts.items() if "\ntable 0" in text)
    lines = text.splitlines()
    lines.remove(next(line for line in lines if line.startswith("table 0")))
    assert [each.split(":")[0] for each in drifted(plan, whole, {**texts, name: "\n".join(lines)})] == [
        f"tables of {name}"
    ]


@contextmanager
def leaking(run_id: str) -> Iterator[subprocess.Popen[str]]:
    """A process of a run that takes memory, and a descriptor, whenever it is told to."""
    process = subprocess.Popen(
        [sys.executable, "-c", LEAK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, RUN_MARK: run_id},
    )
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def test_a_process_that_leaks_memory_and_descriptors_is_called_out(tmp_path: Path) -> None:
    run_id = f"test-leak-{os.getpid()}"
    samples = Samples(tmp_path / "samples.csv")
    watcher = Watcher(run_id, every_s=60.0, samples=samples)
    with leaking(run_id) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for hour in range(40):
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "held\n"
            watcher.look(3600.0 * hour)
    series = samples.series()
    assert len(series) == 2, "it, and the process that watches"
    wrong = grown(series, lambda _: Bounds(MB_A_DAY, Bound(a_day=1.0, in_all=2.0)))
    leaks = [each for each in wrong if not each.startswith(CONTROLLER)]
    assert len(leaks) == 2, wrong
    assert "memory grows by" in leaks[0]
    assert "descriptors grow by 24 a day" in leaks[1]
    line = next(each for each in series if each.name != CONTROLLER).memory_trend
    assert line is not None
    assert line.slope_a_day == pytest.approx(24 * 0.2, rel=0.2)


def test_what_must_be_none_is_wrong_if_there_is_any() -> None:
    flat = Series("r1")
    for hour in range(20):
        flat.add(3600.0 * hour, 20.0, 10)
    judged = {"owed": 10, "missing": 1, "duplicate": 2, "spurious": 3, "allowed": 0}
    found = Findings(10.0, {}, [flat], 1, ["tables of r1: none"], judged)
    assert found.wrong(simulated.bounds_of) == [
        "1 tables have drifted",
        "1 missing",
        "2 duplicate",
        "3 spurious",
    ]
    assert [*page(found, simulated.bounds_of)][-1] == "soak: wrong"
    nothing = Findings(10.0, {}, [flat])
    assert nothing.wrong(simulated.bounds_of) == ["no delivery was owed, so nothing was tried"]

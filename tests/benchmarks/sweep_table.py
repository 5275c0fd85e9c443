"""What a sweep costs as Spark tasks, as a table: `make bench-sweep`.

    python tests/benchmarks/sweep_table.py [CELLS]

Small cells of one matrix, in the simulator: one after the other in this process, then as tasks of Spark with
one worker and with two. Starting Spark is measured apart. A machine that does other things gives other
ratios: all three ways are measured in turns, and the least of each counts. What two processors of this
machine can do at most is measured beside it: a loop in plain Python, in one process and in two.

A small cell makes some 50 files. On ext4 each takes the longer, the more files were removed there in the
last five minutes: so all runs stay until the end, and what a file costs is measured in each turn. If it is
more than some 30 us, somebody has removed many: wait, or name a folder in memory (`TMPDIR=/dev/shm`).
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from testbed.cli.cells import CellTask, run_as_task
from testbed.cli.folder import Planned
from testbed.plan.load import read_scenario
from testbed.sim.world import SimulatedWorld

CELLS = 500
TURNS = 2
FILES = 500
MASTERS = ("", "local[1]", "local[2]")
"""The empty one: without Spark."""
SCENARIO = """\
name: small
matrix: {{scheme: [pif], repeat: {cells}}}
topology: {{generate: ring, size: 5}}
populations:
  sub: {{count: 6, subscribe: ["x < 50"]}}
  pub: {{count: 2, publish: [{{every: 10ms, count: 50, message: {{x: {{uniform: [0, 99]}}}}}}]}}
"""


def tasks(folder: Path, cells: int) -> list[CellTask]:
    """All cells of the matrix."""
    path = folder / "small.yaml"
    path.write_text(SCENARIO.format(cells=cells))
    scenario = read_scenario(path)
    token = folder / "token"
    token.touch()
    return [
        CellTask(
            Planned(cell, plan, scenario.text, SimulatedWorld(), folder / cell.name, True), cell.name, token
        )
        for cell, plan in scenario.plans()
    ]


def measure(master: str, folder: Path, cells: int) -> dict[str, float]:
    """Seconds until Spark has started and done one task on each worker, and for all cells."""
    found = tasks(folder, cells + 4)
    warm, cold = found[:4], found[4:]
    began = time.monotonic()
    if not master:
        codes = [run_as_task(task).code for task in warm]
        started = time.monotonic()
        codes += [run_as_task(task).code for task in cold]
    else:
        from analysis.session import start_session
        from analysis.settings import Asked
        from analysis.tasks import carried_out

        spark = start_session(0, Asked(master), folder / "log")
        codes = [each.value.code for each in carried_out(spark, run_as_task, warm)]
        started = time.monotonic()
        codes += [each.value.code for each in carried_out(spark, run_as_task, cold)]
    assert codes == [0] * (cells + 4)
    return {"start_s": started - began, "cells_s": time.monotonic() - started}


def apart(master: str, folder: Path, cells: int) -> dict[str, float]:
    """The same in a process of its own, since a process has one Spark."""
    folder.mkdir()
    command = [sys.executable, __file__, str(cells), "--one", str(folder), master]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def file_us(folder: Path) -> float:
    """Microseconds to make an empty file, in a new folder."""
    folder.mkdir()
    began = time.monotonic()
    for number in range(FILES):
        (folder / str(number)).touch()
    return 1_000_000 * (time.monotonic() - began) / FILES


def loop_s(processes: int) -> float:
    """Seconds for the same loop in each of some processes at a time."""
    began = time.monotonic()
    started = [multiprocessing.Process(target=_loop) for _ in range(processes)]
    for each in started:
        each.start()
    for each in started:
        each.join()
    return time.monotonic() - began


def _loop() -> None:
    total = 0
    for number in range(20_000_000):
        total += number


def main() -> None:
    """Print the table."""
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else CELLS
    if "--one" in sys.argv:
        print(json.dumps(measure(sys.argv[-1], Path(sys.argv[-2]), cells)))
        return
    turns, loops, files = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(TURNS):
            places = {master: Path(folder) / f"{turn}-{at}" for at, master in enumerate(MASTERS)}
            turns.append({master: apart(master, place, cells) for master, place in places.items()})
            files.append(file_us(Path(folder) / f"{turn}-files"))
            loops.append((loop_s(1), loop_s(2)))
    least = {master: min(turn[master]["cells_s"] for turn in turns) for master in MASTERS}
    print(f"{cells} cells, the least of {TURNS}:\n")
    print("| | Spark start, s | all cells, s | a cell, ms |")
    print("|---|---:|---:|---:|")
    for master in MASTERS:
        start = min(turn[master]["start_s"] for turn in turns)
        name, shown = (master, f"{start:.1f}") if master else ("one after the other", "")
        print(f"| {name} | {shown} | {least[master]:.1f} | {1000 * least[master] / cells:.1f} |")
    overhead_ms = 1000 * (least["local[1]"] - least[""]) / cells
    print(f"\nSpark adds {overhead_ms:.1f} ms to a cell; ", end="")
    print(f"two workers are {least['local[1]'] / least['local[2]']:.2f} times as fast as one.")
    print(f"An empty file was made in {min(files):.0f} to {max(files):.0f} us.")
    one, two = (min(times) for times in zip(*loops, strict=True))
    print(f"Two processes with a loop in plain Python are {2 * one / two:.2f} times as fast as one here.")


if __name__ == "__main__":
    main()

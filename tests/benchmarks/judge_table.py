"""How long the quick verdict takes, as a table: `make bench-judge`.

    python tests/benchmarks/judge_table.py [PUBLICATIONS ...]

Two publishers and four subscribers at four routers in a row, in the simulator. Every message has other
content. Times are the least of three: with the plan in memory, as in `cbn run`, and with the recorded plan
read again.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.quick.judge import judge
from testbed.cli.progress import SilentProgress
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

SIZES = (300, 10_000, 100_000)
REPEATS = 3
MESSAGE = {"n": {"count": 0}, "k": {"choice": ["a", "b", "c"]}, "x": {"uniform": [0.0, 1.0]}}


def scenario(publications: int) -> dict[str, Any]:
    """So many messages in all."""
    publish = [{"every": "1ms", "count": publications // 2, "from": "0s", "message": MESSAGE}]
    return {
        "name": "judged",
        "seed": 3,
        "topology": {"routers": ["r1", "r2", "r3", "r4"], "links": ["r1 - r2", "r2 - r3", "r3 - r4"]},
        "clients": {
            "p1": {"at": "r1", "publish": publish},
            "p2": {"at": "r4", "publish": publish},
            "s1": {"at": "r1", "subscribe": ["x < 0.5"]},
            "s2": {"at": "r2", "subscribe": ['k = "a"', "n > 1000 and x > 0.9"]},
            "s3": {"at": "r3", "subscribe": ['k >* "b"']},
            "s4": {"at": "r4", "subscribe": ["x >= 0.25 and x < 0.75"]},
        },
    }


def carry_out(folder: Path, publications: int) -> tuple[Path, Plan]:
    """A run of that many."""
    plan = plan_of(scenario(publications))
    directory = RunDirectory.create(folder / f"{publications}", f"judged-{publications}")
    outcome = conduct(plan, SimulatedWorld(), directory, SilentProgress(), scenario=None)
    assert outcome.outcome == "complete", outcome.message
    return directory.path, plan


def least_s(work: Callable[[], object]) -> float:
    """The least time of several."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def main(sizes: list[int]) -> None:
    """Print the table."""
    folder = Path(tempfile.mkdtemp(prefix="cbn-bench-judge-"))
    print("| publications | deliveries | frames | s, in `cbn run` | s, of a recorded run |")
    print("|---:|---:|---:|---:|---:|")
    for size in sizes or SIZES:
        path, plan = carry_out(folder, size)
        verdict = judge(path)
        assert verdict["verdict"] == "clean", verdict["headline"]
        counts = f"{verdict['publications']:,} | {verdict['delivered']:,} | {verdict['captures']['frames']:,}"
        in_run, recorded = least_s(lambda: judge(path, plan)), least_s(lambda: judge(path))  # noqa: B023
        print(f"| {counts} | {in_run:.2f} | {recorded:.2f} |", flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]])

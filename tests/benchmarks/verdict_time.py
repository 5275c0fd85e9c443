"""How long the analysis takes from captures to the verdict, by phase: `make bench-verdict`.

    python tests/benchmarks/verdict_time.py [--seconds S] [--keep DIR] [--warm]

The run is simulated: 40 routers, 200 subscribers whose predicates join two filters by `or`, 20 publishers
with 1,000 messages a second each. Three seconds of it are 60,000 messages and 2.25 million captured packets.
With `--keep` the run is made in DIR, or taken from there if it is there already. With `--warm` it is analysed
a second time in the same Spark session.
On a machine that others use, too, the processor time (of Java and Spark's workers as well) says more than the
time by the clock.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from analysis.pipeline import analyze
from testbed.cli.progress import SilentProgress
from testbed.plan.load import plan_of
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

DESTINATIONS = [f"A{number:02}" for number in range(50)]


def scenario(seconds: float) -> dict[str, Any]:
    """Everybody publishes for so long."""
    message = {
        "dest": {"choice": DESTINATIONS},
        "price": {"uniform": [1, 1000]},
        "delay": {"uniform": [0.0, 9.0]},
    }
    return {
        "name": "verdict-time",
        "seed": 5,
        "topology": {
            "generate": "random",
            "size": 40,
            "degree": 3,
            "seed": 4,
            "link_defaults": {"delay": "2ms"},
        },
        "populations": {
            "sub": {
                "count": 200,
                "subscribe": [
                    {
                        "predicate": "dest = {where} or price < {most} and delay > {late}",
                        "draw": {
                            "where": {"choice": DESTINATIONS},
                            "most": {"uniform": [1, 80]},
                            "late": {"uniform": [1.0, 8.0]},
                        },
                    }
                ],
            },
            "pub": {
                "count": 20,
                "publish": [{"rate": "1000/s", "count": round(1000 * seconds), "message": message}],
            },
        },
    }


def carry_out(folder: Path, seconds: float) -> Path:
    """The run; made, unless it is there."""
    path = folder / f"verdict-{seconds:g}s"
    if not (path / "manifest.json").exists():
        shutil.rmtree(path, ignore_errors=True)
        directory = RunDirectory.create(path, path.name)
        plan = plan_of(scenario(seconds))
        outcome = conduct(plan, SimulatedWorld(), directory, SilentProgress(), scenario=None)
        assert outcome.outcome == "complete", outcome.message
    return path


class Stopwatch:
    """Prints what each phase, and each step within it, took, and how many jobs of Spark's it was."""

    def __init__(self) -> None:
        self._began = self._since = _now()
        self._what = ""

    def phase(self, name: str, total: int | None = None) -> None:
        """The phase before has ended."""
        self._lap(self._what)
        self._what = name

    def advance(self, done: int) -> None:
        """So has a step."""
        self._lap(f"{self._what} {done}")

    def say(self, text: str) -> None:
        """Print it."""
        print(text, flush=True)

    def end(self) -> None:
        """All has ended."""
        self._lap(self._what)
        _print("all", self._began, _now())

    def _lap(self, what: str) -> None:
        now = _now()
        if what:
            _print(what, self._since, now)
        self._since = now


Moment = tuple[float, float, int]
"""By the clock, in processor time, and in jobs."""


def _now() -> Moment:
    return time.perf_counter(), _processor_s(), _jobs()


def _print(what: str, begin: Moment, end: Moment) -> None:
    clock_s, processor_s, jobs = (b - a for a, b in zip(begin, end, strict=True))
    print(f"| {what} | {clock_s:.2f} | {processor_s:.2f} | {jobs} |", flush=True)


def _jobs() -> int:
    """How many jobs Spark has run so far."""
    spark = SparkSession.getActiveSession()
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) if spark else 0


def _processor_s() -> float:
    """What this process and all its descendants have used."""
    used, children = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        number = int(path.parent.name)
        children.setdefault(int(fields[1]), []).append(number)
        used[number] = sum(map(int, fields[11:15]))
    found = [os.getpid()]
    for number in found:  # grows while it is walked
        found += children.get(number, [])
    return sum(used[number] for number in found) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--seconds", type=float, default=3.0, metavar="S", help="how long all publish")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where runs are kept")
    parser.add_argument("--warm", action="store_true", help="analyse it twice")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="cbn-bench-verdict-"))
    try:
        path = carry_out(folder, options.seconds)
        for _ in range(1 + options.warm):
            print("| | s | processor s | jobs |\n|---|---:|---:|---:|")
            stopwatch = Stopwatch()
            verdict = analyze(path, progress=stopwatch)
            stopwatch.end()
            print(
                f"{verdict['captures']['packets']:,} packets, {verdict['publications']:,} publications, "
                f"{verdict['delivered']:,} deliveries: {verdict['verdict']}"
            )
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

"""Runs the scenarios one after the other and reads what they leave.

Each run is a process `cbn run`, as a person would start it: what a run takes
of this process, its memory and its Java, must not be there for the next.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.experiments.emulated.rows import Measured, Row
from testbed.experiments.emulated.sweep import Case, Cases
from testbed.experiments.kind import DisagreementError
from testbed.experiments.machine import machine
from testbed.experiments.results import finished

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress

TIMEOUT_S = 600


def measure(experiment: Experiment, seed: int, shown: Progress) -> Measured:
    """Run all of it.

    Raises:
        DisagreementError: A run failed.
    """
    started, measured_on = time.monotonic(), machine()
    sweep: Cases = experiment.sweep
    rows: list[Row] = []
    shown.phase(experiment.name, len(sweep.cases))
    for done, case in enumerate(sweep.cases, 1):
        with tempfile.TemporaryDirectory(prefix="cbn-reproduce-") as folder:
            rows += _run(case, seed, Path(folder) / "run")
        shown.advance(done)
    return finished(experiment, seed, started, measured_on, rows)


def _run(case: Case, seed: int, folder: Path) -> Iterator[Row]:
    settings = [part for key, value in case.settings for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "testbed.cli", "run", case.scenario, *settings]
    command += ["--world", case.world, "--seed", str(seed), "--out", str(folder), "--analyze", "--quiet"]
    began = time.monotonic()
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    if ended.returncode not in (0, 1):  # 1: the verdict finds fault; the page says so
        raise DisagreementError(f"{case}: the run failed ({ended.returncode}): {ended.stderr.strip()}")
    return rows_of(case, folder, round(time.monotonic() - began, 1))


def rows_of(case: Case, folder: Path, seconds: float) -> Iterator[Row]:
    """A row for each phase of an analysed run."""
    verdict, manifest = (
        json.loads((folder / f"{n}.json").read_text(encoding="utf-8")) for n in ("verdict", "manifest")
    )
    interfaces = json.loads((folder / "captures" / "index.json").read_text(encoding="utf-8"))["interfaces"]
    sizes = {i["node"]: 0 for i in interfaces}
    for interface in interfaces:
        sizes[interface["node"]] += 1
    received = {name: _received(folder, name) for name in sizes}
    took = {
        n["name"]: n["ran_ns"] for n in _nodes(manifest) if n["name"] in sizes and n["ran_ns"] is not None
    }
    busiest = max(took, key=lambda name: took[name], default="")
    for phase in verdict["phases"]:
        ends = _end_to_end(folder, phase)
        latency = phase["latency_ns"] or dict.fromkeys(("p50", "p90", "p99"), 0)
        yield Row(
            scenario=case.scenario,
            world=case.world,
            routers=len(sizes),
            interfaces=max(sizes.values()),
            phase=phase["name"],
            rate=round(phase["publications"] * 1e9 / (phase["until_ns"] - phase["from_ns"]), 1),
            **{key: phase[key] for key in ("publications", "expected", "delivered")},
            **{key: phase[key] for key in ("missing", "duplicate", "spurious")},
            **{f"{key}_us": round(latency[key] / 1000, 1) for key in ("p50", "p90", "p99")},
            end_to_end_p50_us=ends[0],
            end_to_end_p99_us=ends[1],
            hops=verdict["hops"]["mean"],
            digest=verdict["delivered_digest"],
            busiest=busiest,
            busiest_us=_each(took.get(busiest), received.get(busiest, 0)),
            busiest_messages=received.get(busiest, 0),
            all_us=_each(sum(took.values()) if took else None, verdict["publications"]),
            fidelity=(manifest["fidelity"] or {}).get("verdict", ""),
            seconds=seconds,
        )


def _nodes(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list((manifest["fidelity"] or {}).get("nodes", ()))


def _received(folder: Path, router: str) -> int:
    status = json.loads((folder / "logs" / f"{router}.status.json").read_text(encoding="utf-8"))
    return sum(int(interface["rx_messages"]) for interface in status["interfaces"])


def _each(took_ns: int | None, count: int) -> float | None:
    return None if took_ns is None or not count else round(took_ns / count / 1000, 1)


def _end_to_end(folder: Path, phase: Mapping[str, Any]) -> tuple[float, float]:
    """Median and 99th percentile, in microseconds, of what the clients say of messages of this phase."""
    latencies = []
    with (folder / "events.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            if '"event":"deliver"' not in line:
                continue
            event = json.loads(line)
            published_ns = event["time_ns"] - event["latency_ns"]
            if phase["from_ns"] <= published_ns < phase["until_ns"]:
                latencies.append(event["latency_ns"] / 1000)
    latencies.sort()
    if not latencies:
        return 0.0, 0.0
    return round(latencies[len(latencies) // 2], 1), round(latencies[len(latencies) * 99 // 100], 1)

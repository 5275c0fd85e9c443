"""Runs all that scenarios' matrices ask for by `cbn run`, and reads what the runs leave.

What runs and analyses them is that command, in a process of its own: what a run takes
of a process, its memory and its Java, is not there for the next experiment.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.experiments import kind
from testbed.experiments.kind import DisagreementError
from testbed.plan.problems import Key
from testbed.plan.recorded import MANIFEST, VERDICT
from testbed.plan.source import Source
from testbed.runs.world import Progress
from topologies.library import scenario_names

RUN_WORKED = (0, 1)
"""Exit codes of `cbn run`; 1: the verdict is not clean; the page shows it."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """All runs of a scenario's matrix, or those with the values of `only`."""

    name: str
    only: tuple[str, ...] = ()
    """As `--only` takes them."""


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """Which scenarios are run, in order."""

    world: str
    scenarios: tuple[Scenario, ...]

    @classmethod
    def check(cls, source: Source, key: Key, data: Mapping[str, Any]) -> None:
        """Complain of scenarios that do not come with the testbed."""
        known = scenario_names()
        for at, scenario in enumerate(data["scenarios"]):
            if scenario["name"] not in known:
                expected = f"one of {', '.join(known)}"
                source.complain(
                    (*key, "scenarios", at, "name"), f"no scenario {scenario['name']!r}", expected
                )


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a phase of a run. What is of the whole run stands in each of its rows."""

    scenario: str
    world: str
    routers: int
    interfaces: int
    """Of the router with the most."""
    phase: str
    rate: float
    """Messages published a second."""
    publications: int
    owed: int
    delivered: int
    missing: int
    duplicate: int
    spurious: int
    p50_us: float
    """Of the latency, from first sight at the publisher's router to last sight at the subscriber's."""
    end_to_end_p50_us: float
    """From client to client over both access links, by the clients' own account."""
    end_to_end_p99_us: float
    p90_us: float
    p99_us: float
    hops: float
    """Routers on the way, mean, of the whole run."""
    digest: str
    """Of the run's deliveries: which message to which client."""
    busiest: str
    """The router that took the most of a processor, of the whole run; empty where that is not known."""
    busiest_us: float | None
    """What it took for each message that came to it."""
    busiest_messages: int
    """That came to it."""
    all_us: float | None
    """What all routers took together for each message published."""
    fidelity: str
    seconds: float
    """Of the whole run, without its analysis."""

    @property
    def run(self) -> tuple[str, int]:
        """Which run."""
        return self.scenario, self.routers

    @property
    def wrong(self) -> int:
        """Deliveries that are not as they should be."""
        return self.missing + self.duplicate + self.spurious


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Run all of it.

    Raises:
        DisagreementError: A run failed.
    """
    for scenario in sweep.scenarios:
        shown.phase(f"the runs of {scenario.name}")
        with tempfile.TemporaryDirectory(prefix="cbn-reproduce-") as folder:
            for run in _run(scenario, sweep.world, seed, Path(folder) / "runs"):
                yield from rows_of(scenario.name, sweep.world, run)


def _run(scenario: Scenario, world: str, seed: int, folder: Path) -> list[Path]:
    """Run a matrix; the directories of its runs, in order."""
    command = [sys.executable, "-m", "testbed.cli", "run", scenario.name, "--world", world]
    command += ["--seed", str(seed), "--out", str(folder), "--analyze", "--quiet"]
    command += [part for values in scenario.only for part in ("--only", values)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode not in RUN_WORKED:
        raise DisagreementError(
            f"{scenario.name}: cbn run failed ({ended.returncode}): {ended.stderr.strip()}"
        )
    return [folder / row["cell"] for row in _json(folder / "table.json")["rows"]]


def rows_of(scenario: str, world: str, folder: Path) -> Iterator[Row]:
    """A row for each phase of an analysed run."""
    verdict, manifest = _json(folder / VERDICT), _json(folder / MANIFEST)
    interfaces = _json(folder / "captures" / "index.json")["interfaces"]
    sizes = Counter(interface["node"] for interface in interfaces)
    received = {name: _received(folder, name) for name in sizes}
    fidelity = manifest["fidelity"] or {}
    took = {
        node["name"]: node["ran_ns"]
        for node in fidelity.get("nodes", ())
        if node["name"] in sizes and node["ran_ns"] is not None
    }
    busiest = max(took, key=lambda name: took[name], default="")
    for phase in verdict["phases"]:
        ends = _end_to_end(folder, phase)
        latency = phase["latency_ns"] or dict.fromkeys(("p50", "p90", "p99"), 0)
        yield Row(
            scenario=scenario,
            world=world,
            routers=len(sizes),
            interfaces=max(sizes.values()),
            phase=phase["name"],
            rate=round(phase["publications"] * 1e9 / (phase["until_ns"] - phase["from_ns"]), 1),
            **{key: phase[key] for key in ("publications", "owed", "delivered")},
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
            fidelity=fidelity.get("verdict", ""),
            seconds=round(manifest["wall_s"], 1),
        )


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def _received(folder: Path, router: str) -> int:
    status = _json(folder / "logs" / f"{router}.status.json")
    return sum(int(interface["rx_messages"]) for interface in status["interfaces"])


def _each(took_ns: int | None, count: int) -> float | None:
    return None if took_ns is None or not count else round(took_ns / count / 1000, 1)


def _end_to_end(folder: Path, phase: Mapping[str, Any]) -> tuple[float, float]:
    """Median and 99th percentile, in microseconds, as the clients report those of messages of this phase."""
    with (folder / "events.jsonl").open(encoding="utf-8") as lines:
        deliveries = [json.loads(line) for line in lines if '"event":"deliver"' in line]
    latencies = sorted(
        event["latency_ns"] / 1000
        for event in deliveries
        if phase["from_ns"] <= event["time_ns"] - event["latency_ns"] < phase["until_ns"]
    )
    if not latencies:
        return 0.0, 0.0
    return round(latencies[len(latencies) // 2], 1), round(latencies[len(latencies) * 99 // 100], 1)

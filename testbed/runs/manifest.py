"""`manifest.json`: who, what, when, with which versions, and how it ended."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path

from nodes import compiled
from testbed.plan.model import Plan
from testbed.plan.recorded import FORMAT
from testbed.runs.world import Outcome

PACKAGES = (
    "cbn-testbed",
    "cython",
    "jsonschema",
    "mininet",
    "mypy",
    "networkx",
    "pyarrow",
    "pyspark",
    "rich",
    "ruamel.yaml",
    "scapy",
)
"""The packages that a run or its analysis may depend on."""

ROOT = Path(__file__).resolve().parents[2]
_GIT_TIMEOUT_S = 10.0


def manifest(plan: Plan, run_id: str, world: str, outcome: Outcome) -> dict[str, object]:
    """The manifest of a run that ended so."""
    return {
        "format": FORMAT,
        "run_id": run_id,
        "world": world,
        **about_plan(plan),
        "outcome": outcome.outcome,
        "message": outcome.message,
        "start_ns": outcome.start_ns,
        "end_ns": outcome.end_ns,
        "phases": dict(outcome.phases),
        "kernel": platform.release(),
        "machines": {name: asdict(record) for name, record in outcome.machines.items()},
        "machine": {"cores": os.cpu_count(), "memory_bytes": memory_bytes()},
        "versions": versions(),
        "implementation": {"control_plane": compiled.form, **outcome.implementation},
        "convergence": [asdict(entry) for entry in outcome.convergence],
        "captures": {"frames": outcome.captured_frames, "drops": outcome.capture_drops},
        "dilate": outcome.dilate,
        "live": outcome.live,
        "fidelity": outcome.fidelity.to_json() if outcome.fidelity is not None else None,
    }


def about_plan(plan: Plan) -> dict[str, object]:
    """What a manifest has of the plan."""
    return {
        "scenario": plan.name,
        "description": plan.description,
        "scenario_path": plan.scenario_path,
        "scenario_sha256": plan.scenario_sha256,
        "seed": plan.seed,
        "scheme": plan.scheme,
        "overrides": dict(plan.overrides),
    }


def versions() -> dict[str, str | None]:
    """The version of everything that may matter; None for what is not installed."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str | None]:
    """Found out once: a process goes on with what it has loaded, and a worker of a sweep makes many runs."""
    found: dict[str, str | None] = {name: _version(name) for name in PACKAGES}
    return {**found, "python": platform.python_version(), "git": git_revision(ROOT)}


def memory_bytes() -> int:
    """The machine's main memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def git_revision(root: Path) -> str | None:
    """The revision of the source tree, with `-dirty` if it was changed; None if it is not known."""
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

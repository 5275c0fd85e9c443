"""Bringing the files of a run home from the machines, and making one run directory of them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from testbed.cluster.agents import Agent
from testbed.cluster.hosts import Machine
from testbed.cluster.placement import Placement
from testbed.cluster.protocol import RUNS
from testbed.cluster.ssh import KEEP_ALIVE, as_root, ssh_command
from testbed.live.fabric import NetworkError
from testbed.plan.model import Plan
from testbed.runs.captures import Captured, write_capture_index
from testbed.runs.directory import RunDirectory

FETCH_TIMEOUT_S = 600.0
DECODED = "decoded"
"""The folder of captures that machines have made tables of (`analysis.decoded`)."""
MACHINES = "machines"
"""The folder of a run directory that has a folder for each machine, with what belongs to no node."""


def collect(agents: Iterable[Agent], directory: RunDirectory, placement: Placement) -> list[str]:
    """Fetch the files of all machines at the same time; what went wrong, for people.

    What nodes have written goes where it is in every run; the rest stays in `machines/`.
    """
    with ThreadPoolExecutor() as pool:
        said = pool.map(lambda agent: _collect(agent, directory), agents)
        problems = [problem for problem in said if problem]
    for machine in placement.machines:
        for name in ("captures", "config", "logs"):
            _spread(directory.path / MACHINES / machine / name, directory.path / name, placement, machine)
        decoded = directory.path / MACHINES / machine / "captures" / DECODED
        if decoded.is_dir():
            (directory.captures / DECODED).mkdir(parents=True, exist_ok=True)
            shutil.move(decoded, directory.captures / DECODED / machine)
    return problems


def write_index(
    plan: Plan,
    directory: RunDirectory,
    start_ns: int,
    captured: Mapping[str, Mapping[str, Any]],
    decoded: Mapping[str, str] | None = None,
) -> tuple[int, int]:
    """Write the captures' index; how many frames were captured, and how many went by.

    Args:
        plan: of the run.
        directory: where the index goes.
        start_ns: time zero of the scenario.
        captured: figures by interface.
        decoded: by node, the machine that has decoded what the node's interfaces saw; clients' are not.
    """
    of = {i.name: (decoded or {}).get(node.name, "") for node in plan.routers for i in node.interfaces}
    found = {
        name: Captured(
            row["packets"],
            row["bytes"],
            row["kernel_drops"] + row["write_errors"],
            row["files"],
            of.get(name, ""),
        )
        for name, row in captured.items()
    }
    write_capture_index(plan, directory, start_ns, found)
    return sum(each.packets for each in found.values()), sum(each.drops for each in found.values())


def fetch(machine: Machine, run_id: str, to: Path) -> None:
    """Bring the run's files on a machine home, into this folder.

    Raises:
        NetworkError: they could not be had whole.
    """
    to.mkdir(parents=True, exist_ok=True)
    packed = as_root(["tar", "--create", "--gzip", "--directory", str(RUNS / run_id), "."])
    unpack = ["tar", "--extract", "--gzip", "--no-same-owner", "--directory", str(to)]
    command = ssh_command(machine, packed, KEEP_ALIVE)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as far:
        near = subprocess.run(unpack, stdin=far.stdout, check=False, timeout=FETCH_TIMEOUT_S)
    if far.returncode or near.returncode:
        raise NetworkError(f"the files of {machine.name} could not be fetched: {RUNS / run_id} there")


def _collect(agent: Agent, directory: RunDirectory) -> str:
    try:
        fetch(agent.machine, directory.run_id, directory.path / MACHINES / agent.machine.name)
    except NetworkError as error:
        return str(error)
    return ""


def _spread(source: Path, target: Path, placement: Placement, machine: str) -> None:
    """Move the files of a machine's nodes, which are called `NODE.*`, or `NODE-eth*` after an interface."""
    own = set(placement.nodes_on(machine))
    for path in sorted(source.iterdir()) if source.is_dir() else []:
        stem = path.name.partition(".")[0]
        if stem in own or stem.rpartition("-eth")[0] in own:
            target.mkdir(exist_ok=True)
            shutil.move(path, target / path.name)

"""How tests run scenarios on machines, and what they look at there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.cluster.conftest import MACHINES, PATIENCE_S, ROOT, Cluster

NODE = "pgrep -u cbn -f 'python -m node[s] '"
"""Finds node processes on a machine."""


def command(cluster: Cluster, *arguments: object, world: str = "cluster") -> list[str]:
    hosts = ["--hosts", str(cluster.hosts_file)] if world == "cluster" else []
    start = [sys.executable, "-m", "testbed.cli", "run"]
    return [*start, *map(str, arguments), "--world", world, *hosts, "--quiet"]


def run(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "100"}
    return subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )


def state(cluster: Cluster, machine: str) -> str:
    """What a run could leave on a machine: processes, namespaces, ports, mounts, files.

    Not that names in /run/netns are shared: the first network on a machine arranges it for good, as
    `ip netns` does.
    """
    return cluster.on(
        machine,
        "ps -eo comm= | grep -v -e ps -e sort -e grep -e uniq -e sh -e sudo -e systemd | sort | uniq -c;"
        "sudo ip netns; sudo ss -lunH; findmnt -rno TARGET | grep -v '^/run/netns$' | sort; ip -br link;"
        "sudo find /run/cbn-testbed /var/lib/cbn/runs -mindepth 1 2>/dev/null || true",
    )


def idle(cluster: Cluster, machine: str) -> bool:
    return "testbed.cluster.agent" not in cluster.on(machine, "ps -eo args=")


def await_idle(cluster: Cluster) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not all(idle(cluster, machine) for machine in MACHINES):
        assert time.monotonic() < deadline, "an agent outlives its controller"
        time.sleep(0.2)


def controller(cluster: Cluster, ring: Path, out: Path, *words: str) -> subprocess.Popen[str]:
    """`cbn run` that goes on while the test does something to it; r1 is on m1, and so on."""
    put = [word for n in "123" for word in ("--put", f"r{n}=m{n}")]
    return subprocess.Popen(
        command(cluster, ring, *put, "--out", out, *words),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def await_on(cluster: Cluster, machine: str, call: str, during: subprocess.Popen[str] | None = None) -> str:
    """What a call on a machine prints, once it prints something; while a run goes on, if one is named."""
    deadline = time.monotonic() + PATIENCE_S
    while not (told := cluster.on(machine, f"{call} || true")):
        assert during is None or during.poll() is None, during.communicate()[0]
        assert time.monotonic() < deadline, f"{call} on {machine} prints nothing"
    return told

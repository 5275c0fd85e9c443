"""A network on several machines that is left running: people look at it and change it, as in `emu`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import MACHINES, PATIENCE_S, ROOT, Cbn, Cluster
from tests.cluster.running import await_idle, state

pytestmark = pytest.mark.cluster


@pytest.fixture
def network(provisioned: Cluster, cbn: Cbn) -> Iterator[str]:
    """The id of a network of quickstart on three machines."""
    name = f"hands-{os.getpid()}"
    hosts = ["--hosts", provisioned.hosts_file, "--put", "r1=m1", "--put", "r3=m3"]
    done = cbn("up", "quickstart", "--world", "cluster", *hosts, "--name", name, "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    yield json.loads(done.stdout)["run_id"]
    cbn("down", name, "--no-judge", "--quiet")
    await_idle(provisioned)


def test_people_work_on_a_network_of_three_machines(
    provisioned: Cluster, cbn: Cbn, network: str, tmp_path: Path
) -> None:
    assert any(row["run_id"] == network and row["state"] == "running" for row in rows(cbn))
    inside = cbn("attach", "--run", network, "r1", "--", "sh", "-c", "echo $CBN_NAME; ip -br address; exit 7")
    assert inside.returncode == 7
    assert inside.stdout.startswith("r1\n")
    assert "r1-eth0" in inside.stdout
    assert cbn("link", "--run", network, "r1-r2", "delay", "30ms").returncode == 0
    shown = cbn("link", "--run", network, "--json")
    [changed] = [link for link in json.loads(shown.stdout) if link["there"]]
    assert (changed["name"], changed["there"]) == ("r1--r2", {"delay": "30ms"})
    assert json.loads(cbn("node", "--run", network, "r3", "status").stdout)["core"]
    log = cbn("node", "--run", network, "r3", "log")
    assert log.returncode == 0, log.stderr
    assert [json.loads(line)["node"] for line in log.stdout.splitlines()][:1] == ["r3"], log.stdout[:400]
    watching = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "testbed.cli",
            "sub",
            "--run",
            network,
            "frank",
            "n any integer",
            "--count",
            "1",
        ],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with watching:
        assert watching.stderr is not None
        while "knows of it" not in watching.stderr.readline():
            assert watching.poll() is None
        assert cbn("pub", "--run", network, "ana", "n = 4").returncode == 0
        said, _ = watching.communicate(timeout=PATIENCE_S)
    assert "ana/1" in said
    ended = cbn("down", network, "--quiet", "--json")
    assert ended.returncode == 0, ended.stderr
    [entry] = json.loads(ended.stdout)["ended"]
    assert (entry["verdict"]["missing"], entry["verdict"]["spurious"]) == (0, 0)


def test_a_node_that_dies_by_itself_is_a_crash_that_can_be_repaired(
    provisioned: Cluster, cbn: Cbn, network: str
) -> None:
    provisioned.on("m3", "sudo pkill -9 -x r3")
    await_state(cbn, network, "crashed")
    assert cbn("node", "--run", network, "r3", "start").returncode == 0
    await_state(cbn, network, "running")
    ended = cbn("down", network, "--quiet")
    assert "m3: node r3 was killed by SIGKILL" in ended.stdout


def test_a_network_that_is_ended_leaves_the_machines_as_they_were(
    provisioned: Cluster, cbn: Cbn, request: pytest.FixtureRequest
) -> None:
    before = {machine: state(provisioned, machine) for machine in MACHINES}
    name = request.getfixturevalue("network")
    shell = subprocess.Popen(
        [sys.executable, "-m", "testbed.cli", "attach", "--run", name, "r1", "--", "sleep", "600"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
    )
    with shell:
        while not provisioned.on("m1", "pgrep -x sleep || true"):
            assert shell.poll() is None
        assert cbn("down", name, "--quiet").returncode == 0
        assert shell.wait(PATIENCE_S) != 0, "who is attached is hung up on"
    await_idle(provisioned)
    assert {machine: state(provisioned, machine) for machine in MACHINES} == before


def rows(cbn: Cbn) -> list[dict[str, object]]:
    return list(json.loads(cbn("ps", "--json").stdout)["runs"])


def await_state(cbn: Cbn, network: str, wanted: str) -> None:
    """Until r3 is as wanted."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := cbn("top", "--run", network, "--once", "--json")).returncode == 0:
        [state_of_r3] = [row["state"] for row in json.loads(found.stdout)["nodes"] if row["name"] == "r3"]
        if state_of_r3 == wanted:
            return
        assert time.monotonic() < deadline, f"r3 is {state_of_r3}"
    raise AssertionError(found.stderr)

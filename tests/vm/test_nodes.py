"""`CBN_NODES=2 vagrant up node1 node2` makes a cluster that `--hosts vagrant` finds: `make test-vm-nodes`.

The tests are stages with the same machines, in the order in which they stand here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.vagrant import ROOT, machines_left, stage, vagrant

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1750)]
NODES = ("node1", "node2")
SETTINGS = {"CBN_NODES": "2"}


@pytest.fixture(scope="module")
def nodes() -> Iterator[None]:
    """Two machines, provisioned; taken away at the end, if a test has not done so."""
    with stage("CBN_NODES=2 vagrant up node1 node2"):
        done = vagrant("up", *NODES, **SETTINGS)
    try:
        assert done.returncode == 0, done.stdout[-4000:]
        for node in NODES:
            assert re.search(rf"{node} +: ok=\d+ +changed=[1-9]\d* .*failed=0", done.stdout), done.stdout[
                -4000:
            ]
        yield
    finally:
        vagrant("destroy", "--force", **SETTINGS)


def cbn(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "testbed.cli", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        timeout=600,
    )


@pytest.mark.usefixtures("nodes")
def test_a_scenario_runs_on_the_machines_that_vagrant_has_made(tmp_path: Path) -> None:
    hosts = ("--world", "cluster", "--hosts", "vagrant")
    with stage("cbn run quickstart --world cluster --hosts vagrant"):
        done = cbn(tmp_path, "run", "quickstart", *hosts, "--quiet", "--out", "out")
    assert done.returncode == 0, done.stdout
    assert "All 582 owed deliveries arrived, each once." in done.stdout
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert set(manifest["machines"]) == set(NODES)
    assert manifest["world"] == "cluster"


@pytest.mark.usefixtures("nodes")
def test_links_of_a_cluster_are_made_by_netem_where_the_kernel_has_it(tmp_path: Path) -> None:
    """Those inside a machine; a link between two machines is a UDP tunnel, which delays by itself."""
    delayed = ("--set", "topology.link_defaults.delay=5ms", "--quiet", "--out", "out")
    with stage("cbn run quickstart with links of 5 ms"):
        done = cbn(tmp_path, "run", "quickstart", "--world", "cluster", "--hosts", "vagrant", *delayed)
    assert done.returncode == 0, done.stdout
    assert "All 582 owed deliveries arrived, each once." in done.stdout
    implementation = json.loads((tmp_path / "out" / "manifest.json").read_text())["implementation"]
    assert "netem" in implementation["links"]


@pytest.mark.usefixtures("nodes")
def test_provisioning_them_again_changes_nothing() -> None:
    with stage("vagrant provision node1 node2, again"):
        done = vagrant("provision", *NODES, **SETTINGS)
    for node in NODES:
        assert re.search(rf"{node} +: ok=\d+ +changed=0 .*failed=0", done.stdout), done.stdout[-4000:]


@pytest.mark.usefixtures("nodes")
def test_a_machine_that_is_destroyed_is_one_of_the_cluster_no_more(tmp_path: Path) -> None:
    assert vagrant("destroy", "--force", "node2", **SETTINGS).returncode == 0
    shown = cbn(tmp_path, "render", "single-router", "--hosts", "vagrant")
    assert "node1" in shown.stdout
    assert "node2" not in shown.stdout
    assert vagrant("destroy", "--force", "node1", **SETTINGS).returncode == 0
    refused = cbn(tmp_path, "render", "single-router", "--hosts", "vagrant")
    assert refused.returncode != 0
    assert "Vagrant has no nodes here" in refused.stdout
    assert machines_left() == []

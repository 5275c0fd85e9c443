"""The Spark cluster that `playbooks/spark.yml` makes: it analyses a cluster's run, and spreads a sweep."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.pipeline import analyze
from testbed.cluster.hosts import read_hosts
from testbed.cluster.ssh import ssh_command
from tests.cluster.conftest import ROOT, Cluster, Played

# Half a gigabyte of Spark is installed on machines that share two processors with other tests.
pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.timeout(390)]

SHARED = "/srv/cbn"
SWEEP = """\
name: sweep
matrix: {seed: [1, 2], scheme: [pif, cbcb]}
scheme: pif
topology: {routers: [r1, r2], links: [r1 - r2]}
clients:
  alice: {at: r1, publish: [{message: {n: {uniform: [0, 9]}}, every: 20ms, count: 30, from: 0s}]}
  bob: {at: r2, subscribe: [n < 5]}
"""
ONE_PLACE = ("run_id", "wall_s", "scenario_path", "plan_sha256", "versions")
"""What differs between two runs of the same cell in two places, in manifest and plan."""


def play(cluster: Cluster, *options: str) -> Played:
    size = ("-e", "spark_cores=1", "-e", "spark_memory_mib=1024")
    return cluster.play("--limit", "m1,m2", *size, *options, playbook="spark.yml")


@pytest.fixture(scope="module")
def spark_cluster(provisioned: Cluster) -> Cluster:
    """A master on m1, workers on m1 and m2."""
    played = play(provisioned)
    assert played.code == 0, played.text
    print(f"Spark installed in {played.took_s:.1f} s")  # shown by pytest -rP
    return provisioned


def cbn(folder: Path, *arguments: object) -> None:
    command = [sys.executable, "-m", "testbed.cli", *map(str, arguments), "--quiet"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr


def on_master(cluster: Cluster, command: str, given: bytes = b"") -> bytes:
    call = ssh_command(read_hosts(cluster.hosts_file).machine("m1"), [command])
    done = subprocess.run(call, input=given, capture_output=True, check=False, timeout=600)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return done.stdout


def send(cluster: Cluster, path: Path) -> None:
    packed = subprocess.run(["tar", "-c", "-C", path.parent, path.name], check=True, capture_output=True)
    on_master(cluster, f"sudo -u cbn-spark tar -x -C {SHARED}", packed.stdout)


def fetch(cluster: Cluster, name: str, to: Path) -> Path:
    packed = on_master(cluster, f"sudo tar -c -C {SHARED} {name}")
    to.mkdir()
    subprocess.run(["tar", "-x", "--no-same-owner", "-C", to], input=packed, check=True)
    return to / name


def rows(directory: Path) -> dict[str, list[str]]:
    """Of each table, in an order of their own."""
    return {
        table.name: sorted(map(repr, pq.read_table(table).to_pylist()))
        for table in (directory / "tables").iterdir()
    }


def files(directory: Path) -> dict[str, bytes]:
    """Of all runs of a sweep, without what names one place."""
    found = {}
    for path in sorted(p for p in directory.rglob("*") if p.is_file() and p.parent != directory):
        found[str(path.relative_to(directory))] = path.read_bytes()
        if path.name in {"manifest.json", "plan.json"}:
            document = json.loads(path.read_text())
            kept = {key: value for key, value in document.items() if key not in ONE_PLACE}
            found[str(path.relative_to(directory))] = json.dumps(kept).encode()
    return found


def test_a_second_play_changes_nothing_and_strangers_are_refused(spark_cluster: Cluster) -> None:
    again = play(spark_cluster)
    assert again.code == 0, again.text
    assert again.changed == {"m1": 0, "m2": 0}
    assert spark_cluster.on("m2", "sudo stat -c '%a %U' /var/lib/cbn-spark/key") == "600 root"
    assert spark_cluster.on("m1", "sudo stat -c '%a %U' /var/lib/cbn-spark/secret") == "600 root"
    # Whoever does not know the secret gets no program run.
    python = "/opt/cbn-spark/current/environment/bin/python"
    program = "from pyspark import SparkContext; SparkContext('spark://10.77.0.1:7077', 'stranger')"
    call = (
        f"SPARK_CONF_DIR=/tmp timeout 20 {python} -c {shlex.quote(f'{program}; print(1, 2, 3)')} 2>&1 || true"
    )
    said = spark_cluster.on("m2", call)
    assert "Expected SaslMessage" in said
    assert "1 2 3" not in said


def test_the_captures_of_a_cluster_make_the_same_tables_on_its_own_spark(
    spark_cluster: Cluster, spark: object, tmp_path: Path
) -> None:
    hosts = ("--world", "cluster", "--hosts", spark_cluster.hosts_file)
    cbn(tmp_path, "run", "quickstart", *hosts, "--no-judge", "--out", "here")
    send(spark_cluster, tmp_path / "here")
    on_master(spark_cluster, f"sudo cbn-spark analyze {SHARED}/here --quiet")
    analyze(tmp_path / "here")
    there = fetch(spark_cluster, "here", tmp_path / "there")
    assert '"spark://' in (there / "logs" / "analysis.json").read_text()
    assert rows(there) == rows(tmp_path / "here")
    assert (there / "verdict.json").read_bytes() == (tmp_path / "here" / "verdict.json").read_bytes()
    secret = on_master(spark_cluster, "sudo cat /var/lib/cbn-spark/secret").decode().strip()
    assert secret not in (there / "logs" / "analysis.json").read_text()


def test_a_sweep_that_is_spread_over_the_machines_has_the_bytes_of_one_that_is_not(
    spark_cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    send(spark_cluster, tmp_path / "sweep.yaml")
    words = ["run", f"{SHARED}/sweep.yaml", "--world", "sim", "--out", f"{SHARED}/sweep", "--quiet"]
    on_master(spark_cluster, f'sudo sh -c "cbn-spark {shlex.join(words)} --on spark://10.77.0.1:7077"')
    cbn(tmp_path, "run", "sweep.yaml", "--world", "sim", "--jobs", "2", "--out", "here")
    there = fetch(spark_cluster, "sweep", tmp_path / "there")
    assert files(there) == files(tmp_path / "here")
    assert len(list(there.glob("*/manifest.json"))) == 4


def test_check_mode_says_what_would_be_changed_and_changes_nothing(provisioned: Cluster) -> None:
    state = "ls /opt /etc /var/lib /srv /usr/local/bin; getent passwd; ls /etc/systemd/system"
    before = provisioned.on("m3", state)
    played = provisioned.play("--check", "--limit", "m3", "-e", "spark_master=m3", playbook="spark.yml")
    assert played.code == 0, played.text
    assert played.changed["m3"] > 0
    assert provisioned.on("m3", state) == before

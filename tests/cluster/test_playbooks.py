"""The playbooks, on machines that have nothing: provisioned once, twice, and when something is wrong.

The tests of this file share the machines, in the order in which they stand here.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

import pytest

from tests.cluster.conftest import ROOT, Cluster

pytestmark = pytest.mark.cluster


def test_a_machine_that_is_too_small_is_refused_by_name_and_nothing_is_changed(cluster: Cluster) -> None:
    played = cluster.play("--limit", "m1", "-e", "base_memory_mib=9999999")
    assert played.code != 0
    assert "m1 is Debian 12" in played.text
    assert "needed: Debian 12 or newer with 9999999 MiB" in played.text
    assert played.changed == {"m1": 0}


def test_a_machine_of_another_distribution_is_refused_by_name_and_nothing_is_changed(
    cluster: Cluster,
) -> None:
    other = "NAME=Fedora\\nID=fedora\\nVERSION_ID=40\\n"
    cluster.on("m1", f"printf '{other}' > /tmp/other && sudo mount --bind /tmp/other /usr/lib/os-release")
    try:
        played = cluster.play("--limit", "m1")
    finally:
        cluster.on("m1", "sudo umount /usr/lib/os-release")
    assert played.code != 0
    assert "needed: Debian 12 or newer" in played.text
    assert played.changed == {"m1": 0}


def test_a_wrong_value_is_refused_with_its_name(cluster: Cluster) -> None:
    played = cluster.play("--limit", "m1", "-e", "base_memory_mib=lots")
    assert played.code != 0
    assert "base_memory_mib" in played.text
    assert played.changed == {"m1": 0}


def test_check_mode_says_what_would_be_changed_and_changes_nothing(cluster: Cluster) -> None:
    cluster.on("m2", "sudo rm -f /etc/systemd/system/cbn-agent@.service")  # others may have provisioned it
    state = "ls /opt /var/lib /etc/chrony/sources.d; getent passwd"
    before = cluster.on("m2", state)
    played = cluster.play("--check", "--limit", "m2")
    assert played.code == 0, played.text
    assert played.changed["m2"] > 0
    assert cluster.on("m2", state) == before


def test_machines_are_provisioned_and_a_second_time_nothing_changes(cluster: Cluster) -> None:
    # One of them was left half-provisioned.
    digest = hashlib.sha256((ROOT / "build" / "wheels.tar").read_bytes()).hexdigest()[:16]
    half = f"/opt/cbn/{digest}/environment/bin"
    cluster.on("m3", f"sudo mkdir -p {half} && sudo touch {half}/python3 {half}/cbn")
    first = cluster.play()
    assert first.code == 0, first.text
    again = cluster.play()
    assert again.code == 0, again.text
    assert again.changed == {"m1": 0, "m2": 0, "m3": 0}
    print(f"provisioned in {first.took_s:.1f} s, again in {again.took_s:.1f} s")  # shown by pytest -rP
    assert cluster.on("m3", "cbn --version").startswith("cbn ")


def test_a_provisioned_machine_has_what_nodes_need(cluster: Cluster) -> None:
    assert cluster.on("m1", "cbn --version").startswith("cbn ")
    account = cluster.on("m3", "getent passwd cbn")
    assert account.endswith(":/var/lib/cbn:/usr/sbin/nologin")
    assert cluster.on("m3", "sudo stat -c '%a %U' /var/lib/cbn") == "750 cbn"
    done = cluster.on("m2", "cd /tmp && sudo cbn run single-router --world emu --no-judge --quiet --out made")
    assert "complete" in done


def test_files_of_a_run_that_nobody_has_fetched_are_collected(provisioned: Cluster, tmp_path: Path) -> None:
    provisioned.on("m2", "sudo install -D /etc/hostname /var/lib/cbn/runs/lost-run/logs/r1.jsonl")
    played = provisioned.play("-e", f"collect_to={tmp_path}", playbook="collect.yml")
    assert played.code == 0, played.text
    [archive] = tmp_path.rglob("*.tar.gz")
    assert archive.relative_to(tmp_path) == Path("lost-run/m2.tar.gz")
    with tarfile.open(archive) as packed:
        assert "./logs/r1.jsonl" in packed.getnames()
    assert provisioned.on("m2", "sudo ls /var/lib/cbn/runs") == ""


def test_a_machine_that_does_not_answer_is_named(cluster: Cluster, tmp_path: Path) -> None:
    machines = json.loads(cluster.inventory.read_text())
    machines["cluster"]["hosts"]["m1"] |= {"ansible_host": "10.77.0.200", "ansible_control_path": "none"}
    path = tmp_path / "inventory.json"
    path.write_text(json.dumps(machines))
    played = Cluster(cluster.hosts_file, path).play("--limit", "m1")
    assert played.code != 0
    assert "10.77.0.200" in played.text
    assert "UNREACHABLE" in played.text

"""What goes wrong with runs is named, with the machine and the remedy, and nothing is left on machines."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cluster.conftest import MACHINES, PATIENCE_S, ROOT, Cluster, Metal
from tests.cluster.running import NODE, await_idle, await_on, command, controller, run, state

pytestmark = pytest.mark.cluster


def test_a_second_run_on_the_same_machines_is_told_which_has_them(
    provisioned: Cluster, ring: Path, tmp_path: Path
) -> None:
    ring.write_text(ring.read_text().replace("count: 600", "count: 12000"))
    put = [word for n in "123" for word in ("--put", f"r{n}=m{n}")]
    words = command(provisioned, ring, *put, "--out", tmp_path / "first")
    with subprocess.Popen(words, cwd=ROOT) as first:
        await_on(provisioned, "m1", "sudo ip netns")
        second = run(tmp_path, command(provisioned, "single-router", "--put", "r1=m1", "--out", "second"))
        first.send_signal(signal.SIGINT)
        assert second.returncode == 4
        assert re.search(
            r"m1: the machine is taken by another run: ring-cluster-\S+, since ..:..:.. UTC", second.stdout
        )
        assert first.wait(PATIENCE_S) == 130
    assert (tmp_path / "second" / "manifest.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_controller_that_ends_in_the_middle_leaves_nothing_that_runs(
    provisioned: Cluster, ring: Path, tmp_path: Path, number: signal.Signals
) -> None:
    before = {machine: state(provisioned, machine) for machine in MACHINES}
    with subprocess.Popen(command(provisioned, ring, "--out", tmp_path / "out"), cwd=ROOT) as controller:
        deadline = time.monotonic() + PATIENCE_S
        while not provisioned.on("m1", "sudo ip netns") and time.monotonic() < deadline:
            pass
        controller.send_signal(number)
        assert controller.wait(PATIENCE_S) == (130 if number is signal.SIGINT else -signal.SIGKILL)
    await_idle(provisioned)
    for machine in MACHINES:
        assert provisioned.on(machine, "sudo ip netns; sudo ls /run/cbn-testbed") == ""
    if number is signal.SIGKILL:
        again = run(tmp_path, command(provisioned, ring, "--out", "again"))
        assert again.returncode == 0, again.stderr + again.stdout
    assert {machine: state(provisioned, machine) for machine in MACHINES} == before


@pytest.mark.parametrize("phase", ["building the network", "stopping"])
def test_ctrl_c_leaves_nothing_whenever_it_comes(provisioned: Cluster, tmp_path: Path, phase: str) -> None:
    words = command(provisioned, "single-router", "--put", "r1=m1", "--out", tmp_path / "out", "--no-judge")
    words.remove("--quiet")
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True) as controller:
        assert controller.stderr is not None
        for line in controller.stderr:
            if phase in line:
                controller.send_signal(signal.SIGINT)
                break
        controller.communicate(timeout=PATIENCE_S)
    assert controller.returncode == 130 or phase == "stopping", "what is undone is undone whole"
    await_idle(provisioned)
    left = "sudo ip netns; sudo find /run/cbn-testbed /var/lib/cbn/runs -mindepth 1 2>/dev/null || true"
    assert provisioned.on("m1", left) == ""


def test_a_port_of_links_that_somebody_else_has_is_named(
    provisioned: Cluster, ring: Path, tmp_path: Path
) -> None:
    program = (
        "import socket, time; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 20001)); time.sleep(60)"
    )
    provisioned.on("m3", f'sudo systemd-run --quiet --unit somebody python3 -c "{program}"')
    await_on(provisioned, "m3", "sudo ss -lunH | grep :20001")
    put = [word for n in "123" for word in ("--put", f"r{n}=m{n}")]
    try:
        done = run(tmp_path, command(provisioned, ring, *put, "--out", "out"))
    finally:
        provisioned.on("m3", "sudo systemctl stop somebody")
    assert done.returncode == 4
    assert "m3: the wires cannot be made" in done.stdout
    assert "UDP port 20001: Address already in use" in done.stdout
    await_idle(provisioned)


def test_a_disk_that_fills_is_named_and_what_there_is_is_fetched(
    provisioned: Cluster, tmp_path: Path
) -> None:
    runs = "/var/lib/cbn/runs"
    provisioned.on("m2", f"sudo mkdir -p {runs}; sudo mount -t tmpfs -o size=200k none {runs}")
    try:
        done = run(tmp_path, command(provisioned, "quickstart", "--put", "r1=m1", "--out", "out"))
    finally:
        provisioned.on("m2", f"sudo umount {runs}")
    assert done.returncode == 4
    # What notices first differs: the agent, or a node that cannot write its log.
    assert re.search(
        f"m2: .*no room is left on the disk for the files of runs: make some in {runs}", done.stdout
    )
    assert {path.name for path in (tmp_path / "out" / "machines").iterdir()} == set(MACHINES)
    await_idle(provisioned)
    assert provisioned.on("m2", "sudo ip netns; sudo ls /run/cbn-testbed") == ""


def test_a_machine_on_which_one_may_not_become_root_is_named_with_the_remedy(
    provisioned: Cluster, tmp_path: Path
) -> None:
    provisioned.on(
        "m1",
        "sudo useradd -m plain && sudo cp -r .ssh ~plain/ && sudo chown -R plain: ~plain/.ssh",
    )
    try:
        hosts = provisioned.hosts_file.with_name("plain.yaml")  # keys are looked up from its folder
        text = json.loads(provisioned.hosts_file.read_text())
        hosts.write_text(json.dumps({**text, "user": "plain"}))
        words = ("single-router", "--put", "r1=m1", "--out", "out")
        done = run(tmp_path, command(Cluster(hosts, hosts), *words))
    finally:
        provisioned.on("m1", "sudo userdel -r plain 2>/dev/null")
    assert done.returncode == 4, done.stderr + done.stdout
    assert "the agent on m1" in done.stdout
    assert "let it use sudo without a password" in done.stdout


def test_all_machines_that_cannot_be_reached_are_named_with_the_remedy(
    provisioned: Cluster, ring: Path, tmp_path: Path
) -> None:
    folder = provisioned.hosts_file.parent  # keys are looked up from there
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", folder / "other-key"], check=True)
    document = json.loads(provisioned.hosts_file.read_text())
    document["machines"]["m1"]["key"] = "other-key"
    document["machines"]["m3"]["address"] = "10.77.0.200"
    hosts = folder / "partly-wrong.yaml"
    hosts.write_text(json.dumps(document))
    put = [word for n in "123" for word in ("--put", f"r{n}=m{n}")]
    done = run(tmp_path, command(Cluster(hosts, hosts), ring, *put, "--out", "out"))
    assert done.returncode == 4
    assert re.search(r"the agent on m1 .*the machine does not take the key", done.stdout)
    assert re.search(r"the agent on m3 \(10.77.0.200\) .*does not answer", done.stdout)
    assert "could not be fetched" not in done.stdout + done.stderr
    await_idle(provisioned)


def test_a_machine_that_is_not_provisioned_is_named_with_the_remedy(
    metal: Metal, lab_name: str, tmp_path: Path
) -> None:
    hosts = Path(json.loads(metal("up", 1, "--name", lab_name, "--json").stdout)["hosts"])
    done = run(tmp_path, command(Cluster(hosts, hosts), "single-router", "--out", "out"))
    assert done.returncode == 4
    assert "the agent on m1" in done.stdout
    assert "not provisioned: play playbooks/site.yml" in done.stdout


def test_a_machine_whose_agent_dies_in_the_middle_is_named(
    provisioned: Cluster, ring: Path, tmp_path: Path
) -> None:
    with controller(provisioned, ring, tmp_path / "out") as run:
        await_on(provisioned, "m3", NODE)
        provisioned.on("m3", "sudo systemd-run --quiet --no-block pkill -9 -f testbed.cluster.agen[t]")
        said, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 4
    assert "m3 is cut off: the agent on m3" in said
    assert "status=9/KILL" in said
    await_idle(provisioned)
    decoded = (tmp_path / "out" / "captures" / "decoded").glob("*/part-*.parquet")
    assert {path.parent.name for path in decoded} == {"m1", "m2"}, (
        "what the other machines captured is fetched"
    )

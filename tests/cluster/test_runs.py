"""Runs in the world `cluster`: as in the other worlds, and nothing is left on the machines."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import ROOT, Cluster, Metal

pytestmark = pytest.mark.cluster

MACHINES = ("m1", "m2", "m3")
RING = """\
name: ring
scheme: cbcb
timing: {settle: 500ms}
topology:
  routers: [r1, r2, r3]
  links: [r1 - r2, r2 - r3, r3 - r1]
  link_defaults: {delay: 5ms}
clients:
  alice: {at: r1, publish: [{message: {n: {uniform: [0, 99]}}, every: 10ms, count: 600, from: 0s}]}
  bob: {at: r2, subscribe: [n < 50]}
  carol: {at: r3, subscribe: [n >= 50]}
faults:
  - {at: 500ms, link_down: r1 - r2}
  - {at: 1s, crash: r3}
  - {at: 1500ms, start: r3}
  - {at: 2s, link_up: r1 - r2}
expect: [missing == 0 after recovery, owed > 10 after recovery, duplicate == 0, spurious == 0]
"""
MATRIX = """\
name: schemes
matrix: {scheme: [pif, cbcb]}
topology:
  routers: [r1, r2, r3]
  links: [r1 - r2, r2 - r3]
clients:
  alice: {at: r1, publish: [{message: {n: {uniform: [0, 99]}}, every: 10ms, count: 50, from: 0s}]}
  bob: {at: r3, subscribe: [n < 50]}
"""

LINE = """\
name: line
topology: {routers: [r1, r2, r3], links: [r1 - r2, r2 - r3], link_defaults: {delay: 10ms}}
clients:
  alice: {at: r1, publish: [{message: {n: 1}, every: 20ms, count: 49, from: 0s}]}
  bob: {at: r3, subscribe: [n = 1]}
background: [{from: r1, to: r2, rate: 900kbit, at: 0s, for: 1s}]
"""


def command(cluster: Cluster, *arguments: object, world: str = "cluster") -> list[str]:
    hosts = ["--hosts", str(cluster.hosts_file)] if world == "cluster" else []
    start = [sys.executable, "-m", "testbed.cli", "run"]
    return [*start, *map(str, arguments), "--world", world, *hosts, "--quiet"]


def run(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "100"}
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def deliveries(directory: Path) -> Counter[tuple[Any, ...]]:
    events = map(json.loads, (directory / "events.jsonl").read_text().splitlines())
    return Counter((e["source"], e["sequence"], e["node"]) for e in events if e["event"] == "deliver")


def state(cluster: Cluster, machine: str) -> str:
    """What a run could leave on a machine: processes, namespaces, ports, mounts, files."""
    return cluster.on(
        machine,
        "ps -eo comm= | grep -v -e ps -e sort -e grep -e uniq -e sh -e sudo -e systemd | sort | uniq -c;"
        "sudo ip netns; sudo ss -lunH; findmnt -rno TARGET | sort; ip -br link;"
        "sudo find /run/cbn-testbed /var/lib/cbn/runs -mindepth 1 2>/dev/null || true",
    )


def idle(cluster: Cluster, machine: str) -> bool:
    return "testbed.cluster.agent" not in cluster.on(machine, "ps -eo args=")


def await_idle(cluster: Cluster) -> None:
    deadline = time.monotonic() + 15
    while not all(idle(cluster, machine) for machine in MACHINES):
        assert time.monotonic() < deadline, "an agent outlives its controller"
        time.sleep(0.2)


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring.yaml"
    path.write_text(RING)
    return path


def test_quickstart_delivers_on_three_machines_what_it_does_in_the_simulator(
    provisioned: Cluster, tmp_path: Path
) -> None:
    before = {machine: state(provisioned, machine) for machine in MACHINES}
    done = run(tmp_path, command(provisioned, "quickstart", "--out", "three", "--json"))
    assert done.returncode == 0, done.stderr + done.stdout
    verdict = json.loads(done.stdout)["verdict"]
    assert (verdict["missing"], verdict["duplicate"], verdict["spurious"]) == (0, 0, 0)
    assert verdict["delivered"] > 500
    index = json.loads((tmp_path / "three" / "captures" / "index.json").read_text())
    assert {row["decoded"] for row in index["interfaces"]} == set(MACHINES)
    assert not list((tmp_path / "three").rglob("*.pcap"))
    manifest = json.loads((tmp_path / "three" / "manifest.json").read_text())
    fidelity, machines = manifest["fidelity"], manifest["machines"]
    assert fidelity["verdict"] in ("trusted", "degraded")
    assert fidelity["figures"]["measured_s"] > 1
    # 14 links, each way measured where frames enter it; all nodes of all machines.
    assert len(fidelity["links"]) == 28
    assert {row["measured"]["frames"] > 0 for row in fidelity["links"]} == {True}
    assert len(fidelity["nodes"]) == 14
    crossing = {row["link"] for row in fidelity["links"] if row["crossing_ns"]}
    place = {node: name for name, machine in machines.items() for node in machine["nodes"]}
    plan = json.loads((tmp_path / "three" / "plan.json").read_text())
    assert crossing == {link["name"] for link in plan["links"] if place[link["a"]] != place[link["b"]]}
    assert all(row["crossing_ns"] < 100_000_000 for row in fidelity["links"] if row["crossing_ns"])
    assert sum(len(machine["nodes"]) for machine in machines.values()) == 14
    for machine in machines.values():
        before_ns, after_ns = (each["answered_ns"] - each["asked_ns"] for each in machine["clock"])
        assert min(before_ns, after_ns) > 0
    simulated = run(tmp_path, command(provisioned, "quickstart", "--out", "sim", world="sim"))
    assert simulated.returncode == 0
    assert deliveries(tmp_path / "three") == deliveries(tmp_path / "sim")
    assert {machine: state(provisioned, machine) for machine in MACHINES} == before


def test_time_is_slowed_on_all_machines_and_other_traffic_is_sent_there(
    provisioned: Cluster, tmp_path: Path
) -> None:
    path = tmp_path / "line.yaml"
    path.write_text(LINE)
    put = [word for n in "123" for word in ("--put", f"r{n}=m{n}")]
    done = run(tmp_path, command(provisioned, path, *put, "--dilate", "3", "--out", "out"))
    assert done.returncode == 0, done.stderr + done.stdout
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["dilate"] == manifest["fidelity"]["dilate"] == 3
    told = [json.loads(line) for line in (tmp_path / "out" / "events.jsonl").read_text().splitlines()]
    published = {e["sequence"]: e["time_ns"] for e in told if e["event"] == "publish"}
    took_ns = [e["time_ns"] - published[e["sequence"]] for e in told if e["event"] == "deliver"]
    # Two links of 10 ms; clocks that were slowed in other ways on other machines would be far apart by now.
    assert 20_000_000 <= min(took_ns) < 30_000_000
    last_ns, first_ns = max(published.values()), min(published.values())
    assert 960_000_000 <= last_ns - first_ns < 1_500_000_000, "48 times 20 ms, in the run's time"
    index = json.loads((tmp_path / "out" / "captures" / "index.json").read_text())
    frames = {row["interface"]: row["frames"] for row in index["interfaces"]}
    # Beside the messages, 900 kbit/s for 1 s between these two alone.
    assert frames["r2-eth0"] > frames["r2-eth1"] + 40


def test_links_between_machines_and_nodes_fail_and_come_back_under_cbcb(
    provisioned: Cluster, ring: Path, tmp_path: Path
) -> None:
    words = ("--put", "r1=m1", "--put", "r2=m2", "--put", "r3=m3", "--captures", "home")
    done = run(tmp_path, command(provisioned, ring, *words, "--out", "out"))
    assert done.returncode == 0, done.stderr + done.stdout
    assert "holds: missing == 0 after recovery" in done.stdout
    events = [json.loads(line) for line in (tmp_path / "out" / "events.jsonl").read_text().splitlines()]
    assert Counter(e["event"] for e in events)["fault"] == 4
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["world"] == "cluster"
    assert manifest["implementation"]["machines"] == "m1 2, m2 2, m3 2"
    assert manifest["implementation"]["links"] == "wire 3, tunnel 3"
    index = json.loads((tmp_path / "out" / "captures" / "index.json").read_text())
    assert len(index["interfaces"]) == 9
    for row in index["interfaces"]:
        assert (tmp_path / "out" / "captures" / row["file"]).stat().st_size > 24
    assert sum(row["frames"] for row in index["interfaces"]) == manifest["captures"]["frames"]


def test_a_second_run_on_the_same_machines_is_told_which_has_them(
    provisioned: Cluster, ring: Path, tmp_path: Path
) -> None:
    with subprocess.Popen(command(provisioned, ring, "--out", tmp_path / "first"), cwd=ROOT) as first:
        deadline = time.monotonic() + 30
        while idle(provisioned, "m1") and time.monotonic() < deadline:
            pass
        second = run(tmp_path, command(provisioned, "single-router", "--put", "r1=m1", "--out", "second"))
        assert second.returncode == 4
        assert re.search(
            r"m1: the machine is taken by another run: ring-cluster-\S+, since ..:..:.. UTC", second.stdout
        )
        assert first.wait(60) == 0
    assert (tmp_path / "second" / "manifest.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_controller_that_ends_in_the_middle_leaves_nothing_that_runs(
    provisioned: Cluster, ring: Path, tmp_path: Path, number: signal.Signals
) -> None:
    before = {machine: state(provisioned, machine) for machine in MACHINES}
    with subprocess.Popen(command(provisioned, ring, "--out", tmp_path / "out"), cwd=ROOT) as controller:
        deadline = time.monotonic() + 30
        while not provisioned.on("m1", "sudo ip netns") and time.monotonic() < deadline:
            pass
        controller.send_signal(number)
        assert controller.wait(30) == (130 if number is signal.SIGINT else -signal.SIGKILL)
    await_idle(provisioned)
    for machine in MACHINES:
        assert provisioned.on(machine, "sudo ip netns; sudo ls /run/cbn-testbed") == ""
    if number is signal.SIGKILL:
        again = run(tmp_path, command(provisioned, ring, "--out", "again"))
        assert again.returncode == 0, again.stderr + again.stdout
    assert {machine: state(provisioned, machine) for machine in MACHINES} == before


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


def await_on(cluster: Cluster, machine: str, call: str) -> str:
    """What a call on a machine prints, once it prints something."""
    deadline = time.monotonic() + 30
    while not (told := cluster.on(machine, f"{call} || true")):
        assert time.monotonic() < deadline, f"{call} on {machine} prints nothing"
    return told


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
        controller.communicate(timeout=60)
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


NODE = "pgrep -u cbn -f 'python -m node[s] '"


def test_nodes_are_not_root_and_an_agent_outlives_a_connection(
    provisioned: Cluster, ring: Path, tmp_path: Path
) -> None:
    with controller(provisioned, ring, tmp_path / "out") as run:
        assert len(await_on(provisioned, "m2", NODE).split()) >= 1
        assert provisioned.on("m2", "pgrep -u root -f 'python -m node[s] ' || true") == ""
        capabilities = provisioned.on("m2", f"cat /proc/$({NODE} | head -1)/status | grep CapEff")
        assert int(capabilities.split()[1], 16) == 1 << 12, "CAP_NET_ADMIN alone"
        provisioned.on("m2", "sudo systemd-run --quiet --no-block pkill -9 -f testbed.cluster.rela[y]")
        said, _ = run.communicate(timeout=90)
    assert run.returncode == 0, said
    assert "the connection to m2 was lost for" in said
    assert "holds: missing == 0 after recovery" in said
    await_idle(provisioned)


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


def test_runs_of_a_matrix_follow_each_other_on_the_same_machines(
    provisioned: Cluster, tmp_path: Path
) -> None:
    path = tmp_path / "schemes.yaml"
    path.write_text(MATRIX)
    done = run(tmp_path, command(provisioned, path, "--out", "out", "--json"))
    assert done.returncode == 0, done.stderr + done.stdout
    rows = json.loads((tmp_path / "out" / "table.json").read_text())["rows"]
    assert [row["cell"] for row in rows] == ["scheme=pif", "scheme=cbcb"]
    for row in rows:
        assert row["counts"]["owed"] > 10
        assert row["counts"]["missing"] == 0
    at_once = run(tmp_path, command(provisioned, path, "--jobs", "2"))
    assert at_once.returncode == 2
    assert "one run at a time" in at_once.stderr


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
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 4
    assert "m3 is cut off: the agent on m3" in said
    assert "status=9/KILL" in said
    await_idle(provisioned)
    decoded = (tmp_path / "out" / "captures" / "decoded").glob("*/part-*.parquet")
    assert {path.parent.name for path in decoded} == {"m1", "m2"}, (
        "what the other machines captured is fetched"
    )

"""Runs in the world `cluster`: as in the other worlds, and nothing is left on the machines."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nodes.config_file import load_keys
from testbed.cluster.protocol import RUNS
from tests.attacks.played import REFUSED
from tests.cluster.conftest import MACHINES, PATIENCE_S, Cluster
from tests.cluster.running import NODE, await_idle, await_on, command, controller, run, state

pytestmark = pytest.mark.cluster

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
  eve: {at: r2, subscribe: [n > 0], publish: [{message: {n: 1}, every: 100ms, count: 5, from: 0s}]}
background: [{from: r1, to: r2, rate: 900kbit, at: 0s, for: 1s}]
security: {neighbours: required, messages: required, records: signed}
policy: {eve: {subscribe: n > 1, publish: none}}
faults: [{at: 300ms, rekey: [links, access]}, {at: 500ms, rekey: r1 - r2}]
"""
ATTACKED = """\
name: attacked
topology: {routers: [r1, r2, r3], links: [r1 - r2, r2 - r3], link_defaults: {delay: 2ms}}
timers: {hello_ms: 200, hold_ms: 1000}
clients:
  alice: {at: r1, publish: [{message: {n: {count: 1}}, every: 20ms, count: 150, from: 0s}]}
  bob: {at: r3, subscribe: [n > 0]}
  mallory: {at: r3}
security: {neighbours: required}
faults:
  - at 500ms: forge r1 - r2 200 times every 5ms
  - at 500ms: replay r1 - r2 100 times every 10ms by message
  - at 500ms: flood mallory 100 times every 10ms by filters
  - at 1s: lie r2 by duplicate share 0.5 for 1s
"""
KEYS_THERE = f"sudo sh -c \"stat -c '%a %U' {RUNS}/*/config/*.keys.toml 2>/dev/null\""
"""Prints, on a machine, who may read the keys of its nodes."""


def deliveries(directory: Path) -> Counter[tuple[Any, ...]]:
    events = map(json.loads, (directory / "events.jsonl").read_text().splitlines())
    return Counter((e["source"], e["sequence"], e["node"]) for e in events if e["event"] == "deliver")


@pytest.fixture(scope="module")
def line(provisioned: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on three machines with seals, signatures, a policy, slowed time and other traffic."""
    folder = tmp_path_factory.mktemp("line")
    path = folder / "line.yaml"
    path.write_text(LINE)
    with controller(provisioned, path, folder / "out", "--dilate", "3") as run:
        for machine in MACHINES:
            told = await_on(provisioned, machine, KEYS_THERE, run).splitlines()
            assert {*told} == {"600 cbn"}, f"who may read keys on {machine}"
        said, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, said
    assert "clean: All 49 owed deliveries arrived, each once." in said
    assert "The policy did not permit 5 messages and 1 subscription" in said
    return folder / "out"


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


def test_time_is_slowed_on_all_machines_and_other_traffic_is_sent_there(line: Path) -> None:
    manifest = json.loads((line / "manifest.json").read_text())
    assert manifest["dilate"] == manifest["fidelity"]["dilate"] == 3
    told = [json.loads(text) for text in (line / "events.jsonl").read_text().splitlines()]
    by_alice = [e for e in told if e["node"] == "alice"]
    published = {e["sequence"]: e["time_ns"] for e in by_alice if e["event"] == "publish"}
    took_ns = [e["time_ns"] - published[e["sequence"]] for e in told if e["event"] == "deliver"]
    # Two links of 10 ms, a part of which the network between the machines takes, as it was measured before;
    # clocks that were slowed in other ways on other machines would be far apart by now.
    assert 19_000_000 <= min(took_ns) < 30_000_000
    last_ns, first_ns = max(published.values()), min(published.values())
    # 48 times 20 ms in the run's time; the first may have been a little late.
    assert 900_000_000 <= last_ns - first_ns < 1_500_000_000
    index = json.loads((line / "captures" / "index.json").read_text())
    frames = {row["interface"]: row["frames"] for row in index["interfaces"]}
    # Beside the messages, 900 kbit/s for 1 s between these two alone.
    assert frames["r2-eth0"] > frames["r2-eth1"] + 40


def test_machines_share_keys_which_change_while_messages_flow_and_none_is_refused(line: Path) -> None:
    files = sorted((line / "config").glob("*.keys.toml"))
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    keys = [load_keys(path).links for path in files]
    secrets = [key.secret for of in keys for held in of.values() for key in held]
    assert len(secrets) == 2 * len(set(secrets)) == 2 * 5, "both ends of each of five links have its key"
    numbers = Counter(key.key_id for of in keys for held in of.values() for key in held)
    assert numbers == {3: 2, 2: 8}, "all were given another meanwhile, one of them twice"
    signing = [load_keys(path).signing_seed for path in (line / "config").glob("r*.keys.toml")]
    assert len({*signing}) == 3, "each router signs with a key of its own, which the others believe"
    assert all(signing)
    assert sum(deliveries(line).values()) == 49
    dropped: Counter[str] = Counter()
    for path in (line / "logs").glob("*.status.json"):
        for counts in json.loads(path.read_text())["drops"].values():
            dropped.update(counts)
    assert not dropped.keys() & {reason for reason in REFUSED if dropped[reason]}
    assert dropped["not_permitted"] + dropped["NOT_PERMITTED"] == 1 + 5, "what the policy keeps from eve"


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
    assert manifest["implementation"]["links"] == "veth 3, tunnel 3"
    index = json.loads((tmp_path / "out" / "captures" / "index.json").read_text())
    assert len(index["interfaces"]) == 9
    for row in index["interfaces"]:
        assert (tmp_path / "out" / "captures" / row["file"]).stat().st_size > 24
    assert sum(row["frames"] for row in index["interfaces"]) == manifest["captures"]["frames"]


def test_nodes_are_not_root_and_an_agent_outlives_a_connection(
    provisioned: Cluster, ring: Path, tmp_path: Path
) -> None:
    with controller(provisioned, ring, tmp_path / "out") as run:
        assert len(await_on(provisioned, "m2", NODE).split()) >= 1
        assert provisioned.on("m2", "pgrep -u root -f 'python -m node[s] ' || true") == ""
        capabilities = provisioned.on("m2", f"cat /proc/$({NODE} | head -1)/status | grep CapEff")
        assert int(capabilities.split()[1], 16) == 1 << 12, "CAP_NET_ADMIN alone"
        provisioned.on("m2", "sudo systemd-run --quiet --no-block pkill -9 -f testbed.cluster.rela[y]")
        said, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, said
    assert "the connection to m2 was lost for" in said
    assert "holds: missing == 0 after recovery" in said
    await_idle(provisioned)


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


def test_links_inside_a_machine_and_nodes_are_attacked_on_machines_as_on_one(
    provisioned: Cluster, tmp_path: Path
) -> None:
    path = tmp_path / "attacked.yaml"
    path.write_text(ATTACKED)
    across = run(tmp_path, command(provisioned, path, "--put", "r1=m1", "--put", "r2=m2"))
    assert across.returncode != 0
    assert "link r1 - r2 is attacked, and its ends are on two machines" in across.stderr
    put = ["--put", "r1=m1", "--put", "r2=m1", "--put", "r3=m2"]
    done = run(tmp_path, command(provisioned, path, *put, "--out", "out", "--json"))
    told = json.loads(done.stdout)["verdict"]["attacks"]
    acts = {(each["do"], each["target"]): each["acts"] for each in told["attacks"]}
    assert acts.pop(("lie", "r2")) > 10
    assert acts.pop(("forge", "r1--r2")) > 150
    assert acts.pop(("replay", "r1--r2")) > 50
    assert acts == {("flood", "mallory"): 100}
    assert (told["through"]["missing"], told["through"]["duplicate"] > 30) == (0, True)
    drops: Counter[str] = Counter()
    for router in ("r1", "r2"):
        status = json.loads((tmp_path / "out" / "logs" / f"{router}.status.json").read_text())
        drops.update(status["drops"]["control"])
    assert sum(drops[reason] for reason in REFUSED) > 100

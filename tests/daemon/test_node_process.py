"""Routers and clients as real processes over loopback: start, talk, refuse, end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodes.config import Action, LinkKey, Neighbours, SecurityConfig
from nodes.config_file import write_keys
from nodes.convergence import unconverged
from nodes.wire.packets import Role
from testbed.live.clients import AdminError

LIGHT = {"scapy", "numpy", "rich", "asyncio", "yaml", "networkx", "pyarrow", "mininet", "testbed"}
ROOT = Path(__file__).resolve().parents[2]


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def two_clients(net: Any) -> None:
    """r1 with clients c2 and c3.

    c2 --- r1 --- c3
    """
    for name, node_id, role in (("r1", 1, Role.ROUTER), ("c2", 2, Role.CLIENT), ("c3", 3, Role.CLIENT)):
        net.node(name, node_id, role)
    net.link("r1", "c2")
    net.link("r1", "c3")


def test_what_one_client_publishes_reaches_the_other_and_only_if_it_matches(loopback: Any) -> None:
    two_clients(loopback)
    loopback.start("r1")
    publications = [
        Action(1_000_000 * n, "publish", text=f'dest = "{"ORD" if n % 2 else "JFK"}", n = {n}')
        for n in range(20)
    ]
    loopback.start("c2", script=publications)
    loopback.start("c3", script=[Action(-1, "subscribe", 1, 'dest = "ORD"')])
    loopback.ready()
    for name in ("c2", "c3"):
        loopback.admins[name].ask("start", at_ns=0)
    loopback.until(lambda: loopback.cores()["c3"]["delivered"] >= 10, "ten deliveries")
    assert loopback.stop() == {"r1": 0, "c2": 0, "c3": 0}
    published = [e for e in events(loopback.folder / "c2.events.jsonl") if e["event"] == "publish"]
    delivered = [e for e in events(loopback.folder / "c3.events.jsonl") if e["event"] == "deliver"]
    wanted = [e["sequence"] for e in published if "ORD" in e["message"]]
    assert [(e["source"], e["sequence"], e["hop_count"]) for e in delivered] == [(2, s, 1) for s in wanted]
    assert all(e["latency_ns"] > 0 for e in delivered)


def test_a_last_status_and_a_log_are_left_behind(loopback: Any) -> None:
    two_clients(loopback)
    for name in ("r1", "c2", "c3"):
        loopback.start(name)
    loopback.ready()
    loopback.stop()
    for name in ("r1", "c2", "c3"):
        status = json.loads((loopback.folder / f"{name}.status.json").read_text())
        assert status["core"]["node"] == name
        assert {row["name"].split("-")[0] for row in status["interfaces"]} == {name}
        log = events(loopback.folder / f"{name}.jsonl")
        assert log[0]["event"] == "started"
        assert log[-1]["event"] == "stopped"
        assert not (loopback.folder / f"{name}.sock").exists()


def test_the_ends_of_a_link_count_the_same_messages(loopback: Any) -> None:
    two_clients(loopback)
    loopback.start("r1")
    loopback.start("c2", script=[Action(0, "publish", text=f"n = {n}") for n in range(50)])
    loopback.start("c3", script=[Action(-1, "subscribe", 1, "n any integer")])
    loopback.ready()
    loopback.admins["c2"].ask("start", at_ns=0)
    loopback.until(lambda: loopback.cores()["c3"]["delivered"] == 50, "fifty deliveries")

    def counted() -> list[int]:
        rows = {row["name"]: row for a in loopback.admins.values() for row in a.ask("status")["interfaces"]}
        sent, received = ("c2-eth0", "r1-eth1"), ("r1-eth0", "c3-eth0")
        return [rows[n]["tx_messages"] for n in sent] + [rows[n]["rx_messages"] for n in received]

    # A router counts what it has sent after it has sent it.
    loopback.until(lambda: min(counted()) == 50, "fifty messages at every end")
    assert counted() == [50] * 4


def test_a_router_has_no_script_and_a_script_starts_once(loopback: Any) -> None:
    two_clients(loopback)
    for name in ("r1", "c2", "c3"):
        loopback.start(name)
    loopback.ready()
    with pytest.raises(AdminError, match=r"r1 refused 'start': expected .*one of keys, status, tables, stop"):
        loopback.admins["r1"].ask("start", at_ns=0)
    for bad in (None, -1, "now", True, 1.5, 2**63, 10**4000):
        with pytest.raises(AdminError, match='"start" needs "at_ns"'):
            loopback.admins["c2"].ask("start", at_ns=bad)
    loopback.admins["c2"].ask("start", at_ns=0)
    with pytest.raises(AdminError, match="has been started before"):
        loopback.admins["c2"].ask("start", at_ns=0)
    assert "scheme pif" in loopback.admins["r1"].ask("tables")["text"]


def test_the_admins_stop_is_answered_and_ends_the_node_in_order(loopback: Any) -> None:
    two_clients(loopback)
    loopback.start("r1")
    loopback.until(loopback.admins["r1"].connect, "r1 listens")
    assert loopback.admins["r1"].ask("stop") == {}
    assert loopback.processes["r1"].wait(30) == 0


def test_a_node_reads_its_keys_anew_when_asked_and_keeps_the_old_ones_if_it_cannot(loopback: Any) -> None:
    loopback.node("r1", 1, Role.ROUTER)
    loopback.node("c2", 2, Role.CLIENT)
    loopback.link("r1", "c2")
    security = SecurityConfig(Neighbours.REQUIRED)
    paths = {name: loopback.folder / f"{name}.keys.toml" for name in ("r1", "c2")}
    for number in (1, 2):
        for name, path in paths.items():
            config = loopback.config(name)
            keys = (LinkKey(number, bytes([number]) * 32),)
            write_keys(
                replace(config, interfaces=tuple(replace(i, keys=keys) for i in config.interfaces)), path
            )
        for name, path in paths.items() if number == 1 else ():
            loopback.start(name, security=security, keys_path=str(path))
        loopback.until(lambda: all(admin.connect() for admin in loopback.admins.values()), "all listen")
        for name in paths if number == 2 else ():
            loopback.admins[name].ask("keys")
        loopback.until(lambda: not unconverged(loopback.cores()), "the network is converged")
    paths["r1"].chmod(0o640)
    with pytest.raises(AdminError, match=r"stay as they were: .*others may read the keys"):
        loopback.admins["r1"].ask("keys")
    told = [e["numbers"] for e in events(loopback.folder / "r1.jsonl") if e["event"] == "keys"]
    assert told == [{"r1-eth0": [2]}]
    assert loopback.stop() == {"r1": 0, "c2": 0}


def test_a_node_without_keys_cannot_read_them_anew(loopback: Any) -> None:
    two_clients(loopback)
    loopback.start("r1")
    loopback.until(loopback.admins["r1"].connect, "r1 listens")
    with pytest.raises(AdminError, match=r"security\.neighbours and security\.records are off"):
        loopback.admins["r1"].ask("keys")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_node_in_order(loopback: Any, number: signal.Signals) -> None:
    two_clients(loopback)
    loopback.start("r1")
    loopback.until(loopback.admins["r1"].connect, "r1 listens")
    loopback.processes["r1"].send_signal(number)
    assert loopback.processes["r1"].wait(30) == 0
    assert (loopback.folder / "r1.status.json").exists()


def run(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nodes", "--config", str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_a_bad_configuration_is_located_and_ends_with_2(tmp_path: Path) -> None:
    done = run(tmp_path / "missing.toml")
    assert done.returncode == 2
    assert "missing.toml: No such file" in done.stderr
    (tmp_path / "bad.toml").write_text('name = "r1"\nnode_id = "one"\n')
    done = run(tmp_path / "bad.toml")
    assert done.returncode == 2
    assert "bad.toml: " in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_scheme_or_a_bad_script_ends_with_2(loopback: Any) -> None:
    two_clients(loopback)
    loopback.start("r1", scheme="telepathy")
    loopback.start("c2", script=[Action(0, "publish", text="n =")])
    for name, text in (("r1", "telepathy"), ("c2", "action 1 of the script")):
        _, output = loopback.processes[name].communicate(timeout=60)
        assert loopback.processes[name].returncode == 2
        assert f"{name}.toml: " in output
        assert text in output
        assert "Traceback" not in output


def test_an_address_that_is_taken_ends_with_3_and_a_clear_line(loopback: Any) -> None:
    two_clients(loopback)
    loopback.start("r1")
    loopback.until(loopback.admins["r1"].connect, "r1 listens")
    done = run(loopback.folder / "r1.toml")
    assert done.returncode == 3
    assert "interface r1-eth0: cannot use 127." in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert loopback.processes["r1"].poll() is None


def test_a_defect_of_the_core_is_logged_and_ends_with_70(loopback: Any) -> None:
    """The core is made to break from outside: a module on the path breaks it at its first timer."""
    two_clients(loopback)
    loopback.start("r1")
    loopback.until(loopback.admins["r1"].connect, "r1 listens")
    loopback.stop()
    (loopback.folder / "sitecustomize.py").write_text(
        "import nodes.routing.router as r\n"
        "def broken(self, now_ns): raise AssertionError('an invariant is broken')\n"
        "r.Router.handle_timer = broken\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{loopback.folder}:{ROOT}"}
    command = [sys.executable, "-m", "nodes", "--config", str(loopback.folder / "r1.toml")]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 70
    assert "defect: AssertionError('an invariant is broken')" in done.stderr
    last = events(loopback.folder / "r1.jsonl")[-1]
    assert last["event"] == "defect"
    assert "handle_timer" in last["traceback"]


def test_a_node_imports_nothing_heavy() -> None:
    code = "import sys, nodes.daemon.router, nodes.daemon.client, nodes.daemon.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not LIGHT & {name.partition(".")[0] for name in done.stdout.split()}

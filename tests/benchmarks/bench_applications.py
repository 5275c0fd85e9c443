"""How many messages a second applications exchange: 10,000 through three routers to two subscribers.

    pub - r1 - r2 - r3 - sub1
                     \\- sub2

`cbn`, and in the same namespaces, if they are there, NATS (a server in each router's namespace, r1 and r3
leaves of r2) and zenoh (a router in each). Prints figures, judges nothing. They are never installed here:
`CBN_BENCH_PYTHON` names a Python that has `nats-py` and `eclipse-zenoh`, `CBN_BENCH_NATS` the program
`nats-server`.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.emu.network import CbnNet
from testbed.emu.programs import environment
from testbed.live.registry import register
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from tests.benchmarks.application_load import MESSAGES

pytestmark = [pytest.mark.emu, pytest.mark.timeout(600)]
LOAD = Path(__file__).with_name("application_load.py")
ROUNDS = int(os.environ.get("CBN_BENCH_ROUNDS", "10"))
PYTHON = os.environ.get("CBN_BENCH_PYTHON", sys.executable)
NATS = os.environ.get("CBN_BENCH_NATS") or shutil.which("nats-server")
PROGRAM = {"run": "application_load.py"}
SCENARIO = {
    "name": "applications",
    "topology": {"routers": ["r1", "r2", "r3"], "links": ["r1 - r2", "r2 - r3"]},
    "clients": {
        "pub": {"at": "r1", **PROGRAM},
        "sub1": {"at": "r3", **PROGRAM},
        "sub2": {"at": "r3", **PROGRAM},
    },
    "duration": "600s",
}
CLIENTS = ("pub", "sub1", "sub2")


class Process:
    """A process in the namespace of a node, which is told things and says things, a line each."""

    def __init__(self, net: CbnNet, node: str, *command: str, env: dict[str, str] | None = None) -> None:
        line = ["setpriv", "--pdeathsig", "KILL", "mnexec", "-a", str(net.pid(node)), *command]
        self._process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env or dict(os.environ)
        )

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def said(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return dict(json.loads(self._process.stdout.readline()))

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(20)


@contextmanager
def network(folder: Path) -> Iterator[CbnNet]:
    plan = plan_of(SCENARIO, "applications")
    directory = RunDirectory.create(folder / "run", f"bench-{os.getpid()}")
    registration = register(directory.run_id, directory.path)
    net = CbnNet(plan, registration, directory)
    try:
        net.build()
        yield net
    finally:
        net.stop()
        registration.remove()


def addresses(plan: Plan, node: str, peer: str) -> tuple[str, str]:
    """Of a node's interface towards a peer, and of the peer's."""
    interface = next(i for each in plan.nodes if each.name == node for i in each.interfaces if i.peer == peer)
    return interface.address, interface.peer_address


def measure(name: str, made: Callable[[], list[Process]]) -> None:
    """All rounds of one system; the processes are the publisher and the subscribers."""
    publisher, *subscribers = processes = made()
    try:
        for process in processes:
            assert process.said()["ready"]
        rates, publishing, lost = [], [], 0
        for _ in range(ROUNDS):
            for subscriber in subscribers:
                subscriber.go()
            publisher.go()
            began = publisher.said()
            ends = [subscriber.said() for subscriber in subscribers]
            lost += sum(MESSAGES - end["got"] for end in ends)
            rates.append(MESSAGES * 1e9 / (max(end["at_ns"] for end in ends) - began["at_ns"]))
            publishing.append(MESSAGES * 1e9 / began["took_ns"])
    finally:
        for process in processes:
            process.end()
    middle, best, sent = statistics.median(rates), max(rates), statistics.median(publishing)
    print(f"{name:28} {middle:>12,.0f} {best:>12,.0f} {sent:>12,.0f} {lost:>8}")


def of_cbn(net: CbnNet, recorded: str, way: str) -> list[Process]:
    def process(node: str, role: str) -> Process:
        config = net.directory.config / f"{node}.toml"
        env = {**os.environ, **environment(config)}
        return Process(net, node, sys.executable, str(LOAD), "cbn", role, str(config), recorded, way, env=env)

    return [process("pub", "publish"), process("sub1", "subscribe"), process("sub2", "subscribe")]


def of_rival(net: CbnNet, system: str, scheme: str, port: int) -> list[Process]:
    def process(node: str, router: str, role: str) -> Process:
        _, peer = addresses(net.plan, node, router)
        return Process(net, node, PYTHON, str(LOAD), system, role, f"{scheme}{peer}:{port}")

    return [
        process("pub", "r1", "publish"),
        process("sub1", "r3", "subscribe"),
        process("sub2", "r3", "subscribe"),
    ]


def nats_servers(net: CbnNet) -> list[Process]:
    """r2 is the hub, r1 and r3 are its leaves: servers of one cluster pass on to direct neighbours alone."""
    assert NATS is not None
    started = []
    for node, about in (("r2", "port: 7422"), ("r1", leaf(net, "r1")), ("r3", leaf(net, "r3"))):
        config = net.directory.config / f"{node}.nats"
        text = f"host: 0.0.0.0\nport: 4222\nserver_name: {node}\nleafnodes {{ {about} }}\n"
        config.write_text(text, encoding="utf-8")
        started.append(Process(net, node, NATS, "-c", str(config), "-l", os.devnull))
    return started


def leaf(net: CbnNet, node: str) -> str:
    return f'remotes: [{{url: "nats://{addresses(net.plan, node, "r2")[1]}:7422"}}]'


def zenoh_routers(net: CbnNet) -> list[Process]:
    started = []
    for node, before in (("r1", ""), ("r2", "r1"), ("r3", "r2")):
        connect = [f"tcp/{addresses(net.plan, node, before)[1]}:7447"] if before else []
        started.append(Process(net, node, PYTHON, str(LOAD), "zenoh", "route", "tcp/0.0.0.0:7447", *connect))
        assert started[-1].said()["ready"]
    return started


def has_module(name: str) -> bool:
    return subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def test_messages_through_three_routers_to_two_subscribers(tmp_path: Path) -> None:
    print(f"\n{MESSAGES:,} messages, {ROUNDS} rounds: messages a second, first call to last delivery")
    print(f"{'':28} {'median':>12} {'best':>12} {'publisher':>12} {'lost':>8}")
    with network(tmp_path) as net, ExitStack() as ends:
        net.start()
        net.await_converged()
        measure("cbn, batches", lambda: of_cbn(net, "plain", "batches"))
        measure("cbn, batches, events written", lambda: of_cbn(net, "recorded", "batches"))
        measure("cbn, one by one", lambda: of_cbn(net, "plain", "single"))
        net.stop_nodes()
        if NATS is None or not has_module("nats"):
            print("nats: not installed")
        else:
            for server in nats_servers(net):
                ends.callback(server.end)
            measure("nats", lambda: of_rival(net, "nats", "nats://", 4222))
        if not has_module("zenoh"):
            print("zenoh: not installed")
        else:
            for router in zenoh_routers(net):
                ends.callback(router.end)
            measure("zenoh", lambda: of_rival(net, "zenoh", "tcp/", 7447))

"""Real node processes on loopback addresses: no root, no namespaces."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nodes.config import Action, InterfaceConfig, NodeConfig
from nodes.config_file import dump_config, dump_script
from nodes.convergence import unconverged
from nodes.wire.packets import Role
from testbed.live.clients import AdminClient

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 30.0
_subnets = itertools.count()


@dataclass
class Loopback:
    """Nodes on 127/8 addresses of this test's own, each link a pair of them."""

    folder: Path
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    admins: dict[str, AdminClient] = field(default_factory=dict)
    ids: dict[str, tuple[int, Role]] = field(default_factory=dict)
    addresses: dict[tuple[str, str], str] = field(default_factory=dict)
    """(node, peer) -> the node's address on their link."""

    def node(self, name: str, node_id: int, role: Role) -> None:
        self.ids[name] = (node_id, role)

    def link(self, a: str, b: str) -> None:
        subnet = next(_subnets)
        base = f"127.{1 + os.getpid() % 250}.{1 + subnet % 250}"
        self.addresses[a, b], self.addresses[b, a] = f"{base}.1", f"{base}.2"

    def config(self, name: str, **changes: Any) -> NodeConfig:
        node_id, role = self.ids[name]
        peers = [peer for (node, peer) in self.addresses if node == name]
        interfaces = tuple(
            InterfaceConfig(
                index,
                f"{name}-eth{index}",
                self.addresses[name, peer],
                self.addresses[peer, name],
                peer,
                *self.ids[peer],
            )
            for index, peer in enumerate(peers)
        )
        paths = {
            "log_path": str(self.folder / f"{name}.jsonl"),
            "admin_socket": str(self.folder / f"{name}.sock"),
            "events_path": str(self.folder / f"{name}.events.jsonl") if role is Role.CLIENT else "",
        }
        more = {"interfaces": interfaces, **paths, **changes}
        return NodeConfig(name, node_id, role, "test", 1, **more)

    def start(self, name: str, script: Sequence[Action] = (), **changes: Any) -> None:
        path = self.folder / f"{name}.toml"
        if script:
            changes["script_path"] = str(path.with_suffix(".script.jsonl"))
            Path(changes["script_path"]).write_text(dump_script(script), encoding="utf-8")
        path.write_text(dump_config(self.config(name, **changes)), encoding="utf-8")
        self.start_with(name, path)
        self.admins[name] = AdminClient(name, self.folder / f"{name}.sock")

    def start_with(self, name: str, path: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "nodes", "--config", str(path)]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        self.processes[name] = process
        return process

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Poll until it holds; a node that ends meanwhile fails the test at once."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            for name, process in self.processes.items():
                assert process.poll() is None, f"{name} ended: {process.communicate()[1]}"
            assert time.monotonic() < deadline, f"not within {DEADLINE_S} s: {what}"
            _pause(0.01)

    def ready(self) -> None:
        self.until(lambda: all(admin.connect() for admin in self.admins.values()), "all listen")
        self.until(lambda: not unconverged(self.cores()), "the network is converged")

    def cores(self) -> dict[str, dict[str, Any]]:
        return {name: admin.ask("status")["core"] for name, admin in self.admins.items()}

    def stop(self) -> dict[str, int]:
        """End all in order; the exit codes."""
        for admin in self.admins.values():
            admin.close()
        for process in self.processes.values():
            process.terminate()
        return {name: process.wait(DEADLINE_S) for name, process in self.processes.items()}

    def kill(self) -> None:
        for admin in self.admins.values():
            admin.close()
        for process in self.processes.values():
            process.kill()
            process.communicate()


def _pause(seconds: float) -> None:
    """The interval of a poll; nothing relies on its length."""
    time.sleep(seconds)


@pytest.fixture
def sole(taking_turns: Callable[[str], AbstractContextManager[None]]) -> Iterator[None]:
    """Tests with fixed addresses, one at a time, also among test processes."""
    with taking_turns("addresses"):
        yield


@pytest.fixture
def loopback(tmp_path: Path) -> Iterator[Loopback]:
    net = Loopback(tmp_path)
    yield net
    net.kill()

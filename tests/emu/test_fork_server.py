"""Nodes forked from one warm process: what each has for itself, and how its end is progress."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodes.daemon.fork_server import NodeProcess
from nodes.daemon.kernel import ended_within
from nodes.processes import RUN_MARK
from testbed.emu.fork_server import ForkServer

pytestmark = pytest.mark.emu


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ForkServer]:
    made = ForkServer({**os.environ, RUN_MARK: "forked"}, tmp_path / "fork_server.log")
    yield made
    made.stop()


def node(folder: Path, name: str = "r1", config: str = "/nowhere.toml") -> NodeProcess:
    return NodeProcess(name, config, os.getpid(), str(folder / f"{name}.stderr"))


def test_a_child_has_a_session_descriptors_and_a_command_line_of_its_own_and_the_runs_marks(
    server: ForkServer, tmp_path: Path
) -> None:
    forked = server.fork(node(tmp_path, config="/somewhere/r1.toml"))
    proc = Path(f"/proc/{forked.pid}")
    while b"r1.toml" not in (proc / "cmdline").read_bytes():
        assert forked.poll() is None
    assert (proc / "comm").read_text() == "r1\n"
    assert (proc / "cmdline").read_bytes().rstrip(b"\0").endswith(b"-m\0nodes\0--config\0/somewhere/r1.toml")
    assert f"{RUN_MARK}=forked".encode() in (proc / "environ").read_bytes().split(b"\0")
    assert os.getsid(forked.pid) == forked.pid
    targets = {entry.name: str(entry.readlink()) for entry in (proc / "fd").iterdir()}
    assert {*targets} == {"0", "1", "2"}, "the gate and its own standard error"
    assert targets["2"] == str(tmp_path / "r1.stderr")


def test_nobody_begins_before_all_may_and_latecomers_do_at_once(server: ForkServer, tmp_path: Path) -> None:
    early = server.fork(node(tmp_path))
    assert early.poll() is None
    server.begin()
    assert early.wait(10) == 2, "what `python -m nodes` ends with when there is no such file"
    assert "/nowhere.toml" in (tmp_path / "r1.stderr").read_text()
    assert server.fork(node(tmp_path, "r2")).wait(10) == 2


def test_an_end_is_reported_with_its_signal_and_what_the_process_took(
    server: ForkServer, tmp_path: Path
) -> None:
    forked = server.fork(node(tmp_path))
    forked.kill()
    assert forked.wait(10) == -signal.SIGKILL
    assert forked.usage["peak_resident_bytes"] > 0
    forked.terminate()  # no stranger that is given its id now can be meant


def test_children_end_with_the_fork_server(server: ForkServer, tmp_path: Path) -> None:
    pidfds = [server.fork(node(tmp_path, f"r{n}")).watch_descriptor() for n in range(3)]
    server.child.process.kill()
    assert [ended_within(pidfd, 10) for pidfd in pidfds] == [True] * 3
    for pidfd in pidfds:
        os.close(pidfd)


def test_children_draw_different_numbers(server: ForkServer, bed: Any) -> None:
    """The global generator is seeded anew in each; a node's own depends on when it starts."""
    assert bed.run(bed.plan(count=1)).outcome == "complete"
    import json

    statuses = [json.loads((bed.out / "logs" / f"r{n}.status.json").read_text()) for n in (1, 2, 3)]
    assert len({status["core"]["incarnation"] for status in statuses}) == 3


def test_hosts_of_mininet_get_their_shell_with_their_first_command(
    bed: Any, progress: Any, monkeypatch: Any
) -> None:
    from testbed.emu.network import CbnNet

    networks: list[CbnNet] = []
    build = CbnNet.build

    def noting(network: CbnNet) -> None:
        networks.append(network)
        build(network)

    output: list[str] = []

    def talk() -> None:
        host = networks[0]["r1"]
        assert host.shell is None
        output.append(host.cmd("ip -o -4 address show dev r1-eth0"))
        output.append(host.cmd("cat /proc/sys/net/ipv6/conf/all/disable_ipv6"))

    monkeypatch.setattr(CbnNet, "build", noting)
    progress.at_phase["workload"] = talk
    plan = bed.plan(count=1)
    assert bed.run(plan, progress).outcome == "complete"
    interface = plan.nodes[0].interfaces[0]
    assert f"{interface.address}/{interface.prefix_length}" in output[0]
    assert output[1].strip() in ("1", "") or "No such file" in output[1]
    bed.assert_nothing_is_left()

"""Nodes forked from one warm process: what each has for itself, and how its end is told."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodes.daemon.nursery import Order
from testbed.emu.nursery import Nursery
from testbed.emu.registry import RUN_MARK

pytestmark = pytest.mark.emu


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    made = Nursery({**os.environ, RUN_MARK: "nursed"}, tmp_path / "nursery.log")
    yield made
    made.stop()


def order(folder: Path, name: str = "r1", config: str = "/nowhere.toml") -> Order:
    return Order(name, config, os.getpid(), str(folder / f"{name}.stderr"))


def ended(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(10_000))


def test_a_child_has_a_session_descriptors_and_a_command_line_of_its_own_and_the_runs_marks(
    nursery: Nursery, tmp_path: Path
) -> None:
    born = nursery.bear(order(tmp_path, config="/somewhere/r1.toml"))
    proc = Path(f"/proc/{born.pid}")
    while b"r1.toml" not in (proc / "cmdline").read_bytes():
        assert born.poll() is None
    assert (proc / "comm").read_text() == "r1\n"
    assert (proc / "cmdline").read_bytes().rstrip(b"\0").endswith(b"-m\0nodes\0--config\0/somewhere/r1.toml")
    assert f"{RUN_MARK}=nursed".encode() in (proc / "environ").read_bytes().split(b"\0")
    assert os.getsid(born.pid) == born.pid
    targets = {entry.name: str(entry.readlink()) for entry in (proc / "fd").iterdir()}
    assert {*targets} == {"0", "1", "2"}, "the gate and its own standard error"
    assert targets["2"] == str(tmp_path / "r1.stderr")


def test_nobody_begins_before_all_are_told_to_and_latecomers_do_at_once(
    nursery: Nursery, tmp_path: Path
) -> None:
    early = nursery.bear(order(tmp_path))
    assert early.poll() is None
    nursery.begin()
    assert early.wait(10) == 2, "what `python -m nodes` ends with when there is no such file"
    assert "/nowhere.toml" in (tmp_path / "r1.stderr").read_text()
    assert nursery.bear(order(tmp_path, "r2")).wait(10) == 2


def test_an_end_is_told_with_its_signal_and_what_the_process_took(nursery: Nursery, tmp_path: Path) -> None:
    born = nursery.bear(order(tmp_path))
    born.kill()
    assert born.wait(10) == -signal.SIGKILL
    assert born.usage["peak_resident_bytes"] > 0
    born.terminate()  # no stranger that is given its id now can be meant


def test_children_end_with_the_nursery(nursery: Nursery, tmp_path: Path) -> None:
    pidfds = [nursery.bear(order(tmp_path, f"r{n}")).watch_descriptor() for n in range(3)]
    nursery.child.process.kill()
    assert [ended(pidfd) for pidfd in pidfds] == [True] * 3
    for pidfd in pidfds:
        os.close(pidfd)


def test_children_draw_different_luck(nursery: Nursery, bed: Any) -> None:
    """The global generator is seeded anew in each; a node's own depends on when it starts."""
    assert bed.run(bed.plan(count=1)).outcome == "complete"
    import json

    statuses = [json.loads((bed.out / "logs" / f"r{n}.status.json").read_text()) for n in (1, 2, 3)]
    assert len({status["core"]["incarnation"] for status in statuses}) == 3


def test_hosts_of_mininet_get_their_shell_with_their_first_command(
    bed: Any, told: Any, monkeypatch: Any
) -> None:
    from testbed.emu.network import Network

    networks: list[Network] = []
    build = Network.build

    def noting(network: Network, make_links: Any) -> None:
        networks.append(network)
        build(network, make_links)

    said: list[str] = []

    def talk() -> None:
        host = networks[0].mininet["r1"]
        assert host.shell is None
        said.append(host.cmd("ip -o -4 address show dev r1-eth0"))
        said.append(host.cmd("cat /proc/sys/net/ipv6/conf/all/disable_ipv6"))

    monkeypatch.setattr(Network, "build", noting)
    told.at_phase["workload"] = talk
    plan = bed.plan(count=1)
    assert bed.run(plan, told).outcome == "complete"
    interface = plan.nodes[0].interfaces[0]
    assert f"{interface.address}/{interface.prefix_length}" in said[0]
    assert said[1].strip() in ("1", "") or "No such file" in said[1]
    bed.assert_nothing_is_left()

"""The classes in Mininet scripts of one's own, `mn --custom`, and the names that `ip netns` knows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

from testbed.emu.cleanup import clean
from testbed.emu.namespace_holder import NETNS, hide, shown
from testbed.live.registry import running

pytestmark = [pytest.mark.emu, pytest.mark.timed]
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "topologies" / "mininet"
HARMLESS = ("rm", "killall", "pkill")
"""What `mn` cleans up the whole machine with when something has failed; here these do nothing."""


def output_of(command: list[str], given: str = "", code: int = 0) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def script(text: str, code: int = 0) -> str:
    """A Mininet script; what it printed."""
    return output_of([sys.executable, "-c", textwrap.dedent(text)], code=code)


def mn(given: str, *options: str) -> str:
    """A session of `mn --custom`, with processes and a /run of its own."""
    program = [str(Path(sys.executable).with_name("mn")), "--custom", str(EXAMPLES / "ring.py"), *options]
    with tempfile.TemporaryDirectory() as folder:
        for name in HARMLESS:
            Path(folder, name).symlink_to("/bin/true")
        enter = f'mount -t tmpfs none /run && PATH="{folder}:$PATH" exec "$@"'
        shell = ["sh", "-c", enter, "sh", sys.executable, *program, "--controller", "none"]
        return output_of(["unshare", "--mount", "--pid", "--fork", "--mount-proc", *shell], given)


def scripts_running() -> set[str]:
    return {run.run_id for run in running() if run.run_id.startswith("mininet-")}


def test_the_example_script_publishes_breaks_a_router_and_publishes_again() -> None:
    before = scripts_running()
    progress = output_of([sys.executable, str(EXAMPLES / "publish.py")])
    assert re.fullmatch(
        'buyer received dest = "ORD", price = 350 over 3 routers\n'
        'and without r2 dest = "ORD", price = 200 over 3 routers\n'
        r"r1-eth0 +\w+ +10\.0\.0\.1/30 *\n",
        progress,
    ), progress
    assert scripts_running() <= before


def test_mn_takes_the_custom_file_and_its_command_line_works() -> None:
    progress = mn(
        'py c2.subscribe("price < 400")\npy c1.publish("price = 300")\npy c2.deliveries(2, seconds=5)\n'
        "nodes\nr1 ip -brief address show dev r1-eth2\n",
        *("--topo", "ring,4"),
    )
    assert "mininet> 2\n" in progress, "the first subscription is the topology's"
    assert re.search(r"'hop_count': 3, .*'message': 'price = 300'", progress)
    assert "available nodes are: \nc1 c2 r1 r2 r3 r4\n" in progress
    assert re.search(r"r1-eth2 +\w+ +10\.0\.0\.\d+/30", progress)
    assert "completed in" in progress


def test_mininets_own_topologies_work_with_routers_for_switches() -> None:
    progress = mn(
        'py h4.subscribe("price < 400")\npy h1.publish("price = 300")\npy h4.deliveries(1, seconds=5)\n',
        *("--topo", "tree,2", "--switch", "cbn", "--host", "cbn", "--link", "wire,delay=3ms"),
    )
    (latency,) = re.findall(r"'latency_ns': (\d+)", progress)
    assert int(latency) >= 4 * 3_000_000
    assert "Stopping 3 switches\ns1 s2 s3" in progress


HEAD = """
import sys, time
from mininet.net import Mininet
from mininet.topo import Topo
from testbed.emu.mininet import *
net = Mininet(host=CbnRouter, link=WireLink, controller=None, build=False)
r1, r2 = (net.addHost(name) for name in ("r1", "r2"))
c = net.addHost("c", cls=CbnClient)
"""


def test_nodes_added_one_by_one_are_asked_paused_and_broken() -> None:
    progress = script(
        HEAD
        + """
net.addLink(r1, r2, delay="1ms"); net.addLink(c, r1)
net.start()
print(sorted(r1.status()["core"])[:1], sorted(r1.tables()))
r2.crash()
try: r2.status()
except Exception as error: print(type(error).__name__, error)
r2.restart(); c.wait_until_converged()
r2.pause(); r2.resume(); c.wait_until_converged()
try: c.publish("price = ")
except Exception as error: print("refused" in str(error))
print(r2.status()["core"]["settled"])
net.stop(); net.stop()
"""
    )
    assert "NetworkError r2 is crashed\nTrue\nTrue\n" in progress


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ("net.addLink(r1, r2)", "c is a client and has 0 links"),
        ("net.addLink(r1, r2, bw='x'); net.addLink(c, r1)", "bw='x'"),
        ("net.addLink(r1, r2); net.addLink(c, r1); r1.pid", "has no namespace before its network is built"),
        ("net.addLink(r1, r2); net.addLink(c, r1); r1.status()", "the network is not built yet"),
        ("from mininet.link import Link; net.addLink(r1, r2, cls=Link)", "say `link=WireLink`"),
        ("from mininet.node import Host; net.addLink(r1, net.addHost('h', cls=Host))", "not nodes of one"),
        ("net.addLink(r1, r2, cls=VethLink, delay='5ms'); net.addLink(c, r1)", "use NetemLink or WireLink"),
        ("net.addLink(r1, r2); net.addLink(c, r1); net.build(); net.addLink(c, r2)", "the network is built"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_a_reason_and_leaves_nothing(more: str, complaint: str) -> None:
    before = scripts_running()
    progress = script(f"{HEAD}\n{more}\nnet.build()\n", code=1)
    assert complaint in progress, progress
    assert scripts_running() <= before


def test_a_script_that_ends_without_stopping_its_network_leaves_nothing() -> None:
    progress = script(
        HEAD + 'net.addLink(r1, r2); net.addLink(c, r1); net.start(); print("up"); sys.exit(5)', 5
    )
    assert progress.endswith("up\n")
    assert not [path for path in NETNS.iterdir() if path.name.startswith("mininet-")] or scripts_running()


def test_a_wire_between_plain_hosts_delays_where_mininets_own_cannot() -> None:
    progress = script(
        """
from mininet.net import Mininet
from testbed.emu import echo
from testbed.emu.mininet import WireLink
import sys
net = Mininet(link=WireLink, controller=None)
a, b = net.addHost("a"), net.addHost("b")
net.addLink(a, b, delay="20ms")
net.start()
print([a.cmd(f"{sys.executable} {echo.__file__} {b.IP()}").strip() for _ in range(2)][1])
net.stop()
"""
    )
    assert float(progress.split()[0]) >= 40


def test_ip_netns_lists_the_namespaces_of_a_run_while_it_lives(
    bed: Any, second_bed: Any, progress: Any
) -> None:
    seen: list[str] = []

    def look() -> None:
        command = [
            "ip",
            "netns",
            "exec",
            f"{bed.run_id}.r1",
            "ip",
            "-brief",
            "address",
            "show",
            "dev",
            "r1-eth0",
        ]
        seen.append(output_of(command))
        seen.extend(path.name for path in shown(bed.run_id))

    progress.at_phase["workload"] = look
    assert bed.run(bed.plan(count=1), progress).outcome == "complete"
    assert "10.0.0.1/30" in seen[0]
    assert sorted(seen[1:]) == [f"{bed.run_id}.{name}" for name in ("a", "b", "c", "r1", "r2", "r3")]
    assert shown(bed.run_id) == []
    bed.assert_nothing_is_left()


FIRST_USE = """
mount -t tmpfs none /run
coproc holder { "$0" -m testbed.emu.namespace_holder one a b; }
read -r answer <&"${holder[0]}"
ip netns add other
ls /run/netns
process=$holder_PID
eval "exec ${holder[1]}>&-"
wait "$process"
echo then
ls /run/netns
"""


def test_names_can_be_taken_away_where_ip_netns_is_first_called_during_a_run() -> None:
    found = output_of(["unshare", "--mount", "bash", "-euc", FIRST_USE, sys.executable])
    assert found.split() == ["one.a", "one.b", "other", "then", "other"]


def test_names_go_when_a_run_is_killed_and_those_of_others_stay(
    bed: Any, until_phase: Any, sole_cleaner: Any
) -> None:
    process = bed.start(count=1000)
    until_phase(process, "workload")
    assert len(shown(bed.run_id)) == 6
    stranger = NETNS / f"{bed.run_id}.r1.other"
    stranger.touch()
    try:
        process.kill()
        process.communicate()
        clean()
        assert shown(bed.run_id) == []
        assert stranger.exists()
    finally:
        stranger.unlink()


def test_names_whose_holder_was_killed_go_with_clean(bed: Any, until_phase: Any, sole_cleaner: Any) -> None:
    process = bed.start(count=1000)
    until_phase(process, "workload")
    for pid in bed.processes():
        if b"namespace_holder" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, 9)
    process.kill()
    process.communicate()
    assert len(shown(bed.run_id)) == 6
    clean()
    assert shown(bed.run_id) == []


def test_hiding_what_was_never_shown_is_fine() -> None:
    hide("no-such-run")

"""`cbn metal`: machines that boot, answer, do what machines do, and leave nothing."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nodes.processes import environment_of
from testbed.cluster.hosts import Machine, read_hosts
from testbed.cluster.metal import groups, network, root_file_system
from testbed.cluster.metal import lab as labs
from testbed.cluster.metal.machine import MARK
from tests.cluster.conftest import PATIENCE_S, ROOT, Metal, call

pytestmark = pytest.mark.cluster

LABS = Path("/var/lib/cbn-metal")
NSPAWN = Path("/run/systemd/nspawn/propagate")


def traces(lab: str) -> list[str]:
    """All that there is of a lab on this machine."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    marked = [pid for pid in pids if environment_of(pid).get(MARK, "").startswith(f"{lab}/")]
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if lab in line]
    folders = [LABS / lab, *(root / groups.OURS / lab for root in groups.hierarchies())]
    links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout
    return [
        *(f"process {pid}" for pid in (*marked, *groups.members(lab))),
        *mounts,
        *(str(folder) for folder in folders if folder.exists()),
        *map(str, network.there(lab)),
        *map(str, NSPAWN.glob(f"{lab}-*")),
        *(line for line in links.splitlines() if line.startswith(("m1", "switch"))),
    ]


def in_machine(metal: Metal, lab: str, machine: str, command: str) -> str:
    done = metal("ssh", "--name", lab, machine, "--", command)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def three(metal: Metal) -> object:
    """A lab of three machines that tests of this file share, as `up --json` reports it."""
    name = f"test-{os.getpid()}-three"
    done = metal("up", 3, "--name", name, "--json")
    assert done.returncode == 0, done.stderr
    yield json.loads(done.stdout)
    metal("down", "--name", name)
    assert traces(name) == []


def test_machines_run_systemd_and_may_be_used_as_real_ones(metal: Metal, three: dict) -> None:
    name = three["name"]
    assert in_machine(metal, name, "m2", "hostname; cat /proc/1/comm; sudo id -un").split() == [
        "m2",
        "systemd",
        "root",
    ]
    assert in_machine(metal, name, "m1", "systemctl --failed --no-legend") == ""
    assert in_machine(metal, name, "m1", "sudo mnexec -n true; dpkg -s chrony | grep Status").endswith(
        "ok installed"
    )
    assert "tun" in in_machine(metal, name, "m1", "ls /dev/net")


def test_machines_reach_each_other_and_nothing_else(metal: Metal, three: dict) -> None:
    name = three["name"]
    assert "1 received" in in_machine(metal, name, "m1", "ping -c 1 -W 2 m3")
    routes = in_machine(metal, name, "m1", "ip -4 route").splitlines()
    assert [route.split()[0] for route in routes] == ["10.77.0.0/24"]


def test_what_a_machine_writes_is_in_no_other_and_not_in_the_cache(metal: Metal, three: dict) -> None:
    name = three["name"]
    in_machine(metal, name, "m1", "sudo touch /opt/mine")
    assert in_machine(metal, name, "m2", "ls /opt") == ""
    assert not (Path(three["hosts"]).parent / "m1" / "lower" / "opt" / "mine").exists()
    machines = ("m1", "m2", "m3")
    assert len({in_machine(metal, name, each, "cat /etc/ssh/*.pub") for each in machines}) == 3
    assert len({in_machine(metal, name, each, "cat /etc/machine-id") for each in machines}) == 3


def test_keys_are_made_for_each_lab_and_readable_by_root_alone(three: dict) -> None:
    folder = Path(three["hosts"]).parent
    assert stat.S_IMODE((folder / "id_ed25519").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    lower = folder / "m1" / "lower"
    assert list((lower / "etc" / "ssh").glob("ssh_host_*")) == []


def test_the_hosts_file_names_the_machines_and_status_what_they_do(metal: Metal, three: dict) -> None:
    hosts = read_hosts(Path(three["hosts"]))
    assert [(m.name, m.address, m.user) for m in hosts.machines] == [
        (f"m{n}", f"10.77.0.{n}", "admin") for n in (1, 2, 3)
    ]
    labs = {lab["name"]: lab for lab in json.loads(metal("status", "--json").stdout)["labs"]}
    assert labs[three["name"]]["state"] == "up"
    assert all(m["processes"] > 3 for m in labs[three["name"]]["machines"])
    assert [three["name"], "m1", "up", "10.77.0.1"] in [
        line.split()[:4] for line in metal("status").stdout.splitlines()
    ]


def test_three_machines_more_are_up_without_another_root_file_system(
    metal: Metal, three: dict, lab_name: str
) -> None:
    kept = sorted(root_file_system.cache_folder().iterdir())
    done = metal("up", 3, "--name", lab_name, "--json")
    assert done.returncode == 0, done.stderr
    assert "making a root file system" not in done.stderr
    assert sorted(root_file_system.cache_folder().iterdir()) == kept
    print(f"up after {json.loads(done.stdout)['took_s']} s")  # shown by pytest -rP
    assert metal("down", "--name", lab_name).returncode == 0
    assert traces(lab_name) == []


def test_a_machine_that_has_ended_is_told_and_its_lab_can_be_taken_away(
    metal: Metal, three: dict, lab_name: str
) -> None:
    assert metal("up", 2, "--name", lab_name, "--quiet").returncode == 0
    assert groups.kill(lambda _pid: True, 10, lab_name, "m1")
    rows = [line.split() for line in metal("status").stdout.splitlines()]
    states = {row[1]: row[2] for row in rows if row[0] == lab_name}
    assert states == {"m1": "down", "m2": "up"}
    assert metal("down", "--name", lab_name).returncode == 0
    assert traces(lab_name) == []


def registered(lab: str) -> bool:
    return (LABS / lab / "lab.json").exists()


def cabled(lab: str) -> bool:
    return len(network.there(lab)) >= 2


def booting(lab: str) -> bool:
    return bool(groups.members(lab))


def booted(lab: str) -> bool:
    return len(groups.members(lab, "m2")) > 4


@pytest.mark.parametrize("stage", [registered, cabled, booting, booted])
def test_nothing_is_left_of_a_lab_whose_making_was_killed(
    metal: Metal, three: dict, lab_name: str, stage: Callable[[str], bool]
) -> None:
    with subprocess.Popen(call("up", 2, "--name", lab_name, "--quiet")) as making:
        deadline = time.monotonic() + PATIENCE_S
        while not stage(lab_name) and making.poll() is None and time.monotonic() < deadline:
            pass
        making.kill()
    assert traces(lab_name) != []
    state = next(x for x in json.loads(metal("status", "--json").stdout)["labs"] if x["name"] == lab_name)
    assert state["state"] == "broken"
    done = metal("down", "--name", lab_name)
    assert done.returncode == 0, done.stderr
    assert traces(lab_name) == []


def test_processes_are_found_while_groups_come_and_go(lab_name: str) -> None:
    tops = groups.make(lab_name)
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            for top in tops:
                (top / "slice" / "service").mkdir(parents=True)
                (top / "slice" / "service").rmdir()
                (top / "slice").rmdir()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert [groups.members(lab_name) for _ in range(500)] == [set()] * 500
    finally:
        done.set()
        thread.join()
        groups.remove(lab_name)
    assert [top for top in tops if top.exists()] == []


def test_nothing_is_left_of_a_root_file_system_whose_making_was_killed(
    metal: Metal, lab_name: str, tmp_path: Path
) -> None:
    cache = tmp_path / "cbn"
    command = call("up", 1, "--name", lab_name, "--quiet", XDG_CACHE_HOME=str(tmp_path))
    with subprocess.Popen(command) as making:
        deadline = time.monotonic() + PATIENCE_S
        while not list(cache.glob("*/root/*")) and making.poll() is None and time.monotonic() < deadline:
            pass
        making.kill()
    assert metal("down", "--name", lab_name, XDG_CACHE_HOME=str(tmp_path)).returncode == 0
    assert [path.name for path in cache.iterdir()] == ["lock"]
    assert traces(lab_name) == []


def test_a_signal_while_machines_boot_takes_them_away(metal: Metal, three: dict, lab_name: str) -> None:
    making = subprocess.Popen(call("up", 2, "--name", lab_name, "--quiet"), stderr=subprocess.PIPE)
    deadline = time.monotonic() + PATIENCE_S
    while not booting(lab_name) and time.monotonic() < deadline:
        pass
    making.terminate()
    assert making.wait(PATIENCE_S) == 143
    assert traces(lab_name) == []


def test_a_machine_that_takes_long_to_boot_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "LOGIN_TIMEOUT_S", 0.1)
    silent = Machine("slow", "192.0.2.1", ssh=(("ProxyCommand", "sleep 60"),))
    assert labs.boot_state(silent) == ("", "it is still starting after 0.1 s")


def test_mistakes_are_answered_with_what_to_do(metal: Metal, three: dict) -> None:
    name = three["name"]
    for arguments, code, text in [
        (("up", 3, "--name", name), 4, f"cbn metal down --name {name}"),
        (("up", 0), 2, "expected 1 to 64"),
        (("up", 1, "--name", "Lab 1"), 4, "is no name of a lab"),
        (("down", "--name", "nobody"), 2, "there is no lab 'nobody'"),
        (("ssh", "--name", name, "m9"), 2, "no machine 'm9'; machines: m1, m2, m3"),
    ]:
        done = metal(*arguments)
        assert done.returncode == code, done.stderr
        assert text in done.stderr


def hiding(mount: str, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command where something is mounted that nobody else sees."""
    script = f'mount {mount} && exec "$@"'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "hiding", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def test_a_program_that_is_missing_is_named_with_its_package(lab_name: str) -> None:
    program = shutil.which("mmdebstrap")
    done = hiding(f"--bind /dev/null {program}", call("up", 1, "--name", lab_name))
    assert done.returncode == 3
    assert "`mmdebstrap` is missing: `apt install mmdebstrap`" in done.stderr


def test_a_cache_without_room_is_named(lab_name: str, tmp_path: Path) -> None:
    command = call("up", 1, "--name", lab_name, "--quiet", XDG_CACHE_HOME=str(tmp_path))
    done = hiding(f"-t tmpfs -o size=1m tmpfs {tmp_path}", command)
    assert done.returncode == 3
    assert "GB free, and making a root file system takes 1.5 GB" in done.stderr
    assert traces(lab_name) == []


def test_without_root_one_is_told_so() -> None:
    nobody = ["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all"]
    command = [*nobody, sys.executable, "-m", "testbed.cli", "metal", "up", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "needs root" in done.stderr


def test_the_root_file_system_depends_on_the_packages_it_is_made_of() -> None:
    packages = root_file_system.wanted_packages()
    assert {"systemd", "openssh-server", "python3", "mininet"} <= set(packages)
    assert len(set(packages)) == len(packages)

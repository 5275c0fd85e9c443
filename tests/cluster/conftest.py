"""Labs for tests: machines of their own names, so that tests of several clones do not meet."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from testbed.cluster.hosts import read_hosts
from testbed.cluster.inventory import inventory
from testbed.cluster.ssh import ssh_command

ROOT = Path(__file__).parents[2]
MACHINES = ("m1", "m2", "m3")
_NUMBERS = itertools.count(1)
PATIENCE_S = 120
"""How long is waited for what comes, on a machine that does much else."""
Metal = Callable[..., "subprocess.CompletedProcess[str]"]
Cbn = Callable[..., "subprocess.CompletedProcess[str]"]


def call(*arguments: object, **environment: str) -> list[str]:
    """The command line of `cbn metal`, with more variables in its environment."""
    variables = [f"{name}={value}" for name, value in {"PYTHONPATH": str(ROOT), **environment}.items()]
    return ["env", *variables, sys.executable, "-m", "testbed.cli", "metal", *map(str, arguments)]


@pytest.fixture(scope="session")
def metal() -> Metal:
    """`metal(*arguments)`: `cbn metal` as a finished process, with its code and what it printed."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        command = call(*arguments, **environment)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)

    return run


@pytest.fixture
def cbn(tmp_path: Path) -> Cbn:
    """`cbn(*words)` in the test's folder: the finished process, with its code and what it printed."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "100"}

    def call(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "testbed.cli", *map(str, words)]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    return call


@pytest.fixture
def lab_name(metal: Metal) -> Iterator[str]:
    """The name of a lab that nobody else has; it is taken away if it is there at the end."""
    name = f"test-{os.getpid()}-{next(_NUMBERS)}"
    yield name
    metal("down", "--name", name)


RECAP = re.compile(r"^(\w+)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Played:
    """How a playbook ended."""

    code: int
    text: str
    took_s: float

    @property
    def changed(self) -> dict[str, int]:
        """How many tasks changed something, by machine."""
        return {machine: int(changed) for machine, changed, _, _ in RECAP.findall(self.text)}


@dataclass(frozen=True)
class Cluster:
    """Machines of this file's tests."""

    hosts_file: Path
    inventory: Path
    bare: Mapping[str, str] = field(default_factory=dict)
    """Everything on each machine, before anything was provisioned."""

    def play(self, *options: str, playbook: str = "site.yml") -> Played:
        """Play a playbook."""
        programs = Path(sys.executable).parent
        command = [programs / "ansible-playbook", "-i", self.inventory, f"playbooks/{playbook}", *options]
        environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1"}
        began = time.monotonic()
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
        return Played(done.returncode, done.stdout + done.stderr, time.monotonic() - began)

    def is_current(self, machine: str) -> bool:
        """Whether a machine has the package as it is in this tree."""
        digest = hashlib.sha256(WHEELS.read_bytes()).hexdigest()[:16]
        return self.on(machine, "readlink /opt/cbn/current || true") == f"/opt/cbn/{digest}"

    def on(self, machine: str, command: str) -> str:
        """What a command prints on a machine."""
        call = ssh_command(read_hosts(self.hosts_file).machine(machine), [command])
        return subprocess.run(
            call, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        ).stdout.strip()

    def everything(self, machine: str) -> str:
        """What a machine has: accounts, packages, and files but for those that it writes by itself."""
        return self.on(machine, _EVERYTHING)


_OWN = ("proc", "sys", "run", "tmp", "var/tmp", "var/log", "var/cache", "var/lib/systemd", "var/lib/chrony")
_LEFT_OUT = [*(f"-path /{path}" for path in _OWN), "-name .ansible", "-name __pycache__", "-path '/etc/*-'"]
_EVERYTHING = (
    rf"sudo find / -xdev \( {' -o '.join(_LEFT_OUT)} \) -prune -o"
    r" -type d -printf '%p %m %u:%g\n' -o -printf '%p %y %m %u:%g %s %l\n' | sort;"
    " getent passwd; getent group; dpkg-query --show; systemctl list-unit-files --no-legend"
)
WHEELS = ROOT / "build" / "wheels.tar"


@pytest.fixture(scope="session")
def cluster(metal: Metal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three machines, bare at first; tests of playbooks and of runs share them."""
    name = f"test-{os.getpid()}-cluster"
    done = metal("up", 3, "--name", name, "--json")
    assert done.returncode == 0, done.stderr
    try:
        hosts_file = Path(json.loads(done.stdout)["hosts"])
        path = tmp_path_factory.mktemp("cluster") / "inventory.json"
        path.write_text(json.dumps(inventory(read_hosts(hosts_file))))
        subprocess.run(["make", "wheels"], cwd=ROOT, check=True, capture_output=True)
        made = Cluster(hosts_file, path)
        yield replace(made, bare={machine: made.everything(machine) for machine in MACHINES})
    finally:
        metal("down", "--name", name)


@pytest.fixture(scope="session")
def provisioned(cluster: Cluster) -> Cluster:
    """The same machines, with this tree's version of the package."""
    if not all(cluster.is_current(machine) for machine in MACHINES):
        played = cluster.play()
        assert played.code == 0, played.text
    return cluster


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


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """A scenario of three routers, with faults."""
    path = tmp_path / "ring.yaml"
    path.write_text(RING)
    return path

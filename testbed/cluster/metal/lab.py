"""Labs: machines on this machine that belong together, made, found again and taken away.

All that a lab has is found from its name: its folder (record, keys, layers of the
machines), network namespaces and control groups. So a lab is taken away whole, also if
what made it was killed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodes.processes import Owner
from testbed.cluster.hosts import Hosts, Machine, read_hosts
from testbed.cluster.metal import groups, machine, network, root_file_system
from testbed.cluster.metal.machine import Booted
from testbed.cluster.metal.programs import MetalError, UnableError, machine_problems
from testbed.cluster.metal.root_file_system import ACCOUNT, Say
from testbed.cluster.ssh import ssh_command
from testbed.runs.whole_files import write_whole

MOST_MACHINES = 64
HOSTS_FILE = "hosts.yaml"
RECORD = "lab.json"
BOOT_TIMEOUT_S = 120.0
LOGIN_TIMEOUT_S = 15.0
MACHINE_BYTES = 500_000_000
"""Free space that a machine takes once it is provisioned."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?")
_ROOT = Path("/var/lib/cbn-metal")
_READY = ["sudo", "-n", "systemctl", "is-system-running", "--wait"]
_BOOTED_STATES = ("running", "degraded")


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab as its record has it."""

    name: str
    owner: Owner | None
    """Who makes it; None: its record cannot be read."""
    state: str
    """`starting` until all machines answered, then `up`."""
    started_s: float
    machines: tuple[Booted, ...]

    @property
    def folder(self) -> Path:
        """Where all its files are."""
        return _folder(self.name)

    @property
    def hosts_file(self) -> Path:
        """The machines as clusters take them."""
        return self.folder / HOSTS_FILE

    @property
    def condition(self) -> str:
        """`starting`, `up`, `broken` (what made it was killed) or `down` (a machine does not run)."""
        if self.state == "starting":
            return "starting" if self.owner is not None and self.owner.alive() else "broken"
        return "up" if all(each.pids for each in self.machines) else "down"

    def hosts(self) -> Hosts:
        """How to reach its machines."""
        return read_hosts(self.hosts_file)


def up(name: str, count: int, say: Say) -> Lab:
    """Boot so many machines, and wait until one can log in to all; if that fails, nothing is left.

    Raises:
        MetalError: They cannot be booted.
    """
    _check(name, count)
    with _made(name, count) as lab:
        lower = root_file_system.root_file_system(say)
        hosts = _lay_out(lab, lower)
        network.build(name, {each.name: each.address for each in lab.machines})
        processes = {each.name: machine.boot(each) for each in lab.machines}
        for each in lab.machines:
            _await_login(each, hosts.machine(each.name), processes[each.name])
        _record(lab.folder, lab.started_s, "up", [each.name for each in lab.machines])
    return find(name)


def down(name: str) -> None:
    """Take a lab away, whatever there is of it.

    Raises:
        MetalError: Something of it could not be removed.
    """
    lab = find(name)
    names = {each.name for each in lab.machines} | _machines_by_groups(name)
    if lab.condition == "starting" and lab.owner != Owner.this_process():
        raise MetalError(f"the lab {name} is just being made, by process {lab.owner}: end that first")
    for each in sorted(names):
        machine.end(name, each)
    groups.remove(name)
    network.remove(name)
    shutil.rmtree(lab.folder)
    if not any(_ROOT.iterdir()):
        _ROOT.rmdir()
    root_file_system.remove_abandoned()


def find(name: str) -> Lab:
    """The lab of that name.

    Raises:
        MetalError: There is none.
    """
    folder = _folder(name)
    if not folder.is_dir():
        known = ", ".join(lab.name for lab in labs()) or "none"
        raise MetalError(f"there is no lab {name!r}; labs: {known}. `cbn metal up 3` makes one")
    return _read(folder)


def labs() -> list[Lab]:
    """All labs, in order of their names."""
    folders = sorted(_ROOT.iterdir()) if _ROOT.is_dir() else []
    return [_read(folder) for folder in folders if folder.is_dir()]


def login(lab: Lab, name: str, command: Sequence[str] = ()) -> list[str]:
    """The call of ssh that runs a command on a machine of the lab, or a shell.

    Raises:
        MetalError: There is no such machine.
    """
    if name not in {each.name for each in lab.machines}:
        known = ", ".join(each.name for each in lab.machines)
        raise MetalError(f"the lab {lab.name} has no machine {name!r}; machines: {known}")
    return ssh_command(lab.hosts().machine(name), command)


def _folder(name: str) -> Path:
    return _ROOT / name


def _check(name: str, count: int) -> None:
    if not _NAME.fullmatch(name):
        raise MetalError(
            f"{name!r} is no name of a lab: expected up to 24 lower-case letters, digits and dashes"
        )
    if problems := machine_problems():
        raise UnableError("; ".join(problems))
    if _folder(name).exists():
        raise MetalError(f"there is a lab {name} already: `cbn metal down --name {name}` takes it away")
    free = shutil.disk_usage("/var/lib").free
    if free < count * MACHINE_BYTES:
        raise UnableError(
            f"/var/lib has {free / 1e9:.1f} GB free, and {count} machines may take "
            f"{count * MACHINE_BYTES / 1e9:.1f} GB"
        )


@contextmanager
def _made(name: str, count: int) -> Iterator[Lab]:
    """A lab that is registered; if the block fails, it is taken away."""
    folder = _folder(name)
    names = [f"m{number}" for number in range(1, count + 1)]
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise MetalError(f"another process is just making a lab {name}") from None
    try:
        _record(folder, time.time(), "starting", names)
        yield _read(folder)
    except BaseException:
        down(name)
        raise


def _record(folder: Path, started_s: float, state: str, names: Sequence[str]) -> None:
    record = {
        "owner": str(Owner.this_process()),
        "state": state,
        "started_s": started_s,
        "machines": list(names),
    }
    write_whole(folder / RECORD, json.dumps(record) + "\n")


def _read(folder: Path) -> Lab:
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:  # whoever was about to write it was killed
        record = {"owner": "", "state": "starting", "started_s": 0.0, "machines": []}
    names = enumerate(record["machines"], 1)
    machines = (Booted(folder.name, each, network.address_of(n), folder / each) for n, each in names)
    owner = Owner.parse(record["owner"])
    return Lab(folder.name, owner, record["state"], record["started_s"], tuple(machines))


def _machines_by_groups(lab: str) -> set[str]:
    folders = [root / groups.OURS / lab for root in groups.hierarchies()]
    return {path.name for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_dir()}


def _lay_out(lab: Lab, lower: Path) -> Hosts:
    """Write the keys, the machines' layers and `hosts.yaml`."""
    key = lab.folder / "id_ed25519"
    machine.make_key(key, f"cbn-metal-{lab.name}")
    authorized = key.with_suffix(".pub").read_text(encoding="ascii")
    names = "".join(f"{each.address} {each.name}\n" for each in lab.machines)
    known = ""
    for each in lab.machines:
        public = machine.lay_out(each, lower, authorized, names)
        known += f"{each.address} {' '.join(public.split()[:2])}\n"
    (lab.folder / "known_hosts").write_text(known, encoding="ascii")
    return _write_hosts(lab)


def _write_hosts(lab: Lab) -> Hosts:
    enter = f"nsenter --net={network.namespace(lab.name)} {sys.executable} -I"
    connect = Path(__file__).with_name("connect.py")
    listed: dict[str, Any] = {
        "user": ACCOUNT,
        "key": "id_ed25519",
        "known_hosts": "known_hosts",
        "ssh": {"ProxyCommand": f"{enter} {connect} %h %p", "ProxyUseFdpass": "yes"},
        "machines": {each.name: {"address": each.address} for each in lab.machines},
    }
    # JSON is YAML, too.
    lab.hosts_file.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    return read_hosts(lab.hosts_file)


def _await_login(booted: Booted, target: Machine, process: subprocess.Popen[bytes]) -> None:
    """Wait until systemd in the machine has started everything, and says so over SSH."""
    deadline = time.monotonic() + BOOT_TIMEOUT_S
    why = ""
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise MetalError(f"{booted.name} ended while it booted: {machine.last_words(booted)}")
        state, why = boot_state(target)
        if state in _BOOTED_STATES:
            return
        time.sleep(groups.POLL_S)
    raise MetalError(
        f"nobody could log in to {booted.name} within {BOOT_TIMEOUT_S:g} s: {why}; "
        f"the last line of its console: {machine.last_words(booted)}"
    )


def boot_state(target: Machine) -> tuple[str, str]:
    """What systemd says of a machine once it has started everything; else why it says nothing."""
    try:
        done = subprocess.run(
            ssh_command(target, _READY),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LOGIN_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"it is still starting after {LOGIN_TIMEOUT_S:g} s"
    return done.stdout.strip(), (done.stderr.strip() or done.stdout.strip() or "no answer").splitlines()[-1]

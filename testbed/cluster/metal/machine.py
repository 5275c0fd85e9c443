"""One machine: its layer over the root file system, how it is booted and how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from nodes.processes import environment_of
from testbed.cluster.metal import groups, network
from testbed.cluster.metal.programs import MetalError, run
from testbed.cluster.metal.root_file_system import ACCOUNT, ACCOUNT_ID

LOG = "console.log"
MARK = "CBN_METAL"
"""The environment variable that names the lab and machine to a process that boots one."""
END_TIMEOUT_S = 10.0
NSPAWN_END_S = 3.0
_NSPAWN = Path("/run/systemd/nspawn")
_DEVICES = ("/dev/net/tun", "/dev/fuse")
"""What links are made of, and folders that are mounted over SSH."""
_BOOT = """set -eu
for group in $CBN_METAL_GROUPS; do echo $$ > "$group/cgroup.procs"; done
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work root
exec systemd-nspawn "$@"
"""
"""In a mount namespace of its own: what is mounted ends with the machine."""


@dataclass(frozen=True, slots=True)
class Booted:
    """A machine of a lab, running or not."""

    lab: str
    name: str
    address: str
    folder: Path

    @property
    def log(self) -> Path:
        """What its console shows."""
        return self.folder / LOG

    @property
    def pids(self) -> set[int]:
        """Its processes, those of systemd-nspawn among them."""
        return groups.members(self.lab, self.name)


def lay_out(machine: Booted, lower: Path, authorized: str, hosts: str) -> str:
    """Make the machine's folders, with what is its own: name, keys; returns its public key.

    Raises:
        MetalError: ssh-keygen failed.
    """
    for name in ("upper", "work", "root"):
        (machine.folder / name).mkdir(parents=True)
    (machine.folder / "lower").symlink_to(lower)
    upper = machine.folder / "upper"
    keys = upper / "etc" / "ssh"
    keys.mkdir(parents=True)
    host_key = keys / "ssh_host_ed25519_key"
    make_key(host_key, machine.name)
    _write(upper / "etc" / "hostname", f"{machine.name}\n")
    _write(upper / "etc" / "hosts", f"127.0.0.1 localhost\n{hosts}")
    home = upper / "home" / ACCOUNT
    (home / ".ssh").mkdir(mode=0o700, parents=True)
    _write(home / ".ssh" / "authorized_keys", authorized)
    for path in (home, home / ".ssh", home / ".ssh" / "authorized_keys"):
        os.chown(path, ACCOUNT_ID, ACCOUNT_ID)
    return host_key.with_suffix(".pub").read_text(encoding="ascii")


def make_key(path: Path, comment: str) -> None:
    """A pair of keys; the private one may be read by its owner alone.

    Raises:
        MetalError: ssh-keygen failed.
    """
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])


def boot(machine: Booted) -> subprocess.Popen[bytes]:
    """Start the machine; it runs on when this process ends.

    Raises:
        MetalError: It has no control group.
    """
    own = groups.make(machine.lab, machine.name)
    settings = {
        "--directory": "root",
        "--machine": f"{machine.lab}-{machine.name}",
        "--hostname": machine.name,
        "--network-namespace-path": str(network.namespace(machine.lab, machine.name)),
        "--kill-signal": "SIGRTMIN+3",
        "--capability": "CAP_NET_ADMIN,CAP_IPC_LOCK",
        "--register": "no",
        "--link-journal": "no",
        "--resolv-conf": "off",
        "--timezone": "off",
        "--console": "read-only",
    }
    nspawn = ["--quiet", "--boot", "--keep-unit", *(f"{name}={value}" for name, value in settings.items())]
    nspawn += [f"--bind={device}" for device in _DEVICES if Path(device).exists()]
    marks = {
        MARK: f"{machine.lab}/{machine.name}",
        "CBN_METAL_GROUPS": " ".join(str(group) for group in own),
        "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network",
    }
    with machine.log.open("wb") as log:
        return subprocess.Popen(
            ["unshare", "--mount", "--", "sh", "-c", _BOOT, "boot", *nspawn],
            cwd=machine.folder,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"} | marks,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def last_words(machine: Booted) -> str:
    """The last line on its console."""
    lines = machine.log.read_text(errors="replace").strip().splitlines() if machine.log.is_file() else []
    return lines[-1] if lines else "its console is empty"


def end(lab: str, name: str) -> None:
    """Take a machine's power away, and remove what it has in the kernel.

    systemd-nspawn is given a while to end by itself: it removes files of its own.

    Raises:
        MetalError: A process did not end when killed.
    """
    for pid in _starting(f"{lab}/{name}"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    groups.kill(lambda pid: not _is_nspawn(pid), END_TIMEOUT_S, lab, name)
    groups.await_empty(NSPAWN_END_S, lab, name)
    if not groups.kill(lambda _pid: True, END_TIMEOUT_S, lab, name):
        left = sorted(groups.members(lab, name))
        raise MetalError(f"{name}: processes did not end when killed: {left}")
    groups.remove(lab, name)
    _remove_nspawn_files(f"{lab}-{name}")


def _starting(mark: str) -> list[int]:
    """Processes that are about to become this machine, and may not be in its group yet."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [pid for pid in pids if environment_of(pid).get(MARK) == mark and not _is_nspawn(pid)]


def _is_nspawn(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8") == "systemd-nspawn\n"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _remove_nspawn_files(nspawn_name: str) -> None:
    """What systemd-nspawn leaves in /run, and its folders there if nothing else is in them."""
    folders = (_NSPAWN / "propagate" / nspawn_name, _NSPAWN / "propagate", _NSPAWN / "locks", _NSPAWN)
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")

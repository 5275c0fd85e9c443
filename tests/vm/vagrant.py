"""Vagrant and its machines, as `make test-vm` uses them; what each stage took is printed at the end."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
BOX = ROOT / "build/lab.box"
REPORTS_PORT = 18080
STAGES: list[tuple[str, float]] = []
"""What was done, and how many seconds it took."""


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Note how long something takes."""
    print(f"==> {name}", flush=True)
    began = time.monotonic()
    yield
    STAGES.append((name, time.monotonic() - began))


def vagrant(*arguments: str, timeout_s: float = 1700, **environment: str) -> subprocess.CompletedProcess[str]:
    """Calls Vagrant on the project's Vagrantfile and the project's own box; both outputs are in `stdout`."""
    settings = {"CBN_BOX": str(BOX), "CBN_PORT": str(REPORTS_PORT), "VAGRANT_CHECKPOINT_DISABLE": "1"}
    return subprocess.run(
        ["vagrant", *arguments],
        cwd=ROOT,
        env={**os.environ, **settings, **environment},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
    )


def machines_left() -> list[str]:
    """What libvirt knows of the project's machines, up or not, and of their disks."""
    machines = subprocess.run(
        ["virsh", "list", "--all", "--name"], check=True, capture_output=True, text=True
    )
    disks = subprocess.run(["virsh", "vol-list", "default"], check=True, capture_output=True, text=True)
    own = [
        line.split()[0] for line in disks.stdout.splitlines() if ".img" in line and "_box_image" not in line
    ]
    return machines.stdout.split() + own


class Guest:
    """A machine that is up, over one connection of ssh: `vagrant ssh` takes seconds for each command."""

    def __init__(self, name: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self._config = folder / f"ssh-{name}"
        shown = vagrant("ssh-config", name, **environment)
        assert shown.returncode == 0, shown.stdout
        shared = (
            f"  ControlMaster auto\n  ControlPath {folder}/%C\n  ControlPersist 600\n  ConnectTimeout 30\n"
        )
        self._config.write_text(shown.stdout.rstrip() + "\n" + shared)

    def run(self, command: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """Carries out a line of shell; both outputs are in `stdout`."""
        line = ["ssh", "-F", str(self._config), self.name, f"exec 2>&1; {command}"]
        return subprocess.run(
            line,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
        )

    def output(self, command: str, timeout_s: float = 120) -> str:
        """What a line of shell prints, which has to succeed."""
        done = self.run(command, timeout_s)
        assert done.returncode == 0, f"{shlex.quote(command)} on {self.name}:\n{done.stdout[-4000:]}"
        return done.stdout

    def close(self) -> None:
        """Ends the connection."""
        subprocess.run(
            ["ssh", "-F", str(self._config), "-O", "exit", self.name], check=False, capture_output=True
        )

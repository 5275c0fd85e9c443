"""Programs of this machine: which are needed, and how they are run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

PACKAGES = {
    "mmdebstrap": "mmdebstrap",
    "systemd-nspawn": "systemd-container",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}
"""Program -> the Debian package that has it."""
TIMEOUT_S = 30.0


class MetalError(RuntimeError):
    """A machine could not be made, or taken away; the text says why."""


class UnableError(MetalError):
    """This machine cannot do it at all."""


def machine_problems() -> list[str]:
    """Why no machines can be booted here; empty if they can."""
    found = [] if os.geteuid() == 0 else ["booting machines needs root: use sudo"]
    missing = [name for name in PACKAGES if shutil.which(name, path=_path()) is None]
    return found + [f"the program `{name}` is missing: `apt install {PACKAGES[name]}`" for name in missing]


def run(command: Sequence[str], text: str = "", seconds: float = TIMEOUT_S) -> str:
    """Run a program to its end; returns what it printed.

    Raises:
        MetalError: It failed; the text has its last line.
    """
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise MetalError(f"`{' '.join(command)}` has not ended after {seconds:g} s") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()[-1]
        raise MetalError(f"`{' '.join(command)}` failed: {last}")
    return done.stdout


def _path() -> str:
    """The folders of programs, with those that an ordinary account's PATH lacks."""
    return os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"

"""What people do on the machine of a node: start processes in its namespace, programs too, read its log."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.cluster.agents import PYTHON
from testbed.cluster.program_files import PROGRAMS, TooMuchError, pack
from testbed.cluster.protocol import RUNS
from testbed.cluster.ssh import as_root, explained
from testbed.cluster.unit import ACCOUNT
from testbed.emu.attachment import ATTACHED_MARK, neighbourhood
from testbed.live.fabric import NetworkError
from testbed.live.registry import Running

LOGIN = "login"
"""In what is known of a node: the call of ssh that logs in to its machine."""


def command_on(run: Running, node: str, command: list[str]) -> list[str]:
    """The command line that runs a command, or a shell, in a node's namespace, as root of its machine."""
    given = {}
    if not command:
        given["PS1"] = f"[{run.name} {node}] \\w \\$ "
    return _inside(run, node, given, command or ["bash", "--norc"])


def program_command(run: Running, node: str, program: list[str], given: Mapping[str, str]) -> list[str]:
    """The command line that runs a program in a client's place, as the account of nodes of its machine.

    It starts in the folder that `send_folder` has made, or in the one of runs, with these in its environment.
    """
    about = {"PATH": f"{Path(PYTHON).parent}:{os.defpath}", "HOME": str(RUNS), **given}
    words = ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups", "--", *program]
    return _inside(run, node, about, words, folder=_program_folder(run, node))


def send_folder(run: Running, node: str, folder: Path | None) -> None:
    """Make the folder that a client's program is started in, with the files of this one.

    Raises:
        NetworkError: that cannot be done.
    """
    to = _program_folder(run, node)
    making = f"install -d -o {ACCOUNT} -g {ACCOUNT} {to}"
    packed = b""
    if folder is not None:
        packed = _packed(folder)
        making += f" && tar --extract --gzip --no-same-owner --directory {to} && chown -R {ACCOUNT}: {to}"
    program, *options = run.record["nodes"][node][LOGIN]
    command = [program, *options, *as_root(["sh", "-c", making])]
    done = subprocess.run(command, input=packed, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise NetworkError(f"the program cannot be sent: {explained(done.stderr.decode().strip())}")


def _packed(folder: Path) -> bytes:
    try:
        return base64.b64decode(pack(folder))
    except (TooMuchError, OSError) as error:
        raise NetworkError(f"the program cannot be sent: {error}") from error


def _program_folder(run: Running, node: str) -> Path:
    return RUNS / run.run_id / PROGRAMS / node


def _inside(
    run: Running, node: str, given: Mapping[str, str], words: list[str], folder: Path | None = None
) -> list[str]:
    about: dict[str, Any] = run.record["nodes"][node]
    marks = {"CBN_NETWORK": run.name, "CBN_NAME": node, ATTACHED_MARK: run.run_id}
    settings = [f"{name}={value}" for name, value in {**marks, **neighbourhood(about), **given}.items()]
    place = ["--chdir", str(folder)] if folder is not None else []
    terminal = ["-t"] if sys.stdin.isatty() else []
    program, *options = about[LOGIN]
    command = ["ip", "netns", "exec", f"{run.run_id}.{node}", "env", *place, *settings, *words]
    return [program, *terminal, *options, *as_root(command)]


def log_command(run: Running, node: str, follow: bool) -> list[str]:
    """The command line that prints a node's log, which is on its machine until the network is ended."""
    words = ["tail", "--lines", "+1", *(["--follow"] if follow else [])]
    log = RUNS / run.run_id / "logs" / f"{node}.jsonl"
    program, *options = run.record["nodes"][node][LOGIN]
    return [program, *options, *as_root([*words, str(log)])]

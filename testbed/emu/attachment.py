"""Processes that people start in the namespaces of a running network: how, and how they end with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from nodes.daemon import kernel
from nodes.processes import OWNER_MARK, RUN_MARK, environment_of
from testbed.live.registry import Running

ATTACHED_MARK = "CBN_ATTACHED"
RC_FILE = "attach.rc"
GRACE_S = 2.0
_RC = """\
[ -f ~/.bashrc ] && . ~/.bashrc
PS1='[$CBN_NETWORK $CBN_NAME] \\w \\$ '
"""


def write_rc(folder: Path) -> None:
    """What a shell in a namespace reads when it starts: whose it is stands in its prompt."""
    (folder / RC_FILE).write_text(_RC, encoding="utf-8")


def command_in(run: Running, node: str, command: list[str]) -> list[str]:
    """The command line that runs a command, or a shell, in a node's namespace."""
    shell = ["bash", "--rcfile", str(run.folder / RC_FILE)]
    # `env` for its exit codes: 127 for a program that is not there.
    return ["mnexec", "-a", str(run.record["nodes"][node]["pid"]), "env", "--", *(command or shell)]


def variables(run: Running, node: str) -> dict[str, str]:
    """The environment of a process in a node's namespace: this one's, the run's marks, and who is where."""
    about: Mapping[str, Any] = run.record["nodes"][node]
    return {
        **os.environ,
        RUN_MARK: run.run_id,
        OWNER_MARK: str(run.owner),
        ATTACHED_MARK: run.run_id,
        "CBN_NETWORK": run.name,
        "CBN_NAME": node,
        "CBN_NODE": str(Path(run.record["directory"]) / "config" / f"{node}.toml"),
        "CBN_DIRECTORY": str(run.record["directory"]),
        "CBN_ADMIN": str(run.folder / f"{about['id']}.sock"),
        **neighbourhood(about),
    }


def neighbourhood(about: Mapping[str, Any]) -> dict[str, str]:
    """Who is where, as variables of the environment."""
    interfaces = about["interfaces"]
    return {
        "CBN_ADDRESSES": " ".join(f"{i['name']}={i['address']}" for i in interfaces),
        "CBN_NEIGHBOURS": " ".join(f"{i['peer']}={i['peer_address']}" for i in interfaces),
    }


def end_attached(run_id: str) -> int:
    """Hang up on whoever is still attached, as a terminal does that closes; returns how many those were."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    attached = [pid for pid in pids if _is_attached(pid, run_id)]
    for pid in attached:
        kernel.end_process(pid, partial(_is_attached, pid, run_id), (signal.SIGHUP, signal.SIGKILL), GRACE_S)
    return len(attached)


def _is_attached(pid: int, run_id: str) -> bool:
    return environment_of(pid).get(ATTACHED_MARK) == run_id

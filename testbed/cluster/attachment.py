"""Processes that people start in the namespaces of nodes on other machines."""

from __future__ import annotations

import sys
from typing import Any

from testbed.cluster.ssh import as_root
from testbed.emu.attachment import ATTACHED_MARK, neighbourhood
from testbed.live.registry import Running

LOGIN = "login"
"""In what is known of a node: the call of ssh that logs in to its machine."""


def command_on(run: Running, node: str, command: list[str]) -> list[str]:
    """The command line that runs a command, or a shell, in a node's namespace, as root of its machine."""
    about: dict[str, Any] = run.record["nodes"][node]
    given = {"CBN_NETWORK": run.name, "CBN_NAME": node, ATTACHED_MARK: run.run_id, **neighbourhood(about)}
    if not command:
        given["PS1"] = f"[{run.name} {node}] \\w \\$ "
    settings = [f"{name}={value}" for name, value in given.items()]
    words = [
        "ip",
        "netns",
        "exec",
        f"{run.run_id}.{node}",
        "env",
        *settings,
        *(command or ["bash", "--norc"]),
    ]
    terminal = ["-t"] if sys.stdin.isatty() else []
    program, *options = about[LOGIN]
    return [program, *terminal, *options, *as_root(words)]

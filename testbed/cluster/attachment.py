"""What people do on the machine of a node: start processes in its namespace, read its log."""

from __future__ import annotations

import sys
from typing import Any

from testbed.cluster.protocol import RUNS
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


def log_command(run: Running, node: str, follow: bool) -> list[str]:
    """The command line that prints a node's log, which is on its machine until the network is ended."""
    words = ["tail", "--lines", "+1", *(["--follow"] if follow else [])]
    log = RUNS / run.run_id / "logs" / f"{node}.jsonl"
    program, *options = run.record["nodes"][node][LOGIN]
    return [program, *options, *as_root([*words, str(log)])]

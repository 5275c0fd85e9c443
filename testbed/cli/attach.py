"""`cbn attach` and `cbn mininet`: into the namespaces of a running network."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from testbed.cli import exits
from testbed.cli.networks import choose, talk
from testbed.emu.attachment import command_in, variables
from testbed.emu.running import Running
from testbed.plan.problems import did_you_mean


def attach(args: argparse.Namespace) -> NoReturn:
    """Become a shell, or a command, in a node's namespace; its exit code is ours."""
    name, command = _split(args.run, args.rest)
    run = choose(name)
    node = node_of(run, args.node)
    line = command_in(run, node, command)
    if not command and sys.stdin.isatty():
        print(f"A shell in the namespace of {node}; `exit` leaves it, the network goes on.", file=sys.stderr)
    sys.stdout.flush()
    os.execvpe(line[0], line, variables(run, node))


def mininet(args: argparse.Namespace) -> int:
    """Mininet's own command line on a running network."""
    with talk(args.run) as (run, caller):
        from mininet.log import setLogLevel

        from testbed.emu.mininet_view import MininetView, NetworkCLI

        setLogLevel("output")
        view = MininetView(run)
        try:
            NetworkCLI(view, run, caller, sys.stdin, script=args.script)
        finally:
            view.leave()
    return exits.OK


def _split(name: str | None, rest: list[str]) -> tuple[str | None, list[str]]:
    """What stands after the node: perhaps --run, then the command; argparse takes it all for the command."""
    if rest[:1] == ["--run"] and len(rest) > 1:
        return _split(rest[1], rest[2:])
    if rest and rest[0].startswith("--run="):
        return _split(rest[0].removeprefix("--run="), rest[1:])
    return name, rest[1:] if rest[:1] == ["--"] else rest


def node_of(run: Running, name: str) -> str:
    """The name of a node that there is.

    Raises:
        CommandError: there is none.
    """
    nodes = run.record.get("nodes", {})
    if name not in nodes:
        hint = did_you_mean(name, nodes) or f"there are {', '.join(list(nodes)[:12])}"
        raise exits.CommandError(f"{run.name} has no node {name}; {hint}")
    return name

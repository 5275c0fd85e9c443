"""`cbn attach`: a shell or a command in the namespace of a node."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from testbed.cli.command import NETWORKS, Command, add_network

_HELP = """\
examples:
  cbn attach r1
      a shell in the namespace of r1; its prompt has the name of the node
  cbn attach r1 -- ip -br address
  cbn attach r1 tcpdump -ni r1-eth0 -c 5

The exit code is the command's. CBN_NAME, CBN_NODE (the node's configuration), CBN_NETWORK,
CBN_ADDRESSES, CBN_NEIGHBOURS (neighbour=address), CBN_ADMIN (the node's admin socket) and
CBN_DIRECTORY are set.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("node", metavar="NODE", help="a router or client")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="instead of a shell")
    add_network(parser)


def _attach(args: argparse.Namespace) -> NoReturn:
    """Become a shell, or a command, in a node's namespace; its exit code is ours."""
    from testbed.cli.networks import choose, node_of
    from testbed.cluster.attachment import LOGIN, command_on
    from testbed.emu.attachment import command_in, variables

    name, command = split_rest(args.run, args.rest)
    run = choose(name)
    node = node_of(run, args.node)
    far = LOGIN in run.record["nodes"][node]
    line = (command_on if far else command_in)(run, node, command)
    if not command and sys.stdin.isatty():
        print(f"A shell in the namespace of {node}; `exit` leaves it, the network goes on.", file=sys.stderr)
    sys.stdout.flush()
    os.execvpe(line[0], line, variables(run, node))


def split_rest(name: str | None, rest: list[str]) -> tuple[str | None, list[str]]:
    """What stands after the node: perhaps --run, then the command; argparse takes it all for the command."""
    if rest[:1] == ["--run"] and len(rest) > 1:
        return split_rest(rest[1], rest[2:])
    if rest and rest[0].startswith("--run="):
        return split_rest(rest[0].removeprefix("--run="), rest[1:])
    return name, rest[1:] if rest[:1] == ["--"] else rest


COMMAND = Command(
    "open a shell in a node's namespace, or run a command there", _arguments, _attach, NETWORKS, _HELP
)

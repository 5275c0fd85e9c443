"""`cbn mininet`: Mininet's own command line on a running network."""

from __future__ import annotations

import argparse
import sys

from testbed.cli import exits
from testbed.cli.command import NETWORKS, Command, add_network

_HELP = """\
examples:
  cbn mininet
      mininet> net
      mininet> r1 ifconfig
      mininet> pingall
      mininet> link r1 r2 down
  echo "r1 ip address" | cbn mininet

Leaving it (exit, Ctrl-D) leaves the network running. Nodes forward messages, not IP
packets: `pingall` goes over every link, both ways.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--script", metavar="FILE", help="execute the commands in FILE, then leave")
    add_network(parser)


def _mininet(args: argparse.Namespace) -> int:
    from testbed.cli.networks import talk

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


COMMAND = Command("open Mininet's own command line", _arguments, _mininet, NETWORKS, _HELP)

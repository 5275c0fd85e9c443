"""The words of the commands for a network that runs: up, ps, attach, pub, link, ... Imports no command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from testbed.cli.parser_emulation import add_emulation

_UP = """\
examples:
  cbn up quickstart
  cbn up my.yaml --name lab --set scheme=siena
  cbn up my.yaml --workload
      also let the clients do what the scenario's scripts say, and its faults happen

Builds the scenario's network in Mininet namespaces, waits until it has converged,
and leaves it running; `cbn down` ends it. Clients attach and subscribe to what the
scenario subscribes them to from the beginning; they publish nothing unless you
say so (cbn pub), or --workload does. Needs root. docs/hands-on.md has a session.
"""

_PS = """\
Lists networks that `cbn up` left running and runs in progress, with the memory
their processes take for themselves. Those whose owner was killed are shown as
dead: `cbn clean` removes what they left.
"""

_ATTACH = """\
examples:
  cbn attach r1
      a shell in the namespace of r1; its prompt says where you are
  cbn attach r1 -- ip -br address
  cbn attach r1 tcpdump -ni r1-eth0 -c 5

The exit code is the command's. CBN_NODE, CBN_NETWORK, CBN_ADDRESSES, CBN_NEIGHBOURS
(neighbour=address), CBN_ADMIN (the node's admin socket) and CBN_DIRECTORY are set.
"""

_MININET = """\
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

_PUB = """\
examples:
  cbn pub alice 'dest = "ORD", price = 350'
  cbn pub alice 'n = 1' --count 100 --every 10ms
  cbn sub bob 'n any integer' & cbn pub alice 'n = 1'

The message goes through the client's own process, and is an event of the run.
"""

_SUB = """\
examples:
  cbn sub bob 'dest = "ORD" and price < 400'
      until Ctrl-C; then the subscription is withdrawn
  cbn sub bob 'n any integer' --for 10s
  cbn sub bob 'n any integer' --count 5 --json | jq .latency_ns

Shows what is delivered to the client and matches: when, from whom, over how many
routers, after how long. The first line on standard error says when the whole
network knows of the subscription. Who reads too slowly is told how much was dropped.
"""

_LINK = """\
examples:
  cbn link r1-r2 down                    cut it; `up` mends it
  cbn link r1-r2 delay 30ms              both ways
  cbn link r1-r2 loss 0.1 back delay 50ms
      loss both ways; on the way from r2 to r1 also a delay
  cbn link r1-r2 delay none              take the delay away
  cbn link r1-r2 clear                   nothing happens to packets any more
  cbn link r1-r2 reset                   as the scenario has it
  cbn link r1-r2                         show it; `cbn link` shows all

The words and values are those of scenarios: delay, jitter, loss, loss_burst, rate,
duplicate, reorder, corrupt, queue_packets, queue_bytes. What is changed is an event of
the run, so that the analysis knows of it.
"""

_NODE = """\
examples:
  cbn node r2 crash                      kill a router, with all it knew; `start` starts it anew
  cbn node r2 pause                      let it stand still; `resume` lets it go on
  cbn node r2 status                     its own account, as JSON
  cbn node r2 tables                     what it forwards by
  cbn node r2 log -f                     its log, as it grows
"""

_TOP = """\
examples:
  cbn top                                live; q or Ctrl-C ends it
  cbn top --sort drops
  cbn top --once --json | jq '.nodes[] | select(.drops_s > 0)'

Per router and second: messages in and out, deliveries to clients, control packets,
drops; processor, memory, table sizes, neighbours that are up. Per client: published,
delivered, and median and 99th percentile of the latency of its last deliveries.
Keys while it runs: n name, i in, o out, d deliveries, c control, x drops, u cpu,
m memory, t tables, l latency; q quits.
"""

_DOWN = """\
examples:
  cbn down
  cbn down lab
  cbn down --all

Waits until what was sent has arrived, ends the nodes in order, and leaves the run
directory complete: `cbn analyze` says whether everybody got what they should have.
"""

SORT_KEYS = ("name", "in", "out", "deliveries", "control", "drops", "cpu", "memory", "tables", "latency")

Command = Callable[..., Any]


def add_live(commands: Any, command: Command, scenario: Command, json: Command) -> None:
    """All of them; `command` makes a subcommand, `scenario` and `json` give it their options."""
    _add_up(commands, command, scenario, json)
    ps = command(commands, "ps", "list the networks and runs of this machine", _PS)
    json(ps)
    _add_inside(commands, command)
    _add_talk(commands, command, json)
    _add_changes(commands, command, json)
    _add_top(commands, command, json)
    down = command(commands, "down", "end a running network", _DOWN)
    down.add_argument("network", nargs="?", metavar="RUN", help="which (default: the only one)")
    down.add_argument("--run", metavar="RUN", help="the same")
    down.add_argument("--all", action="store_true", help="all of them")
    down.add_argument("--quiet", "-q", action="store_true", help="no progress, only the result")
    json(down)


def _add_up(commands: Any, command: Command, scenario: Command, json: Command) -> None:
    up = command(commands, "up", "build a network and leave it running", _UP)
    scenario(up)
    up.add_argument("--name", metavar="NAME", help="what to call it (default: the scenario's name)")
    up.add_argument("--out", type=Path, metavar="DIR", help="the run directory (default: runs/<run id>)")
    up.add_argument("--force", action="store_true", help="replace a previous run in DIR")
    up.add_argument("--workload", action="store_true", help="also run the scenario's scripts and faults")
    up.add_argument("--quiet", "-q", action="store_true", help="no progress, only the result")
    add_emulation(up)
    json(up)


def _add_inside(commands: Any, command: Command) -> None:
    attach = command(
        commands, "attach", "open a shell in a node's namespace, or run a command there", _ATTACH
    )
    attach.add_argument("node", metavar="NODE", help="a router or client")
    attach.add_argument("rest", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="instead of a shell")
    _run(attach)
    mininet = command(commands, "mininet", "open Mininet's own command line", _MININET, module="attach")
    mininet.add_argument("--script", metavar="FILE", help="carry out the commands in FILE, then leave")
    _run(mininet)


def _add_talk(commands: Any, command: Command, json: Command) -> None:
    pub = command(commands, "pub", "publish through a client of a running network", _PUB, module="talk")
    pub.add_argument("client", metavar="CLIENT", help="who publishes")
    pub.add_argument("message", metavar="MESSAGE", help="as in a scenario")
    pub.add_argument("--count", type=_count, default=1, metavar="N", help="so many times (default: 1)")
    pub.add_argument("--every", metavar="TIME", help="at this distance, such as 10ms (default: at once)")
    _run(pub)
    json(pub)
    sub = command(commands, "sub", "subscribe a client and watch what is delivered", _SUB, module="talk")
    sub.add_argument("client", metavar="CLIENT", help="who subscribes")
    sub.add_argument("predicate", metavar="PREDICATE", help="as in a scenario")
    sub.add_argument("--for", dest="duration", metavar="TIME", help="end after this time, such as 10s")
    sub.add_argument("--count", type=_count, metavar="N", help="end after so many deliveries")
    _run(sub)
    sub.add_argument("--json", action="store_true", help="print one JSON object a delivery")


def _add_changes(commands: Any, command: Command, json: Command) -> None:
    link = command(commands, "link", "change or show a link of a running network", _LINK, module="change")
    link.add_argument("link", nargs="?", metavar="A-B", help="the link's ends (default: show all links)")
    link.add_argument("words", nargs="*", metavar="WORD", help="what it is to do")
    _run(link)
    json(link)
    node = command(commands, "node", "break, mend or look at a node", _NODE, module="change")
    node.add_argument("node", metavar="NODE", help="a router or client")
    choices = ("crash", "start", "pause", "resume", "status", "tables", "log")
    node.add_argument("do", choices=choices, help="what to do")
    node.add_argument("--follow", "-f", action="store_true", help="with log: go on as it grows")
    _run(node)
    json(node)


def _add_top(commands: Any, command: Command, json: Command) -> None:
    top = command(commands, "top", "show what the nodes of a running network do, live", _TOP)
    top.add_argument("--once", action="store_true", help="print once, as plain text")
    top.add_argument("--interval", default="1s", metavar="TIME", help="how often (default: 1s)")
    top.add_argument("--sort", choices=SORT_KEYS, default="name", help="by what (default: name)")
    _run(top)
    json(top)


def _run(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--run", metavar="RUN", help="which network: id or name (default: $CBN_NETWORK, or the only one)"
    )


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000_000:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 10,000,000, found {text!r}")
    return int(text)

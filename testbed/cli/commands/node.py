"""`cbn node`: break, repair or look at a node of a running network."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import NETWORKS, Command, add_json, add_network
from topologies.fault_kinds import NODE_CONTROL

if TYPE_CHECKING:
    from testbed.live.registry import Running

FOLLOW_S = 0.2

_HELP = """\
examples:
  cbn node r2 crash                      kill a router, with all it knew; `start` starts it anew
  cbn node r2 pause                      let it stand still; `resume` lets it go on
  cbn node r2 rekey                      restart it with a new key to sign with (`security`)
  cbn node r2 status                     what it reports of itself, as JSON
  cbn node r2 tables                     what it forwards by
  cbn node r2 log -f                     its log, as it grows
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("node", metavar="NODE", help="a router or client")
    choices = (*NODE_CONTROL, "status", "tables", "log")
    parser.add_argument("do", choices=choices, help="what to do")
    parser.add_argument("--follow", "-f", action="store_true", help="with log: go on as it grows")
    add_network(parser)
    add_json(parser)


def _node(args: argparse.Namespace) -> int:
    from testbed.cli.networks import choose, talk

    if args.do == "log":
        return _log(choose(args.run), args.node, args.follow)
    with talk(args.run) as (_, caller):
        if args.do in ("status", "tables"):
            answer = caller.ask("node", node=args.node, ask=args.do)["answer"]
            print(_text(answer, args.do == "tables" and not args.json))
            return exits.OK
        about = caller.ask("fault", node=args.node, fault=args.do)
    print(json.dumps(about, indent=1) if args.json else f"{about['name']} is {about['state']}")
    return exits.OK


def _text(answer: dict[str, Any], as_text: bool) -> str:
    return str(answer["text"]).rstrip() if as_text else json.dumps(answer, indent=1, ensure_ascii=False)


def _log(run: Running, name: str, follow: bool) -> int:
    from testbed.cli.networks import node_of
    from testbed.cluster.attachment import LOGIN

    node = node_of(run, name)
    if LOGIN in run.record["nodes"][node]:
        return _far_log(run, node, follow)
    path = Path(run.record["directory"]) / "logs" / f"{node}.jsonl"
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                print(line, end="")
            while follow and run.alive:
                piece = lines.read()
                print(piece, end="", flush=True)
                if not piece:
                    time.sleep(FOLLOW_S)
    except FileNotFoundError as error:
        raise exits.CommandError(f"{os.fspath(path)}: there is no log (yet)", exits.FAILED) from error
    return exits.OK


def _far_log(run: Running, node: str, follow: bool) -> int:
    """Of a node on another machine."""
    from testbed.cluster.attachment import log_command

    sys.stdout.flush()
    with subprocess.Popen(log_command(run, node, follow), stdin=subprocess.DEVNULL) as far:
        try:
            while run.alive and far.poll() is None:
                time.sleep(FOLLOW_S)
        finally:
            far.terminate()
    if run.alive and far.returncode:
        raise exits.CommandError(f"the log of {node} cannot be read where it runs", exits.FAILED)
    return exits.OK


COMMAND = Command("break, repair or look at a node", _arguments, _node, NETWORKS, _HELP)

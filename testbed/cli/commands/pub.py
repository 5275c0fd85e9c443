"""`cbn pub`: publish through a client of a running network."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import NETWORKS, Command, add_json, add_network, count, seconds

if TYPE_CHECKING:
    from testbed.live.clients import ControlClient

AT_ONCE = 500
"""How many messages one request publishes when there is no time between them."""

_HELP = """\
examples:
  cbn pub alice 'dest = "ORD", price = 350'
  cbn pub alice 'n = 1' --count 100 --every 10ms
  cbn sub bob 'n any integer' & cbn pub alice 'n = 1'

The message goes through the client's own process, and is an event of the run.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", metavar="CLIENT", help="the client that publishes")
    parser.add_argument("message", metavar="MESSAGE", help="as in a scenario")
    parser.add_argument("--count", type=count, default=1, metavar="N", help="so many times (default: 1)")
    parser.add_argument(
        "--every",
        type=seconds,
        default=0.0,
        metavar="TIME",
        help="time between two, such as 10ms (default: 0)",
    )
    add_network(parser)
    add_json(parser)


def _pub(args: argparse.Namespace) -> int:
    """Publish a message, once or again and again."""
    from testbed.cli.networks import talk

    with talk(args.run) as (_, caller):
        last = _publish(caller, args.client, args.message, args.count, args.every)
    if args.json:
        print(json.dumps(last, ensure_ascii=False))
    else:
        what = "the message" if args.count == 1 else f"{args.count:,} messages, the last one"
        print(f"{args.client} published {what} as {args.client}/{last['sequence']}")
    if not last["permitted"]:
        why = "so its router takes it no further (policy.publish)"
        print(f"the policy does not permit this to {args.client}, {why}", file=sys.stderr)
    elif last["required"] and not last["advertised"]:
        print(f"{args.client} does not advertise this, so its router takes it no further", file=sys.stderr)
    return exits.OK


def _publish(caller: ControlClient, client: str, message: str, total: int, every_s: float) -> dict[str, Any]:
    """Publish all, each at its own time counted from the first; returns the answer to the last."""
    began, done, answer = time.monotonic(), 0, {}
    while done < total:
        if every_s:
            time.sleep(max(0.0, began + done * every_s - time.monotonic()))
        some = 1 if every_s else min(AT_ONCE, total - done)
        answer = caller.ask("publish", client=client, message=message, count=some)
        done += some
    return dict(answer)


COMMAND = Command("publish through a client of a running network", _arguments, _pub, NETWORKS, _HELP)

"""`cbn sub`: subscribe a client of a running network and watch what is delivered to it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import NETWORKS, Command, add_network, count, seconds

if TYPE_CHECKING:
    from testbed.live.clients import ControlClient

_HELP = """\
examples:
  cbn sub bob 'dest = "ORD" and price < 400'
      until Ctrl-C; then the subscription is withdrawn
  cbn sub bob 'n any integer' --for 10s
  cbn sub bob 'n any integer' --count 5 --json | jq .latency_ns
  cbn sub bob --pattern '[n = 1] then [n = 2] within 5s'

Shows what is delivered to the client and matches: when, from whom, over how many
routers, after how long. Of a pattern (docs/patterns.md) it shows matches, with their messages and how long
after the last of them. A line on standard error shows when the whole
network has received the subscription; another, how much was dropped if the output is
read too slowly.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", metavar="CLIENT", help="the client that subscribes")
    parser.add_argument("predicate", metavar="PREDICATE", help="as in a scenario")
    parser.add_argument("--pattern", action="store_true", help="PREDICATE is a pattern of several messages")
    parser.add_argument(
        "--for", dest="duration", type=seconds, metavar="TIME", help="end after this time, such as 10s"
    )
    parser.add_argument("--count", type=count, metavar="N", help="end after so many deliveries")
    add_network(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object a delivery")


def _sub(args: argparse.Namespace) -> int:
    """Subscribe, show what is delivered, and withdraw the subscription at the end."""
    from testbed.cli.networks import talk

    until = None if args.duration is None else time.monotonic() + args.duration
    with talk(args.run) as (_, caller):
        what, verb = ("pattern", "seeks") if args.pattern else ("predicate", "subscribes to")
        made = caller.ask("subscribe", client=args.client, **{what: args.predicate})
        _note(f"{args.client} {verb} {made[what]} (subscription {made['subscription']})")
        try:
            shown = _Shown(args.json, args.count)
            while not shown.enough and (line := _next(caller, until)) is not None:
                shown.take(line)
        except KeyboardInterrupt:
            _note(f"\n{shown.count:,} deliveries; the subscription is withdrawn")
            raise
    if not args.json:
        _note(f"{shown.count:,} deliveries; the subscription is withdrawn")
    return exits.OK


def _next(caller: ControlClient, until: float | None) -> dict[str, Any] | None:
    left = None if until is None else until - time.monotonic()
    return None if left is not None and left <= 0 else caller.line(left)


class _Shown:
    """Prints the lines of a stream of deliveries."""

    def __init__(self, as_json: bool, most: int | None) -> None:
        self.count = 0
        self._json = as_json
        self._most = most

    @property
    def enough(self) -> bool:
        return self._most is not None and self.count >= self._most

    def take(self, line: dict[str, Any]) -> None:
        """One line of the stream.

        Raises:
            CommandError: It says that there will be no deliveries.
        """
        if "refused" in line:
            raise exits.CommandError(line["refused"], exits.FAILED)
        if "settled_ms" in line:
            _note(f"the whole network knows of it after {line['settled_ms']:.0f} ms")
        if "lacking" in line:
            _note(f"nobody advertises {' or '.join(line['lacking'])} yet: the pattern waits for that")
        if "dropped" in line:
            _note(f"{line['dropped']:,} deliveries were dropped: they are read too slowly")
        for row in line.get("deliveries", ()):
            if not self.enough:
                self.count += 1
                print(json.dumps(row, ensure_ascii=False) if self._json else _sentence(row))
        sys.stdout.flush()


def _sentence(row: dict[str, Any]) -> str:
    at = datetime.fromtimestamp(row["time_ns"] / 1e9, UTC).strftime("%H:%M:%S.%f")[:-3]
    if "components" in row:
        messages = "; ".join(f"{c['publisher']}/{c['sequence']} {c['message']}" for c in row["components"])
        return f"{at}  {row['latency_ns'] / 1e6:9.3f} ms  {messages}"
    hops = f"{row['hop_count']} router{'s' * (row['hop_count'] != 1)}"
    name = f"{row['publisher']}/{row['sequence']}"
    return f"{at}  {name:<12} {row['latency_ns'] / 1e6:9.3f} ms  {hops:<10}  {row['message']}"


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


COMMAND = Command("subscribe a client and watch what is delivered", _arguments, _sub, NETWORKS, _HELP)

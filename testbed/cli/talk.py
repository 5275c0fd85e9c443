"""`cbn pub` and `cbn sub`: publish and subscribe by hand, through a client of a running network."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from typing import Any

from testbed.cli import exits
from testbed.cli.durations import seconds
from testbed.cli.networks import talk
from testbed.emu.caller import Caller

AT_ONCE = 500
"""How many messages one request publishes when there is no distance between them."""


def pub(args: argparse.Namespace) -> int:
    """Publish a message, once or again and again."""
    every_s = seconds(args.every, "--every") if args.every else 0.0
    with talk(args.run) as (_, caller):
        said = _publish(caller, args.client, args.message, args.count, every_s)
    if args.json:
        print(json.dumps(said, ensure_ascii=False))
    else:
        count = "the message" if args.count == 1 else f"{args.count:,} messages, the last one"
        print(f"{args.client} published {count} as {args.client}/{said['sequence']}")
    return exits.OK


def _publish(caller: Caller, client: str, message: str, count: int, every_s: float) -> dict[str, Any]:
    """Publish all, each at its own time counted from the first; returns what was said of the last."""
    began, done, said = time.monotonic(), 0, {}
    while done < count:
        if every_s:
            time.sleep(max(0.0, began + done * every_s - time.monotonic()))
        some = 1 if every_s else min(AT_ONCE, count - done)
        said = caller.ask("publish", client=client, message=message, count=some)
        done += some
    return dict(said)


def sub(args: argparse.Namespace) -> int:
    """Subscribe, show what is delivered, and withdraw the subscription at the end."""
    until = time.monotonic() + seconds(args.duration, "--for") if args.duration else None
    with talk(args.run) as (_, caller):
        made = caller.ask("subscribe", client=args.client, predicate=args.predicate)
        _note(f"{args.client} subscribes to {made['predicate']} (subscription {made['subscription']})")
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


def _next(caller: Caller, until: float | None) -> dict[str, Any] | None:
    left = None if until is None else until - time.monotonic()
    return None if left is not None and left <= 0 else caller.line(left)


class _Shown:
    """Prints what a stream tells."""

    def __init__(self, as_json: bool, most: int | None) -> None:
        self.count = 0
        self._json = as_json
        self._most = most

    @property
    def enough(self) -> bool:
        return self._most is not None and self.count >= self._most

    def take(self, line: dict[str, Any]) -> None:
        """One line of the stream."""
        if "settled_ms" in line:
            _note(f"the whole network knows of it after {line['settled_ms']:.0f} ms")
        if "dropped" in line:
            _note(f"{line['dropped']:,} deliveries were dropped: they are read too slowly")
        for row in line.get("deliveries", ()):
            if not self.enough:
                self.count += 1
                print(json.dumps(row, ensure_ascii=False) if self._json else _sentence(row))
        sys.stdout.flush()


def _sentence(row: dict[str, Any]) -> str:
    at = datetime.fromtimestamp(row["time_ns"] / 1e9, UTC).strftime("%H:%M:%S.%f")[:-3]
    hops = f"{row['hop_count']} router{'s' * (row['hop_count'] != 1)}"
    name = f"{row['publisher']}/{row['sequence']}"
    return f"{at}  {name:<12} {row['latency_ns'] / 1e6:9.3f} ms  {hops:<10}  {row['message']}"


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

"""Subscriptions made in a running network: each caller is sent what its own are delivered.

A stream lasts as long as its caller's connection. The client process keeps what
is delivered until it is fetched; if the caller does not read, nothing is fetched,
and the client drops the oldest and counts. Nothing here grows without bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from nodes.daemon.json_lines import Caller
from nodes.model import format_expression, parse_pattern
from testbed.live.clients import AdminError
from testbed.live.fabric import FaultError
from testbed.live.live import Live

KEPT = 10_000
FETCHED = 500
SETTLE_POLL_S = 0.02
BACKLOG_BYTES = 64 * 1024
"""What a caller may leave unread before a stream waits for it."""


class Stream:
    """One subscription and the caller it is for."""

    def __init__(self, live: Live, caller: Caller, client: str, made: Mapping[str, Any]) -> None:
        self.caller = caller
        self.client = client
        self.subscription: int = made["subscription"]
        self.router = next(n.interfaces[0].peer for n in live.plan.clients if n.name == client)
        self.parts = (
            set(map(format_expression, parse_pattern(made["pattern"]).parts)) if "pattern" in made else set()
        )
        """Of the pattern that is sought; none: it is a predicate."""
        self.settled = False
        """Whether the whole network is known to have received it."""
        self.refused = False
        """Whether the caller was told that the client's router does not seek its pattern."""
        self.began = time.monotonic()
        self._live = live

    def turn(self, names: Mapping[int, str]) -> bool:
        """Send the caller what was delivered, if it reads; whether there may be more at once."""
        if self.caller.closed or len(self.caller.unread) >= BACKLOG_BYTES:
            return False
        try:
            fetched = self._live.ask(self.client, "deliveries", subscription=self.subscription, most=FETCHED)
        except (AdminError, FaultError):
            return False  # paused, for example; what it holds is fetched later
        if fetched["refused"] and not self.refused:
            self.refused = True
            self.caller.send({"refused": fetched["refused"]})
        rows = [_named(row, names) for row in fetched["deliveries"]]
        if fetched["dropped"]:
            self.caller.send({"dropped": fetched["dropped"]})
        if rows:
            self.caller.send({"deliveries": rows})
        return bool(fetched["waiting"])

    def lacking(self) -> list[str]:
        """The parts of its pattern that nobody advertises, as far as the client's router says so."""
        if not self.parts:
            return []
        try:
            status = self._live.ask(self.router, "status")["core"]
        except (AdminError, FaultError):
            return []  # it does not run, and so waits for nothing
        return [part for part in status.get("patterns", {}).get("lacking", ()) if part in self.parts]

    def end(self) -> None:
        """The caller has gone: so does its subscription."""
        try:
            self._live.ask(self.client, "unsubscribe", subscription=self.subscription)
        except (AdminError, FaultError):
            return  # the client does not run: nobody is subscribed any more


def _named(row: Mapping[str, Any], names: Mapping[int, str]) -> dict[str, Any]:
    """A delivery, or a match of several messages, with the names of their publishers."""
    if "components" in row:
        return {**row, "components": [_named(each, names) for each in row["components"]]}
    return {"publisher": names.get(row["source"], "?"), **row}


class Streams:
    """All subscriptions that callers have made."""

    def __init__(self, live: Live, unconverged: Callable[[], list[str]]) -> None:
        self._live = live
        self._unconverged = unconverged
        self._streams: list[Stream] = []
        self._names = {node.node_id: node.name for node in live.plan.nodes}
        self._next_check = 0.0

    def __len__(self) -> int:
        return len(self._streams)

    def open(self, caller: Caller, client: str, wanted: Mapping[str, str], keep: object) -> dict[str, Any]:
        """Subscribe a client; from now on its caller is sent what is delivered.

        Args:
            caller: who is sent it, as long as it stays.
            client: who subscribes.
            wanted: a `predicate` or a `pattern`, as text.
            keep: how many deliveries may wait for the caller to read.
        """
        made = self._live.ask(client, "subscribe", **wanted, keep=keep)
        stream = Stream(self._live, caller, client, made)
        self._streams.append(stream)
        caller.at_close.append(lambda: self._close(stream))
        return {"client": client, **made}

    def turn(self) -> bool:
        """Send all callers what was delivered; whether there may be more at once."""
        more = [stream.turn(self._names) for stream in list(self._streams)]
        self._report_settled()
        return any(more)

    def _report_settled(self) -> None:
        waiting = [stream for stream in self._streams if not stream.settled]
        began = time.monotonic()
        if not waiting or began < self._next_check:
            return
        reasons = self._unconverged()
        now = time.monotonic()
        # Asking everybody takes its time in a large network: no more than a tenth of all.
        self._next_check = now + max(SETTLE_POLL_S, 9 * (now - began))
        if reasons:
            return
        for stream in waiting:
            stream.settled = True
            stream.caller.send({"settled_ms": round((now - stream.began) * 1000, 3)})
            if lacking := stream.lacking():
                stream.caller.send({"lacking": lacking})

    def _close(self, stream: Stream) -> None:
        self._streams.remove(stream)
        stream.end()

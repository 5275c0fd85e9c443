"""`cbn top`: what the nodes of a running network do, live in a terminal or once as text."""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from testbed.cli import exits
from testbed.cli.durations import seconds
from testbed.cli.networks import talk
from testbed.cli.ps import age_text
from testbed.cli.top_rows import CLIENT_COLUMNS, ROUTER_COLUMNS, Row, ordered, rates, shares, table
from testbed.emu.caller import Caller

SHORTEST_S, LONGEST_S = 0.1, 3600.0
PLAIN_WIDTH = 160
_KEYS = {
    "n": "name", "i": "in", "o": "out", "d": "deliveries", "c": "control", "x": "drops", "u": "cpu",
    "m": "memory", "t": "tables", "l": "latency",
}  # fmt: skip
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


def top(args: argparse.Namespace) -> int:
    """Look at the network again and again until somebody has seen enough."""
    interval_s = seconds(args.interval, "--interval")
    if not SHORTEST_S <= interval_s <= LONGEST_S:
        raise exits.CommandError(f"--interval {args.interval}: expected 100ms to 1h")
    with talk(args.run) as (_, caller):
        watcher = _Watcher(caller, interval_s, args.sort)
        if args.once or args.json:
            rows = watcher.next_rows()
            print(_json(watcher, rows) if args.json else "\n".join(watcher.page(rows, PLAIN_WIDTH)))
        elif sys.stdout.isatty():
            _live(watcher)
        else:
            _print_on(watcher)
    return exits.OK


class _Watcher:
    """Looks at the network, and remembers the look before."""

    def __init__(self, caller: Caller, interval_s: float, sort: str) -> None:
        self.sort = sort
        self.interval_s = interval_s
        self.about: dict[str, Any] = caller.ask("status")
        self.took_s = 0.0
        self._caller = caller
        self._seen = caller.ask("top")
        self._due = time.monotonic() + interval_s

    @property
    def left_s(self) -> float:
        """How long it is until the next look is due."""
        return max(0.0, self._due - time.monotonic())

    def next_rows(self) -> list[Row]:
        """Wait for the time of the next look, and take it."""
        time.sleep(self.left_s)
        before, self._seen = self._seen, self._caller.ask("top")
        self._due = max(self._due + self.interval_s, time.monotonic())
        self.took_s = (self._seen["now_ns"] - before["now_ns"]) / 1e9
        return rates(before, self._seen)

    def page(self, rows: list[Row], width: int, height: int | None = None) -> list[str]:
        """All there is to show, in lines; only as many as there is room for."""
        rows = ordered(rows, self.sort)
        routers, clients = ([row for row in rows if row["role"] == role] for role in ("router", "client"))
        lines = [self._heading()[:width]]
        room = shares(len(routers), len(clients), height)
        for columns, mine, most in ((ROUTER_COLUMNS, routers, room[0]), (CLIENT_COLUMNS, clients, room[1])):
            if mine:
                lines += ["", *table(columns, mine[:most], width)]
            if len(mine) > most:
                lines.append(f"... {len(mine) - most} more; --once shows all"[:width])
        return lines[:height]

    def _heading(self) -> str:
        about, seen = self.about, self._seen
        age = age_text((seen["now_ns"] - about["since_ns"]) / 1e9)
        down = f"  links down: {', '.join(seen['links_down'])}" if seen["links_down"] else ""
        return f"{about['name']}  scheme {about['scheme']}  up {age}  by {self.sort}{down}"


def _json(watcher: _Watcher, rows: list[Row]) -> str:
    found = {
        "run_id": watcher.about["run_id"],
        "interval_s": round(watcher.took_s, 6),
        "nodes": ordered(rows, watcher.sort),
    }
    return json.dumps(found, indent=1, ensure_ascii=False)


def _print_on(watcher: _Watcher) -> None:
    """No terminal reads this: one page after the other."""
    while True:
        print("\n".join([*watcher.page(watcher.next_rows(), PLAIN_WIDTH), ""]), flush=True)


def _live(watcher: _Watcher) -> None:
    rows: list[Row] | None = None
    with _screen():
        while (key := _key(watcher.left_s if rows is not None else 0.0)) != "q":
            watcher.sort = _KEYS.get(key, watcher.sort)
            if not key or rows is None:
                rows = watcher.next_rows()
            _draw(watcher, rows)


def _draw(watcher: _Watcher, rows: list[Row]) -> None:
    width, height = os.get_terminal_size(sys.stdout.fileno())  # COLUMNS may be of another time
    page = watcher.page(rows, width, height)
    sys.stdout.write(_HOME + f"{_REST_OF_LINE}\r\n".join(page) + _REST_OF_LINE + _REST_OF_SCREEN)
    sys.stdout.flush()


def _key(seconds_: float) -> str:
    """The key that is pressed within that time; empty if none is."""
    if not sys.stdin.isatty():
        time.sleep(seconds_)
        return ""
    ready, _, _ = select.select([sys.stdin], [], [], seconds_)
    return sys.stdin.read(1) if ready else ""


@contextmanager
def _screen() -> Iterator[None]:
    """The terminal's other screen, and keys as they are pressed; as it was before, however this ends."""
    keyboard = sys.stdin.fileno() if sys.stdin.isatty() else None
    before = termios.tcgetattr(keyboard) if keyboard is not None else None
    sys.stdout.write(_ENTER)
    try:
        if keyboard is not None:
            tty.setcbreak(keyboard)
        yield
    finally:
        if keyboard is not None and before is not None:
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()

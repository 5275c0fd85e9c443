"""`cbn top`: what the nodes of a running network do, live in a terminal or once as text.

Two looks at the network become rates, and these a table that fits a terminal.
What a look holds is described in `testbed.live.control`.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from testbed.cli import exits
from testbed.cli.command import NETWORKS, Command, add_json, add_network, seconds
from testbed.cli.output import print_json
from topologies.quantities import age_text, short_count

if TYPE_CHECKING:
    from testbed.live.clients import ControlClient

SHORTEST_S, LONGEST_S = 0.1, 3600.0
PLAIN_WIDTH = 160
_KEYS = {
    "n": "name", "i": "in", "o": "out", "d": "deliveries", "c": "control", "x": "drops", "u": "cpu",
    "m": "memory", "t": "tables", "l": "latency",
}  # fmt: skip
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
Row = dict[str, Any]
_RATES = {
    "in_s": ("rx_messages",),
    "out_s": ("tx_messages",),
    "deliveries_s": ("delivered",),
    "published_s": ("published",),
    "control_s": ("rx_control", "tx_control"),
    "drops_s": ("drops", "overflows"),
}
_KEPT = (
    "role", "state", "resident_bytes", "settled", "neighbours", "neighbours_up", "filters", "classes",
    "table_bytes", "published", "delivered", "subscriptions", "latency_p50_ns", "latency_p99_ns",
)  # fmt: skip
_SORTED_BY: dict[str, str | None] = {
    "name": None,
    "in": "in_s",
    "out": "out_s",
    "deliveries": "deliveries_s",
    "control": "control_s",
    "drops": "drops_s",
    "cpu": "cpu_percent",
    "memory": "resident_bytes",
    "tables": "table_bytes",
    "latency": "latency_p99_ns",
}

_HELP = """\
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


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="print once, as plain text")
    parser.add_argument(
        "--interval", type=_interval, default="1s", metavar="TIME", help="how often (default: 1s)"
    )
    parser.add_argument("--sort", choices=_SORTED_BY, default="name", help="by what (default: name)")
    add_network(parser)
    add_json(parser)


def _interval(text: str) -> float:
    interval_s = seconds(text)
    if not SHORTEST_S <= interval_s <= LONGEST_S:
        raise argparse.ArgumentTypeError(f"expected 100ms to 1h, found {text}")
    return interval_s


def _top(args: argparse.Namespace) -> int:
    """Look at the network once, or again and again until the user quits."""
    from testbed.cli.networks import talk

    with talk(args.run) as (_, caller):
        watcher = _Watcher(caller, args.interval, args.sort)
        if args.json:
            _print_json(watcher, watcher.next_rows())
        elif args.once:
            print("\n".join(watcher.page(watcher.next_rows(), PLAIN_WIDTH)))
        elif sys.stdout.isatty():
            _live(watcher)
        else:
            _print_on(watcher)
    return exits.OK


class _Watcher:
    """Looks at the network, and remembers the look before."""

    def __init__(self, caller: ControlClient, interval_s: float, sort: str) -> None:
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


def _print_json(watcher: _Watcher, rows: list[Row]) -> None:
    found = {
        "run_id": watcher.about["run_id"],
        "interval_s": round(watcher.took_s, 6),
        "nodes": ordered(rows, watcher.sort),
    }
    print_json(found)


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


def rates(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Row]:
    """One row a node: what it did a second between two looks, and how it is now."""
    # Processors know nothing of a run whose time goes slower (decision 15).
    emulated_s, real_s = (max(1, after[of] - before[of]) / 1e9 for of in ("now_ns", "real_ns"))
    rows = []
    for name, node in after["nodes"].items():
        was = before["nodes"].get(name, {})
        busy = _rate(was, node, ("cpu_s",), real_s)
        rows.append(_row(name, was, node, emulated_s) | {"cpu_percent": busy and round(100 * busy, 1)})
    return rows


def ordered(rows: Sequence[Row], key: str) -> list[Row]:
    """By name, or the greatest first; rows without a figure come last."""
    field = _SORTED_BY[key]
    if field is None:
        return list(rows)
    return sorted(rows, key=lambda row: (row.get(field) is None, -(row.get(field) or 0)))


def _row(name: str, before: Mapping[str, Any], after: Mapping[str, Any], seconds: float) -> Row:
    row: Row = {"name": name} | {key: after[key] for key in _KEPT if key in after}
    for rate, counters in _RATES.items():
        found = _rate(before, after, counters, seconds)
        row[rate] = None if found is None else round(found, 2)
    return row


def _rate(
    before: Mapping[str, Any], after: Mapping[str, Any], counters: Sequence[str], seconds: float
) -> float | None:
    """None if it is not known; a counter that went back is one of a node that was started anew."""
    if any(before.get(name) is None or after.get(name) is None for name in counters):
        return None
    steps: list[float] = [after[name] - before[name] for name in counters]
    return sum(step if step >= 0 else after[n] for n, step in zip(counters, steps, strict=True)) / seconds


class Column(NamedTuple):
    """A column of the table. Those of low `rank` stay when the terminal is narrow."""

    heading: str
    rank: int
    text: Callable[[Row], str]


def _count(field: str) -> Callable[[Row], str]:
    return lambda row: "-" if row.get(field) is None else short_count(row[field])


def _bytes(field: str) -> Callable[[Row], str]:
    return lambda row: "-" if row.get(field) is None else short_count(row[field], 1024) + "B"


def _latency(field: str) -> Callable[[Row], str]:
    return lambda row: "-" if row.get(field) is None else f"{row[field] / 1e6:.2f} ms"


ROUTER_COLUMNS = (
    Column("ROUTER", 0, lambda row: str(row["name"])),
    Column("STATE", 1, lambda row: str(row["state"])),
    Column("IN/s", 2, _count("in_s")),
    Column("OUT/s", 3, _count("out_s")),
    Column("DELIV/s", 4, _count("deliveries_s")),
    Column("CTRL/s", 7, _count("control_s")),
    Column("DROP/s", 5, _count("drops_s")),
    Column("CPU%", 6, _count("cpu_percent")),
    Column("MEM", 9, _bytes("resident_bytes")),
    Column("FILTERS", 10, _count("filters")),
    Column("CLASSES", 12, _count("classes")),
    Column("TABLES", 11, _bytes("table_bytes")),
    Column("UP", 8, lambda row: f"{row.get('neighbours_up', '-')}/{row.get('neighbours', '-')}"),
    Column("SETTLED", 13, lambda row: {True: "yes", False: "no"}.get(row.get("settled"), "-")),  # type: ignore[arg-type]
)
CLIENT_COLUMNS = (
    Column("CLIENT", 0, lambda row: str(row["name"])),
    Column("STATE", 1, lambda row: str(row["state"])),
    Column("PUBL/s", 2, _count("published_s")),
    Column("DELIV/s", 3, _count("deliveries_s")),
    Column("P50", 4, _latency("latency_p50_ns")),
    Column("P99", 5, _latency("latency_p99_ns")),
    Column("PUBLISHED", 8, _count("published")),
    Column("DELIVERED", 7, _count("delivered")),
    Column("SUBS", 9, _count("subscriptions")),
    Column("DROP/s", 6, _count("drops_s")),
    Column("CPU%", 10, _count("cpu_percent")),
    Column("MEM", 11, _bytes("resident_bytes")),
)


def table(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[str]:
    """Lines no longer than the width; columns that find no room are left out, the least important first."""
    cells = [[column.heading, *(column.text(row) for row in rows)] for column in columns]
    widths = [max(map(len, column)) for column in cells]
    left, chosen = width + 2, set()
    for at in sorted(range(len(columns)), key=lambda at: columns[at].rank):
        if widths[at] + 2 > left:
            break
        left -= widths[at] + 2
        chosen.add(at)
    shown = [at for at in range(len(columns)) if at in chosen] or [0]
    return [
        _line([cells[at][n] for at in shown], [widths[at] for at in shown])[:width]
        for n in range(len(rows) + 1)
    ]


def shares(routers: int, clients: int, height: int | None) -> tuple[int, int]:
    """How many rows either table may show on so many lines: half each, or what the other leaves."""
    if height is None:
        return routers, clients
    room = max(2, height - 1 - 3 * ((routers > 0) + (clients > 0)))  # headings, and the line about the rest
    some = max(room // 2, room - clients)
    return min(routers, some), min(clients, max(room - min(routers, some), 0))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if at < 1 else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *others])


COMMAND = Command("show what the nodes of a running network do, live", _arguments, _top, NETWORKS, _HELP)

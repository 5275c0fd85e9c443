"""From two looks at a running network to rates, and from these to a table that fits a terminal.

Pure: no terminal, no clock. What a look holds is told in `testbed.emu.gauges`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
_SORTED_BY = {
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
    """By name, or the greatest first; who has no figure comes last."""
    if key not in _SORTED_BY:
        return list(rows)
    field = _SORTED_BY[key]
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
    """None if it cannot be told; a counter that went back is one of a node that was started anew."""
    if any(before.get(name) is None or after.get(name) is None for name in counters):
        return None
    steps: list[float] = [after[name] - before[name] for name in counters]
    return sum(step if step >= 0 else after[n] for n, step in zip(counters, steps, strict=True)) / seconds


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table. Those of low `rank` stay when the terminal is narrow."""

    heading: str
    rank: int
    text: Callable[[Row], str]


def _count(field: str) -> Callable[[Row], str]:
    return lambda row: "-" if row.get(field) is None else _short(row[field])


def _bytes(field: str) -> Callable[[Row], str]:
    return lambda row: "-" if row.get(field) is None else _short(row[field], 1024) + "B"


def _latency(field: str) -> Callable[[Row], str]:
    return lambda row: "-" if row.get(field) is None else f"{row[field] / 1e6:.2f} ms"


def _short(value: float, step: int = 1000) -> str:
    """`0`, `1.5`, `950`, `12.3k`, `4.5M`."""
    units = ["", "k", "M", "G"]
    while value >= step and len(units) > 1:
        value /= step
        units.pop(0)
    digits = 0 if value >= 100 or float(value).is_integer() else 1
    return f"{value:.{digits}f}{units[0]}"


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
    room = max(2, height - 1 - 3 * ((routers > 0) + (clients > 0)))  # headings, and what is said of the rest
    some = max(room // 2, room - clients)
    return min(routers, some), min(clients, max(room - min(routers, some), 0))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if at < 1 else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *others])

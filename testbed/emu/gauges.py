"""What a running network's nodes do and take at a moment: counters, from which others make rates.

Here: one row a node, as `cbn top` reads it. Not here: rates, and showing them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodes.wire.packets import Role
from testbed.emu.live import Live
from testbed.emu.nodes import Life
from testbed.plan.model import NodePlan

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_COUNTERS = ("rx_messages", "tx_messages", "rx_control", "tx_control")

Row = dict[str, Any]


def gauges(live: Live) -> dict[str, Row]:
    """One row a node, in order of node id."""
    statuses = live.statuses()
    roles = {node.name: node.role for node in live.plan.nodes}
    return {node.name: _row(live, node, statuses.get(node.name), roles) for node in live.plan.nodes}


def process_row(pid: int) -> Row:
    """Processor time and memory of a process; nothing if it has ended."""
    try:
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        resident = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return {"cpu_s": None, "resident_bytes": None}
    busy = int(fields[11]) + int(fields[12])
    return {"cpu_s": busy / TICKS_A_SECOND, "resident_bytes": int(resident) * PAGE_BYTES}


def _row(live: Live, node: NodePlan, status: Mapping[str, Any] | None, roles: Mapping[str, Role]) -> Row:
    row: Row = {"role": node.role.name.lower(), "state": live.nodes.life[node.name].value}
    if live.nodes.life[node.name] is not Life.CRASHED:
        row |= process_row(live.nodes.children[node.name].process.pid)
    if status is None:
        return row
    interfaces = status["interfaces"]
    row |= {name: sum(i[name] for i in interfaces) for name in _COUNTERS}
    row["drops"] = sum(sum(kinds.values()) for kinds in status["drops"].values())
    row["overflows"] = sum(i["rx_overflows"] for i in interfaces)
    row["settled"] = status["core"]["settled"]
    if node.role is Role.ROUTER:
        return row | _router_row(node, status, roles)
    return row | _client_row(live, node, status["core"])


def _router_row(node: NodePlan, status: Mapping[str, Any], roles: Mapping[str, Role]) -> Row:
    core, fib = status["core"], status["core"]["fib"] or {}
    to_clients = {i.name for i in node.interfaces if roles[i.peer] is Role.CLIENT}
    return {
        "delivered": sum(i["tx_messages"] for i in status["interfaces"] if i["name"] in to_clients),
        "neighbours": len(core["adjacencies"]),
        "neighbours_up": sum(a["state"] == "up" for a in core["adjacencies"]),
        "filters": fib.get("filters"),
        "classes": fib.get("classes"),
        "table_bytes": fib.get("bytes"),
    }


def _client_row(live: Live, node: NodePlan, core: Mapping[str, Any]) -> Row:
    latency = live.ask(node.name, "latency")
    return {
        "delivered": core["delivered"],
        "published": core["published"],
        "subscriptions": core["subscriptions"],
        "neighbours": 1,
        "neighbours_up": int(core["attached"]),
        "latency_p50_ns": latency["p50_ns"],
        "latency_p99_ns": latency["p99_ns"],
    }

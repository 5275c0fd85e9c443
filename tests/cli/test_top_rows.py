"""`cbn top` without a network: rates between two looks, order, and tables that fit."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from testbed.cli.commands.top import CLIENT_COLUMNS, ROUTER_COLUMNS, ordered, rates, shares, table

ROUTER = {
    "role": "router", "state": "running", "resident_bytes": 20 << 20, "rx_messages": 100, "tx_messages": 200,
    "rx_control": 10, "tx_control": 10, "delivered": 50, "drops": 0, "overflows": 0, "settled": True,
    "neighbours": 3, "neighbours_up": 2, "filters": 5, "classes": 3, "table_bytes": 40_000, "cpu_s": 1.0,
}  # fmt: skip


def look(now_ns: int, **nodes: dict[str, Any]) -> dict[str, Any]:
    return {"now_ns": now_ns, "real_ns": 2 * now_ns, "nodes": nodes}


def test_rates_are_differences_a_second() -> None:
    later = {**ROUTER, "rx_messages": 150, "tx_control": 30, "rx_control": 20, "drops": 4, "cpu_s": 1.5}
    (row,) = rates(look(0, r1=ROUTER), look(2_000_000_000, r1=later))
    assert (row["in_s"], row["out_s"], row["control_s"], row["drops_s"]) == (25, 0, 15, 2)
    assert row["cpu_percent"] == 12.5, "twice as much real time has passed"
    assert row["published_s"] is None


def test_a_router_that_was_started_anew_counts_from_nothing() -> None:
    (row,) = rates(look(0, r1=ROUTER), look(10**9, r1={**ROUTER, "rx_messages": 7}))
    assert row["in_s"] == 7


def test_who_does_not_run_has_no_rates() -> None:
    crashed = {"role": "router", "state": "crashed"}
    (row,) = rates(look(0, r1=ROUTER), look(10**9, r1=crashed))
    assert row["in_s"] is None
    assert table(ROUTER_COLUMNS, [row], 200)[1].split()[:3] == ["r1", "crashed", "-"]
    (new,) = rates(look(0), look(10**9, r1=ROUTER))
    assert new["in_s"] is None


def test_the_greatest_comes_first_and_who_has_no_figure_last() -> None:
    rows = [{"name": n, "in_s": v} for n, v in (("a", 1.0), ("b", None), ("c", 9.0))]
    assert [row["name"] for row in ordered(rows, "in")] == ["c", "a", "b"]
    assert [row["name"] for row in ordered(rows, "name")] == ["a", "b", "c"]


@given(width=st.integers(1, 250), clients=st.integers(0, 5))
def test_a_table_never_exceeds_the_terminal_and_keeps_the_names(width: int, clients: int) -> None:
    rows = rates(look(0, r1=ROUTER, r22=ROUTER), look(10**9, r1=ROUTER, r22=ROUTER))
    lines = table(ROUTER_COLUMNS, rows, width)
    assert len(lines) == 3
    assert all(len(line) <= width for line in lines)
    assert lines[2].startswith("r22"[:width])
    client = {"name": "alice", "state": "running", "latency_p50_ns": 1_500_000}
    for line in table(CLIENT_COLUMNS, [client] * clients, width):
        assert len(line) <= width


@given(routers=st.integers(0, 100), clients=st.integers(0, 100), height=st.integers(8, 60))
def test_both_tables_find_room(routers: int, clients: int, height: int) -> None:
    shown = shares(routers, clients, height)
    assert shown[0] <= routers
    assert shown[1] <= clients
    assert (shown[0] > 0) == (routers > 0)
    assert (shown[1] > 0) == (clients > 0)
    tables = (routers > 0) + (clients > 0)
    assert sum(shown) + 1 + 3 * tables <= max(height, 1 + 3 * tables + 2)
    assert shares(routers, clients, None) == (routers, clients)

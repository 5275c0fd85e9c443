"""One-way delays and losses, link by link, from what both ends saw.

p(3), a(4) --- r1(1) --- r2(2) --- c(5)
"""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from analysis.pipeline import analyze

pytestmark = pytest.mark.spark


def by_link(run):
    rows = pq.read_table(run / "tables" / "link_delays.parquet").to_pylist()
    return {(r["link"], r["from_id"], r["to_id"]): r for r in rows}


def test_delays_and_losses_are_reported_by_direction_of_each_link(spark, hand_made):
    run = hand_made
    run.subscribe("c", "x any integer")
    for n in range(1, 11):
        at = 1_000_000 * n
        run.publish(n, f"x = {n}", at)
        run.cross(n, f"x = {n}", at + 50)  # r2 sees it 100 ns later
        if n != 4:
            run.deliver("r2", "c", n, f"x = {n}", at + 200 + n, hops=2)  # the client 5 ns later
    run.publish(11, "x = 11", 20_000_000)
    run.packet("r1", "r2", True, 20_000_050, 11, "x = 11", 1)  # lost on the way
    run.event("p", "publish", 21_000_000, source=3, sequence=12, message="x = 12")  # as was this, before r1
    analyze(run.write())
    found = by_link(run.path)
    crossing = found["r1-r2", 1, 2]
    assert (crossing["sent"], crossing["arrived"]) == (11, 10)
    assert [crossing[k] for k in ("min_ns", "p50_ns", "p99_ns", "max_ns", "mean_ns")] == [100] * 5
    last = found["r2-c", 2, 5]
    assert (last["sent"], last["arrived"], last["p50_ns"]) == (9, 9, 5)
    first = found["r1-p", 3, 1]
    assert (first["sent"], first["arrived"]) == (12, 11)
    assert set(found) == {("r1-r2", 1, 2), ("r2-c", 2, 5), ("r1-p", 3, 1)}, "nothing went the other ways"

"""Traces: links that follow a file, and everything that can be wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.plan.load import load_plan
from testbed.plan.model import Fault, Plan
from testbed.plan.problems import ScenarioError
from testbed.plan.traces import CHANGES_MAX

MS, SECOND = 1_000_000, 1_000_000_000
SCENARIO = """
name: traced
topology:
  routers: [r1, r2, r3]
  links: [{between: [r1, r2], delay: 5ms, rate: 1mbit}, r2 - r3]
traces: [TRACE]
"""


@pytest.fixture
def plan_with(tmp_path: Path):
    def plan_with(rows: str, trace: str = "{link: r1 - r2, file: t.csv}") -> Plan:
        (tmp_path / "t.csv").write_text(rows, encoding="utf-8")
        path = tmp_path / "traced.yaml"
        path.write_text(SCENARIO.replace("TRACE", trace), encoding="utf-8")
        return load_plan(path)

    return plan_with


def steps(plan: Plan) -> list[tuple[str, float, float | None]]:
    return [(c.target, c.at_ns / MS, _delay_ms(c)) for c in plan.traces]


def _delay_ms(change: Fault) -> float | None:
    assert change.impairment is not None
    delay_ns = change.impairment.delay_ns
    return None if delay_ns is None else delay_ns / MS


def test_rows_change_a_link_over_what_the_topology_says(plan_with) -> None:
    plan = plan_with("time_s, delay_ms, loss, back.delay\n0,20,,\n0.5,,0.25,7ms\n")
    assert steps(plan) == [("r1--r2", 0, 20), ("r1--r2", 500, 5)]
    first, second = plan.traces
    assert first.impairment.rate_bps == second.impairment.rate_bps == 1_000_000
    assert (first.impairment.loss, second.impairment.loss) == (0, 0.25)
    assert (first.back.delay_ns, second.back.delay_ns) == (20 * MS, 7 * MS)
    assert (second.back.loss, first.after, first.do) == (0.25, "start", "impair")


def test_units_stand_in_the_head_or_with_the_value(plan_with) -> None:
    by_head = plan_with("time_ms,rate_mbit,jitter_us\n10,2.5,300\n")
    by_value = plan_with("time,rate,jitter\n10ms,2.5mbit,300us\n")
    assert by_head.traces == by_value.traces
    assert by_head.traces[0].impairment.rate_bps == 2_500_000


def test_a_trace_with_a_duration_repeats_and_then_gives_the_link_back(plan_with) -> None:
    plan = plan_with(
        "time_ms,delay_ms\n0,10\n40,30\n100,99\n", "{link: r1 - r2, file: t.csv, at: 1s, for: 250ms}"
    )
    at = [(round(at_ms - 1000), delay) for _, at_ms, delay in steps(plan)]
    assert at == [(0, 10), (40, 30), (100, 10), (140, 30), (200, 10), (240, 30), (250, 5)]


def test_groups_of_links_follow_one_file_each_over_its_own_properties(plan_with) -> None:
    plan = plan_with("time,loss\n0s,0.5\n", "{link: links, file: t.csv}")
    assert steps(plan) == [("r1--r2", 0, 5), ("r2--r3", 0, None)]


def test_a_trace_is_no_fault(plan_with) -> None:
    plan = plan_with("time,loss\n0s,0.5\n")
    assert plan.faults == ()
    assert plan.changes_of_links == plan.traces


WRONG = [
    ("", "its first line has no column time"),
    ("delay_ms\n3\n", "its first line has no column time"),
    ("time,dely\n0s,3\n", "no link has a property dely (did you mean delay?)"),
    ("time,\n0s,3\n", "no link has a property (empty)"),
    ("time,back.time\n0s,0s\n", "no link has a property time"),
    ("time,loss\n", "it has no rows"),
    ("time,loss\n0s,0.1\n0s,0.2\n", "line 3: its time is not after that of the row before"),
    ("time,loss\nsoon,0.1\n", "line 2: soon is no time"),
    ("time,loss\n,0.1\n", "line 2: it says no time"),
    ("time,loss\n0s\n", "line 2: 1 cells under 2 heads"),
    ("time,loss\n0s,2\n", "t.csv, line 2: loss: 2.0 is more than the greatest, 1"),
    ("time,loss\n0s,much\n", "t.csv, line 2: loss"),
    ("time,jitter\n0s,20ms\n", "t.csv, line 2: jitter: the jitter is greater than the delay"),
]


@pytest.mark.parametrize(("rows", "message"), WRONG)
def test_what_is_wrong_with_a_file_is_said_with_its_line(plan_with, rows: str, message: str) -> None:
    with pytest.raises(ScenarioError) as found:
        plan_with(rows)
    (problem,) = found.value.problems
    assert message in problem.message
    assert problem.key == "traces.0.file"


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ("{link: r1 - r2, file: none.csv}", "none.csv cannot be followed: No such file or directory"),
        ("{link: r1 - r3, file: t.csv}", "there is no link r1 - r3"),
        ("{link: r1 - r2, file: t.csv, for: 1s}", "a trace of one row does not repeat"),
        ("{link: r1 - r2, file: t.csv}, {link: links, file: t.csv}", "r1--r2 follows another trace already"),
        ("{file: t.csv}", "link is missing"),
    ],
)
def test_what_is_wrong_with_a_trace_is_said_where_it_stands(plan_with, trace: str, message: str) -> None:
    with pytest.raises(ScenarioError) as found:
        plan_with("time,loss\n0s,0.1\n", trace)
    assert message in str(found.value)


def test_more_changes_than_a_plan_can_hold_are_refused_before_they_are_made(plan_with) -> None:
    with pytest.raises(ScenarioError, match=f"{CHANGES_MAX:,} changes in all"):
        plan_with("time_ns,loss\n0,0.1\n1,0.2\n", "{link: r1 - r2, file: t.csv, for: 3h}")

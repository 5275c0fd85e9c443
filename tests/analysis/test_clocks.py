"""What the delays of a run's links say of its clocks, by the plan and the world."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.clocks import Clocks, Way, clock_columns, clocks_of, swapped_ends
from analysis.drift.correction import HostClock
from analysis.drift.least import LeastDelays, least_by_window
from nodes.wire.packets import Role
from testbed.plan.model import Fault, Impairment, LinkPlan, NodePlan, Plan

MS = 1_000_000
WINDOW_NS = 100 * MS
START_NS = 1_700_000_000_000_000_000
ROUTERS, CLIENTS = ("r1", "r2", "r3"), ("a", "b")
IDS = {name: number for number, name in enumerate((*ROUTERS, *CLIENTS), 1)}
LINKS = (("r1", "r2"), ("r2", "r3"), ("r1", "a"), ("r3", "b"))


def plan(impairment=None, back=None, faults=()):
    given = impairment or Impairment(delay_ns=30 * MS)
    return Plan(
        *("clocks", "", 1, "pif", {}),
        nodes=tuple(
            NodePlan(n, i, Role.ROUTER if n in ROUTERS else Role.CLIENT, ()) for n, i in IDS.items()
        ),
        links=tuple(
            LinkPlan(f"{a}--{b}", a, b, f"{a}-{b}", f"{b}-{a}", impairment=given, back=back) for a, b in LINKS
        ),
        faults=faults,
    )  # fmt: skip


def least(clocks=None, there_ns=30 * MS, back_ns=30 * MS) -> LeastDelays:
    """As captured over a second where the clocks of some nodes are ahead."""
    ahead = dict.fromkeys(IDS, 0) | (clocks or {})
    rows = []
    for a, b in LINKS:
        for x, y, delay_ns in ((a, b, there_ns), (b, a, back_ns)):
            sent = START_NS + np.arange(0, 1_000 * MS, 50 * MS)
            rows += [(IDS[x], IDS[y], t + ahead[x], t + delay_ns + ahead[y]) for t in sent.tolist()]
    return least_by_window(*np.array(rows, np.int64).T, WINDOW_NS)


WIRES = {f"{x}-{y}": "wire" for a, b in LINKS for x, y in ((a, b), (b, a))}


def off(found: dict[int, HostClock]) -> dict[int, int]:
    return {node: clock.offset_ns for node, clock in found.items() if clock.off}


@pytest.mark.parametrize("world", ["sim", "emu"])
def test_clocks_that_agree_are_not_named(world):
    assert off(clocks_of(least(), plan(), world, WIRES)) == {}
    late = least(there_ns=90 * MS)  # a queue one way
    assert off(clocks_of(late, plan(), world, WIRES)) == {}


@pytest.mark.parametrize("ahead_ns", [50 * MS, -50 * MS, 10 * MS])
@pytest.mark.parametrize("node", ["r1", "r2", "a"])
def test_a_clock_that_is_off_is_named_with_its_offset(node, ahead_ns):
    found = clocks_of(least({node: ahead_ns}), plan(), "sim", {})
    assert off(found) == {IDS[node]: pytest.approx(ahead_ns, abs=2)}
    clock = found[IDS[node]]
    assert clock.uncertainty_ns is not None
    assert clock.uncertainty_ns < MS
    assert clock.correctable


def test_delays_that_differ_by_direction_are_no_offset():
    uneven = plan(Impairment(delay_ns=30 * MS), Impairment(delay_ns=MS))
    assert off(clocks_of(least(back_ns=MS), uneven, "sim", {})) == {}
    assert off(clocks_of(least({"r2": 5 * MS}, back_ns=MS), uneven, "sim", {})) == {
        2: pytest.approx(5 * MS, abs=10_000)
    }


@pytest.mark.parametrize(
    "impairment",
    [
        Impairment(delay_ns=30 * MS, jitter_ns=20 * MS),
        Impairment(delay_ns=30 * MS, jitter_ns=MS, jitter_shape="normal"),
        Impairment(delay_ns=30 * MS, reorder=0.1),
    ],
)
def test_what_may_be_faster_by_plan_is_no_offset(impairment):
    found = clocks_of(least(there_ns=10 * MS, back_ns=40 * MS), plan(impairment), "sim", {})
    assert off(found) == {}


def test_a_delay_that_a_fault_lowers_is_no_offset():
    fast = Impairment(delay_ns=MS)
    faults = tuple(Fault(0, "impair", f"{a}--{b}", impairment=fast) for a, b in LINKS)
    assert off(clocks_of(least(there_ns=MS), plan(faults=faults), "sim", {})) == {}


def test_what_delays_before_the_capture_is_not_expected_between_captures():
    assert off(clocks_of(least(there_ns=10_000, back_ns=10_000), plan(), "emu", {})) == {}
    found = clocks_of(least({"r2": 50 * MS}, 10_000, 10_000), plan(), "emu", {})
    assert off(found) == {2: pytest.approx(50 * MS, abs=2)}


def test_what_the_network_between_machines_takes_of_a_delay_is_not_expected_of_the_link():
    uneven = least(there_ns=26 * MS, back_ns=34 * MS)
    assert off(clocks_of(uneven, plan(), "cluster", WIRES)) != {}
    crossing_ns = dict.fromkeys(WIRES, 5 * MS)
    assert off(clocks_of(uneven, plan(), "cluster", WIRES, crossing_ns=crossing_ns)) == {}


def test_one_direction_shows_a_clock_that_is_behind_and_not_by_how_much():
    rows = least({"r2": -50 * MS}, 0, 0)
    one_way = (rows.from_id == 1) & (rows.to_id == 2)
    found = clocks_of(LeastDelays(*(c[one_way] for c in rows)), plan(Impairment()), "emu", {})
    assert off(found) in ({2: -50 * MS}, {1: 50 * MS})
    clocks = Clocks([], found)
    assert not clocks.trusted
    assert clocks.to_correct == {}


def test_nodes_of_one_host_have_one_clock():
    hosts = {1: "left", 4: "left", 2: "right", 3: "right", 5: "right"}
    rows = least({"r2": 5 * MS, "r3": 5 * MS, "b": 5 * MS})
    found = clocks_of(rows, plan(), "sim", {}, hosts=hosts)
    assert off(found) in (
        {2: pytest.approx(5 * MS, abs=2), 3: pytest.approx(5 * MS, abs=2), 5: pytest.approx(5 * MS, abs=2)},
        {1: pytest.approx(-5 * MS, abs=2), 4: pytest.approx(-5 * MS, abs=2)},
    )
    assert clocks_of(rows, plan(), "sim", {}, hosts=dict.fromkeys(IDS.values(), "one")) == {}


def test_links_whose_captures_were_exchanged_say_nothing():
    rows = least()
    wrong = ((rows.from_id == 1) & (rows.to_id == 2)) | ((rows.from_id == 2) & (rows.to_id == 1))
    exchanged = rows._replace(least_ns=np.where(wrong, -rows.least_ns, rows.least_ns))
    assert off(clocks_of(exchanged, plan(), "sim", {}))
    found = clocks_of(exchanged, plan(), "sim", {}, exchanged=["r1--r2"])
    assert off(found) == {}
    assert not Clocks(["r1--r2"], found).trusted


def test_a_clock_that_was_set_has_no_offset_in_the_table():
    even, uneven = HostClock("h", 7, 2e-6, START_NS, 3, 0), HostClock("i", 0, 0.0, 0, None, 9, even=False)
    columns = clock_columns({1: even, 2: uneven})
    assert columns["offset_ns"] == [7, None]
    assert columns["drift_ppm"] == [pytest.approx(2.0), None]
    assert columns["even"] == [True, False]


def test_links_whose_delays_are_all_negative_had_their_captures_exchanged():
    exchanged = [Way("r1--r2", 1, 2, -9, -1), Way("r1--r2", 2, 1, -9, -1)]
    one_way = [Way("r2--r3", 2, 3, -9, -1), Way("r2--r3", 3, 2, 1, 9)]
    assert swapped_ends([*exchanged, *one_way, Way("r1--a", 1, 4, -9, -1)]) == ["r1--r2"]

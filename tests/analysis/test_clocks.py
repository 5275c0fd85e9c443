"""By how much clocks are off, from the delays in both directions of links."""

from __future__ import annotations

import pytest

from analysis.clocks import Way, offsets_ns, swapped_ends
from nodes.wire.packets import Role
from testbed.plan.model import Fault, Impairment, LinkPlan, NodePlan, Plan

MS = 1_000_000
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


def ways(clocks=None, there_ns=30 * MS, back_ns=30 * MS, spread_ns=0):
    """As captured where the clocks of some nodes are ahead."""
    ahead = dict.fromkeys(IDS, 0) | (clocks or {})
    found = []
    for a, b in LINKS:
        for x, y, delay_ns in ((a, b, there_ns), (b, a, back_ns)):
            least = delay_ns + ahead[y] - ahead[x]
            found.append(Way(f"{a}--{b}", IDS[x], IDS[y], least, least + spread_ns))
    return found


WIRES = {f"{x}-{y}": "wire" for a, b in LINKS for x, y in ((a, b), (b, a))}


@pytest.mark.parametrize("world", ["sim", "emu"])
def test_clocks_that_agree_are_not_named(world):
    assert offsets_ns(ways(), plan(), world, WIRES) == {}
    assert offsets_ns(ways(spread_ns=500 * MS), plan(), world, WIRES) == {}
    late = ways(there_ns=90 * MS)  # a queue one way
    assert offsets_ns(late, plan(), world, WIRES) == {}


@pytest.mark.parametrize("ahead_ns", [50 * MS, -50 * MS, 10 * MS])
@pytest.mark.parametrize("node", ["r1", "r2", "a"])
def test_a_clock_that_is_off_is_named_with_its_offset(node, ahead_ns):
    assert offsets_ns(ways({node: ahead_ns}), plan(), "sim", {}) == {IDS[node]: ahead_ns}


def test_delays_that_differ_by_direction_are_no_offset():
    uneven = plan(Impairment(delay_ns=30 * MS), Impairment(delay_ns=MS))
    assert offsets_ns(ways(back_ns=MS), uneven, "sim", {}) == {}
    assert offsets_ns(ways({"r2": 5 * MS}, back_ns=MS), uneven, "sim", {}) == {2: 5 * MS}


@pytest.mark.parametrize(
    "impairment",
    [
        Impairment(delay_ns=30 * MS, jitter_ns=20 * MS),
        Impairment(delay_ns=30 * MS, jitter_ns=MS, jitter_shape="normal"),
        Impairment(delay_ns=30 * MS, reorder=0.1),
    ],
)
def test_what_may_be_faster_by_plan_is_no_offset(impairment):
    assert offsets_ns(ways(there_ns=10 * MS, back_ns=40 * MS), plan(impairment), "sim", {}) == {}


def test_a_delay_that_a_fault_lowers_is_no_offset():
    fast = Impairment(delay_ns=MS)
    faults = tuple(Fault(0, "impair", f"{a}--{b}", impairment=fast) for a, b in LINKS)
    assert offsets_ns(ways(there_ns=MS), plan(faults=faults), "sim", {}) == {}


def test_what_delays_before_the_capture_is_not_expected_between_captures():
    assert offsets_ns(ways(there_ns=10_000, back_ns=10_000), plan(), "emu", {}) == {}
    assert offsets_ns(ways({"r2": 50 * MS}, 10_000, 10_000), plan(), "emu", {}) == {2: 50 * MS}


def test_one_direction_shows_a_clock_that_is_behind():
    one = [way for way in ways({"r2": -50 * MS}, 0, 0) if (way.from_id, way.to_id) == (1, 2)]
    assert offsets_ns(one, plan(Impairment()), "emu", {}) in ({2: -50 * MS}, {1: 50 * MS})


def test_links_whose_delays_are_all_negative_had_their_captures_exchanged():
    exchanged = [Way("r1--r2", 1, 2, -9, -1), Way("r1--r2", 2, 1, -9, -1)]
    one_way = [Way("r2--r3", 2, 3, -9, -1), Way("r2--r3", 3, 2, 1, 9)]
    assert swapped_ends([*exchanged, *one_way, Way("r1--a", 1, 4, -9, -1)]) == ["r1--r2"]

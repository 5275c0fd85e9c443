"""Which times count as moved: noise never does, what was planted always does. No Spark needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.diff.comparing import loses_by_plan, plan_differences
from analysis.diff.differences import client_texts, compare_losses, compare_times, loss_texts, time_texts
from analysis.diff.model import Limits
from analysis.diff.tables import ALL, HOP, PATH, Client, Series
from nodes.config import Action
from nodes.wire.packets import Role
from testbed.plan.model import Fault, Impairment, LinkPlan, NodePlan, Plan, TimingPlan

REAL = Limits(1_000_000)
LINKS = [(HOP, f"r{n}", f"r{n + 1}") for n in range(20)]


def machine_noise(rng, size=600):
    """Delays as a busy machine makes them: lognormal, and for spells all of them several times as long."""
    delays = rng.lognormal(np.log(150_000), 0.8, size)
    for _ in range(rng.integers(0, 4)):
        start = rng.integers(0, size)
        delays[start : start + rng.integers(20, 150)] *= rng.uniform(2, 20)
    return delays.astype(np.int64)


def series(values, lost=0):
    return Series(len(values) + lost, len(values), np.asarray(values, dtype=np.int64))


def network(rng):
    return {link: series(machine_noise(rng)) for link in LINKS}


def test_two_runs_on_a_busy_machine_are_hardly_ever_called_different():
    """100 pairs of runs of 20 links each; of the pairs, at most two may be."""
    rng = np.random.default_rng(5)
    alarms = sum(bool(time_texts(compare_times(network(rng), network(rng), REAL))) for _ in range(100))
    assert alarms <= 2, "seed 5"


def test_without_the_floors_the_same_runs_would_be_called_different():
    """Why there are floors: neighbouring values resemble each other, and tests count them as independent."""
    rng = np.random.default_rng(5)
    bare = Limits(0, shift_share=0, wandering=0, delta=0)
    assert sum(bool(time_texts(compare_times(network(rng), network(rng), bare))) for _ in range(20)) >= 10


def test_five_milliseconds_on_one_of_twenty_links_are_found_there_and_nowhere_else():
    rng = np.random.default_rng(9)
    for turn in range(20):
        before, after = network(rng), network(rng)
        planted = LINKS[turn % len(LINKS)]
        after[planted] = series(after[planted].values + 5_000_000)
        rows = compare_times(before, after, REAL)
        assert [r.what for r in rows if r.moved] == [f"{planted[1]} > {planted[2]}"], f"seed 9, turn {turn}"
        shift = next(r.shift for r in rows if r.moved)
        assert 4_000_000 < shift.low <= shift.estimate <= shift.high < 6_500_000


def test_jitter_without_delay_is_a_change_of_spread():
    rng = np.random.default_rng(2)
    calm = 10_000_000 + rng.normal(0, 50_000, 500)
    shaken = 10_000_000 + rng.uniform(-5_000_000, 5_000_000, 500)
    (row,) = compare_times({LINKS[0]: series(calm)}, {LINKS[0]: series(shaken)}, REAL)
    assert (row.moved, row.spread) == (False, True)
    assert "spread" in time_texts([row])[0]


def test_the_threshold_is_the_least_that_counts():
    before, after = (
        {(ALL, "", ""): series(np.full(100, ms * 1_000_000) + np.arange(100))} for ms in (10, 13)
    )
    assert compare_times(before, after, Limits(2_000_000))[0].moved
    assert not compare_times(before, after, Limits(4_000_000))[0].moved


def test_no_difference_is_claimed_of_too_few_values():
    assert compare_times({LINKS[0]: series([1] * 4)}, {LINKS[0]: series([9**9] * 400)}, REAL) == []
    assert compare_times({LINKS[0]: series([1] * 9)}, {LINKS[1]: series([1] * 9)}, REAL) == []


def test_paths_are_reported_together_and_links_one_by_one():
    keys = [(PATH, "a", "b"), (PATH, "a", "c"), (HOP, "r1", "r2")]
    before = {k: series(np.arange(100) + 1_000_000) for k in keys}
    after = {k: series(np.arange(100) + 6_000_000) for k in keys}
    output = time_texts(compare_times(before, after, REAL))
    assert output[0].startswith("link r1 > r2: +5 ms (95 % interval +5 ms to +5 ms")
    assert output[1].startswith("2 of 2 paths moved, most a to b: +5 ms")


def test_one_percent_of_loss_is_found_and_chance_is_not():
    rng = np.random.default_rng(4)
    values = np.arange(2000)
    calm = {link: series(values) for link in LINKS}
    lossy = calm | {LINKS[7]: series(values[:1980], lost=20)}
    assert loss_texts(compare_losses(calm, lossy, REAL)) == [
        "link r7 > r8: lost 0 of 2000 messages before, 20 of 2000 after"
    ]

    few = calm | {LINKS[7]: series(values[:1996], lost=4)}
    assert loss_texts(compare_losses(calm, few, REAL)) == []
    assert len(loss_texts(compare_losses(calm, few, REAL, by_chance=False))) == 1

    def draw():
        lost = rng.binomial(2000, 0.01, len(LINKS))
        return {link: series(values[n:], lost=n) for link, n in zip(LINKS, lost, strict=True)}

    assert sum(bool(loss_texts(compare_losses(draw(), draw(), REAL))) for _ in range(200)) <= 6, "seed 4"


@pytest.mark.parametrize(
    ("gone", "new", "reported"), [(0, 0, False), (9, 12, False), (0, 40, True), (1, 0, False)]
)
def test_where_links_lose_by_plan_only_more_than_chance_counts(gone, new, reported):
    client = Client("c", 1000, gone, new, 0, 0, 0)
    assert bool(client_texts([client], REAL, by_chance=True)) == reported
    assert bool(client_texts([client], REAL, by_chance=False)) == bool(gone or new)


NODES = (
    NodePlan("r1", 1, Role.ROUTER, ()),
    NodePlan("r2", 2, Role.ROUTER, ()),
    NodePlan("c", 3, Role.CLIENT, (), (Action(0, "publish", text="x = 1"),)),
)
LINK = LinkPlan("r1--r2", "r1", "r2", "r1-eth0", "r2-eth0")
CRASH = Fault(10**9, "crash", "r1")
PLAN = Plan("compared", "", 1, "pif", {}, NODES, (LINK,), timing=TimingPlan(settle_ns=5))


def test_plans_differ_in_words():
    assert plan_differences(PLAN, PLAN) == []
    other = replace(
        PLAN,
        seed=2,
        links=(replace(LINK, impairment=Impairment(5_000_000)),),
        timing=TimingPlan(settle_ns=2_000_000_000),
        nodes=(NODES[0], replace(NODES[1], name="r3"), replace(NODES[2], script=())),
        faults=(CRASH,),
    )
    assert plan_differences(PLAN, other) == [
        "seed: 1 before, 2 after",
        "timing.settle_ns: 5 ns before, 2 s after",
        "node before alone: r2",
        "node after alone: r3",
        "link r1--r2: impairment.delay_ns: none before, 5 ms after",
        "client c: 1 times publish before, 0 after, not the same",
        "fault after alone: crash r1 at 1 s",
    ]


def test_chance_is_only_what_the_plan_leaves_to_it():
    assert not loses_by_plan(PLAN)
    assert loses_by_plan(replace(PLAN, links=(replace(LINK, back=Impairment(loss=0.01)),)))
    assert loses_by_plan(replace(PLAN, faults=(CRASH,)))

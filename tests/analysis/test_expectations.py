"""What a scenario expects of its run, held against hand-made findings, and parts of a run told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.attacked import SIDES
from analysis.counts import Counts
from analysis.expectations import measured_text, passed, to_expectations
from analysis.findings import Findings, Scope, ScopeCounts
from analysis.history import FOREVER, Disturbance, History, NetworkChange, SettledPeriod, history_of
from analysis.rundir import Run
from analysis.scopes import scopes_of
from testbed.plan.expectations import SCOPED, WHOLE
from testbed.plan.model import Expectation, Phase, Plan, TimingPlan

VERDICT = {
    "ok": False,
    **Counts(*[3] * 9, not_owed={"network": 3}, lost_by={"cut_off": 3}).as_verdict(),
    "publications": 9,
    "wasted_crossings": 1,
    "latency_ns": {"min": 1, "p50": 5_000_000, "p90": 3, "p99": 4, "max": 5, "mean": 6},
    "hops": {"min": 1, "mean": 1.5, "max": 2},
    "control": {"packets": 1, "bytes": 2},
    "messages": {"packets": 1, "bytes": 2},
    "scheme": {
        "trees": {"ratio": 1.1},
        "stretch": {"mean": 1.0, "p50": 1.0, "p99": 1.0, "max": 1.0},
    },
    "convergence_ns": {"start": 1, "disturbances": 0, "interrupted": 0, "p50": 2, "max": 3},
    "captures": {"frames": 9, "drops": 0},
    "fidelity": {"verdict": "degraded", "reasons": ["late by 5 ms"]},
    "problems": ["one"],
    "unadvertised": 2,
    "policy": {"publications": 1, "subscriptions": 2, "advertisements": 3, "patterns": 4},
    "patterns": {
        "sought": 1,
        "owed": 1,
        "delivered": 1,
        "missing": 0,
        "duplicate": 0,
        "spurious": 0,
        "lost": 0,
    },
    "attacks": {side: Counts(*[3] * 9).as_verdict() for side in SIDES},
}


def run_with(**parts) -> Run:
    return Run(Path(), {"start_ns": 100}, Plan("run", "", 1, "pif", {}, (), (), **parts), ())


def expect(quantity: str, operator: str, value: float, scope: str = "") -> Expectation:
    return Expectation(f"{quantity} {operator} {value}", quantity, operator, value, scope=scope)


def judged(expected: Expectation, *scopes: ScopeCounts, verdict=VERDICT):
    findings = replace(EMPTY, run=run_with(expect=(expected,)), scopes=scopes)
    (found,) = to_expectations(findings, verdict)
    return found


EMPTY = Findings(None, None, 0, None, (), (), (), (), (), (), "", None, ())  # type: ignore[arg-type]


@pytest.mark.parametrize("quantity", [*SCOPED, *WHOLE])
def test_whatever_a_scenario_may_expect_the_verdict_can_tell(quantity):
    assert judged(expect(quantity, ">=", 0))["measured"] is not None


@pytest.mark.parametrize(
    ("operator", "value", "holds"),
    [("==", 3, True), ("!=", 3, False), ("<", 4, True), ("<=", 3, True), (">", 3, False), (">=", 3, True)],
)
def test_a_comparison_means_what_it_says(operator, value, holds):
    assert judged(expect("missing", operator, value))["holds"] is holds


def test_what_was_not_measured_does_not_hold_and_says_why():
    nothing = {**VERDICT, "latency_ns": None}
    found = judged(expect("latency.p99", "<", 1e9), verdict=nothing)
    assert (found["holds"], found["measured"]) == (False, None)
    assert "no latency.p99" in found["why"]
    found = judged(expect("missing", "==", 0, "recovery"))
    assert "did not converge after the last fault" in found["why"]


def test_a_part_of_the_run_is_judged_by_its_own_figures():
    calm = ScopeCounts(Scope("calm", 0, 9), 0, Counts(wanted=1, owed=1, delivered=1), {"p99": 7})
    assert judged(expect("missing", "==", 0, "calm"), calm)["holds"]
    assert judged(expect("latency.p99", "<", 8, "calm"), calm)["measured"] == 7


def test_a_share_is_one_of_what_was_wanted():
    counts = Counts(wanted=40, owed=30, delivered=29, missing=1, lost=10, lost_by={"network": 10})
    verdict = {**VERDICT, **counts.as_verdict()}
    lost = Expectation("lost <= 25 %", "lost", "<=", 0.25, share=True)
    assert judged(lost, verdict=verdict) | {"why": ""} == {
        "text": "lost <= 25 %", "quantity": "lost", "scope": "", "asked": 0.25, "share": True,
        "measured": 0.25, "holds": True, "why": "",
    }  # fmt: skip
    found = judged(expect("delivery_ratio", ">", 0.7), verdict=verdict)
    assert (found["measured"], found["holds"], measured_text(found)) == (0.725, True, "72.5 %")
    nothing = {**VERDICT, **Counts().as_verdict()}
    for expected in (lost, expect("judged", ">=", 0)):
        found = judged(expected, verdict=nothing)
        assert (found["measured"], found["holds"]) == (None, False)
        assert found["why"].startswith("nothing was wanted")


EMPTY_RUN = {
    **VERDICT, **Counts().as_verdict(), "messages": {"packets": 0, "bytes": 0},
    "captures": {"frames": 0, "drops": 0},
}  # fmt: skip


@pytest.mark.parametrize(
    ("quantity", "why"),
    [
        ("missing", "nothing was owed, so nothing could be missing"),
        ("unknown", "nothing was owed"),
        ("lost", "nothing was wanted"),
        ("cut_off", "nothing was wanted"),
        ("allowed", "nothing was delivered"),
        ("duplicate", "nothing was delivered, so nothing could be duplicate"),
        ("spurious", "nothing was delivered"),
        ("wasted_crossings", "no message was captured"),
        ("captures.drops", "no frame was captured"),
    ],
)
def test_none_of_what_could_not_happen_is_not_judged(quantity, why):
    for operator in ("==", "<="):
        found = judged(expect(quantity, operator, 0), verdict=EMPTY_RUN)
        assert (found["measured"], found["holds"]) == (None, False)
        assert found["why"].startswith(why)
    none = {**VERDICT, **Counts(wanted=3, owed=3, delivered=3).as_verdict(), "wasted_crossings": 0}
    assert judged(expect(quantity, "==", 0), verdict=none)["holds"]


@pytest.mark.parametrize("quantity", ["wanted", "owed", "delivered", "publications", "problems"])
def test_that_there_was_nothing_at_all_can_be_expected(quantity):
    nothing = {**EMPTY_RUN, "publications": 0, "problems": []}
    assert judged(expect(quantity, "==", 0), verdict=nothing)["holds"]


def test_none_spurious_is_not_judged_of_a_part_in_which_nothing_arrived():
    calm = ScopeCounts(Scope("calm", 0, 9), 5, Counts(wanted=3, lost=3), None)
    found = judged(expect("spurious", "==", 0, "calm"), calm)
    assert (found["measured"], found["holds"]) == (None, False)
    only_spurious = ScopeCounts(Scope("calm", 0, 9), 5, Counts(spurious=2), None)
    assert judged(expect("spurious", "==", 0, "calm"), only_spurious)["measured"] == 2


def test_a_degraded_run_is_not_trusted_and_an_exact_one_is():
    found = judged(expect("fidelity", "==", 1.0))
    assert (found["holds"], found["why"], measured_text(found)) == (False, "late by 5 ms", "degraded")
    exact = {**VERDICT, "fidelity": {"verdict": "exact", "reasons": []}}
    assert judged(expect("fidelity", "==", 1.0), verdict=exact)["holds"]


def test_what_was_expected_decides_where_something_was():
    assert not passed(VERDICT)
    assert passed({**VERDICT, "expectations": [{"holds": True}]})
    assert not passed({**VERDICT, "ok": True, "expectations": [{"holds": True}, {"holds": False}]})
    assert passed({"ok": True, "expectations": []})


def test_recovery_begins_after_the_last_fixpoint_if_there_is_one():
    run = run_with(phases=(Phase("calm", 0, 50), Phase("storm", 50, 90)))
    still = [SettledPeriod(99, 160, {}), SettledPeriod(170, FOREVER, {})]
    assert scopes_of(run, History(still, 1)) == [
        Scope("calm", 100, 150),
        Scope("storm", 150, 190),
        Scope("recovery", 171, FOREVER),
    ]
    assert [scope.name for scope in scopes_of(run, History(still[:1], 1))] == ["calm", "storm"]


def test_a_disturbance_lasts_from_its_first_fault_until_the_network_has_converged_again():
    plan = Plan("run", "", 1, "pif", {}, (), (), timing=TimingPlan(settle_ns=1))
    changes = [NetworkChange(100), NetworkChange(160, "crash", "r1"), NetworkChange(165, "start", "r1")]
    changes += [NetworkChange(170), NetworkChange(171), NetworkChange(180, "pause", "r2")]
    history = history_of(plan, changes, 100)
    assert history.disturbances == [
        Disturbance(160, 170, changes[1:3]),
        Disturbance(180, FOREVER, changes[-1:]),
    ]
    first, second = (scope.as_verdict() for scope in scopes_of(run_with(), history))
    assert first == {
        "name": "crash r1, start r1", "from_ns": 160, "until_ns": 171, "converged": True,
        "causes": [
            {"time_ns": 160, "do": "crash", "target": "r1"}, {"time_ns": 165, "do": "start", "target": "r1"},
        ],
    }  # fmt: skip
    assert (second["until_ns"], second["converged"]) == (None, False)

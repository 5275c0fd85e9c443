"""Faults in the emulated world: carried out, noticed, got over, and judged as in the simulator."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.oracle import oracle_of
from testbed.emu.run import EmulatedRun
from testbed.live.fabric import FaultError
from testbed.live.live import Live
from testbed.plan.load import load_plan
from testbed.plan.model import Fault, Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.world import Outcome
from testbed.sim.world import SimulatedWorld
from tests.faults.trial import Score, judge

pytestmark = pytest.mark.emu

RING = """
name: ring
seed: 5
topology:
  routers: [r1, r2, r3, r4]
  links: [{between: [r1, r2], delay: 2ms}, r2 - r3, r3 - r4, r4 - r1]
clients:
  a:
    at: r1
    subscribe: ['k = "x" and n < 20']
    publish: [{every: 20ms, count: COUNT, message: {n: {count: 0}, k: {choice: [x, y]}}}]
  b:
    at: r2
    subscribe: ['n any integer']
    publish: [{every: 20ms, count: COUNT, from: 1ms, message: {n: {count: 5}, k: {choice: [x, y]}}}]
  c:
    at: r3
    subscribe: ['k = "y"', 'n > 30 or k >* "x"']
record: {captures: false}
timing: {settle: 200ms}
timers: {hello_ms: 50, hold_ms: 500}
security: {neighbours: required}
faults:
"""
"""
    a -- r1 --- r2 -- b
         |      |
         r4 --- r3 -- c
"""
PAIRS = {
    "a link goes and comes": ["link_down: r1 - r2", "link_up: r1 - r2"],
    "a router crashes and starts": ["crash: r3", "start: r3"],
    "a router pauses": ["pause: r2", "resume: r2"],
    "a client pauses": ["pause: b", "resume: b"],
    "a client leaves": ["leave: a", "return: a"],
    "a partition": ["partition: [[r1, r2], [r3, r4]]", "heal: true"],
    "a link changes": [
        "impair: {link: r2 - r3, delay: 5ms, jitter: 1ms}",
        "impair: {link: r2 - r3, delay: 3ms}",
    ],
    "links get new keys": ["rekey: [links, access]", "rekey: r2 - r3"],
}


def ring(folder: Path, whats: list[str], count: int) -> Plan:
    text = RING.replace("COUNT", str(count))
    text += "".join(f"  - {{when: converged, after: 300ms, {what}}}\n" for what in whats)
    path = folder / "ring.yaml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path)


def score_of(bed: Any, plan: Plan, outcome: Outcome) -> Score:
    score, events = Score(), bed.events()
    judge(score, oracle_of(plan, events, outcome.start_ns), events, {n.name: n.node_id for n in plan.nodes})
    return score


def applied(bed: Any) -> list[tuple[str, str]]:
    return [(e["do"], e["target"]) for e in bed.events() if e["event"] == "fault"]


@pytest.mark.parametrize("what", PAIRS, ids=lambda name: name.replace(" ", "-"))
def test_the_network_recovers_from_each_kind_of_fault_and_owes_nothing(
    bed: Any, progress: Any, what: str
) -> None:
    plan = ring(bed.folder, PAIRS[what], count=125)
    outcome = bed.run(plan, progress)
    assert outcome.outcome == "complete", outcome.message
    assert applied(bed) == [(fault.do, fault.target) for fault in plan.faults]
    assert all(entry.took_ns is not None for entry in outcome.convergence)
    score = score_of(bed, plan, outcome)
    assert score.ok, score.problems
    assert score.owed > 40
    bed.assert_nothing_is_left()


@pytest.mark.parametrize("scheme", ["pif", "cbcb"])
def test_all_kinds_of_faults_in_one_run_are_got_over_as_in_the_simulator(
    bed: Any, second_bed: Any, progress: Any, scheme: str
) -> None:
    whats = [what for pair in PAIRS.values() for what in pair]
    plan = replace(ring(bed.folder, whats, count=700), scheme=scheme)
    outcome = bed.run(plan, progress)
    assert outcome.outcome == "complete", outcome.message
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    expected = SimulatedWorld().run(plan, simulated, progress)
    assert [e.causes for e in outcome.convergence] == [e.causes for e in expected.convergence]
    assert applied(bed) == applied(second_bed)
    for each, came in ((bed, outcome), (second_bed, expected)):
        score = score_of(each, plan, came)
        assert score.ok, score.problems
        assert score.owed > 300
    bed.assert_nothing_is_left()


def test_a_fault_with_a_time_happens_then(bed: Any, progress: Any) -> None:
    """T: both worlds count from the scenario's time zero."""
    path = bed.folder / "ring.yaml"
    path.write_text(RING.replace("COUNT", "50") + "  - {at: 400ms, pause: r4}\n", encoding="utf-8")
    outcome = bed.run(load_plan(path), progress)
    assert outcome.outcome == "complete", outcome.message
    (fault,) = [e for e in bed.events() if e["event"] == "fault"]
    late_ns = fault["time_ns"] - outcome.start_ns - 400_000_000
    assert late_ns >= 0
    assert late_ns < 50_000_000 or any("later than planned" in output for output in progress.lines)
    assert (bed.out / "logs" / "r4.status.json").exists(), "who pauses at the end is let end"


def test_a_death_that_was_not_planned_ends_the_run_within_a_second(
    bed: Any, progress: Any, monkeypatch: Any
) -> None:
    plan = ring(bed.folder, ["crash: r4", "start: r4", "crash: r3"], count=60)
    killed: list[float] = []
    apply = Live.apply

    def apply_and_kill(live: Live, fault: Fault) -> None:
        apply(live, fault)
        if fault.do == "start":
            os.kill(live.nodes.children["r2"].process.pid, signal.SIGKILL)
            killed.append(time.monotonic())

    monkeypatch.setattr(Live, "apply", apply_and_kill)
    progress.at_phase["stop"] = lambda: killed.append(time.monotonic())
    outcome = bed.run(plan, progress)
    assert outcome.outcome == "failed"
    assert "node r2 was killed by SIGKILL" in outcome.message
    assert "r4" not in outcome.message
    assert killed[1] - killed[0] < 1
    bed.assert_nothing_is_left()


REFUSED = """
name: refused
topology: {routers: [r1, r2], links: [r1 - r2]}
limits: {filters_per_neighbour: 1}
clients:
  a: {at: r1, publish: [{every: 20ms, count: 5, message: {n: 1}}]}
  b: {at: r2, subscribe: [{predicate: "n = 2", at: 50ms}]}
  c: {at: r2, subscribe: [{predicate: "n = 3", at: 50ms}]}
record: {captures: false}
timing: {ready_timeout: 3s}
"""


def test_a_run_without_faults_fails_in_both_worlds_if_not_all_agree_when_its_workload_is_over(
    bed: Any, second_bed: Any, progress: Any
) -> None:
    """What r2 tells r1 during the run is refused there, and no message that anybody publishes would tell."""
    path = bed.folder / "refused.yaml"
    path.write_text(REFUSED, encoding="utf-8")
    plan = load_plan(path)
    simulated = RunDirectory.create(second_bed.out, second_bed.run_id)
    for outcome in (bed.run(plan, progress), SimulatedWorld().run(plan, simulated, progress)):
        assert outcome.outcome == "failed"
        assert "workload" in outcome.message
        assert "differ in interest_digest" in outcome.message
        assert [entry.causes for entry in outcome.convergence] == [("start",)]
    bed.assert_nothing_is_left()


def test_a_crash_loses_what_the_router_knew_and_a_start_is_another_life(bed: Any, progress: Any) -> None:
    plan = ring(bed.folder, ["crash: r3", "start: r3"], count=5)
    assert bed.run(plan, progress).outcome == "complete"
    lines = [json.loads(line) for line in (bed.out / "logs" / "r3.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines if line["event"] in ("started", "stopped")] == [
        "started",
        "started",
        "stopped",
    ]


SENSELESS = [
    (Fault(0, "crash", "r9"), "there is no such node"),
    (Fault(0, "crash", "a"), "only routers and programs crash"),
    (Fault(0, "start", "r1"), "it is running"),
    (Fault(0, "resume", "r1"), "it is running"),
    (Fault(0, "link_up", "r1--r2"), "it is not down"),
    (Fault(0, "link_down", "r1--r9"), "there is no such link"),
]


def test_a_fault_that_makes_no_sense_is_refused_with_the_reason(
    bed: Any, monkeypatch: Any, progress: Any
) -> None:
    lives: list[Live] = []
    conduct = EmulatedRun._conduct

    def noting(run: EmulatedRun, made: Any, live: Live, began_ns: int) -> None:
        lives.append(live)
        conduct(run, made, live, began_ns)

    def try_all() -> None:
        for fault, why in SENSELESS:
            with pytest.raises(FaultError, match=f"{fault.do} {fault.target}: .*{why}"):
                lives[0].apply(fault)

    monkeypatch.setattr(EmulatedRun, "_conduct", noting)
    progress.at_phase["workload"] = try_all
    assert bed.run(ring(bed.folder, ["pause: r4"], count=1), progress).outcome == "complete"
    assert lives[0].state.links_down == []

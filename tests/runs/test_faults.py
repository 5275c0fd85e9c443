"""When faults are due, what they break, and what is told of them: the same in both worlds."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from testbed.plan.load import plan_of
from testbed.plan.model import Fault
from testbed.runs.faults import Convergence, FaultSchedule, FaultState, FaultTracker
from testbed.sim import network as simulated
from topologies.fault_kinds import APPLIED

START = 1_000


def fault(at_ns: int, after: str = "start") -> Fault:
    return Fault(at_ns, "crash", "r1", after)


def test_a_fault_with_a_time_counts_from_the_start_of_the_scenario() -> None:
    schedule = FaultSchedule([fault(5)], START)
    assert schedule.due_ns(None) == schedule.due_ns(700) == START + 5
    schedule.take(START + 5)
    assert schedule.over
    assert schedule.due_ns(START + 9) is None


def test_one_that_waits_counts_from_the_fixpoint_and_its_time_is_unknown_before() -> None:
    schedule = FaultSchedule([fault(0), fault(5, "converged")], START)
    schedule.take(START)
    assert schedule.due_ns(None) is None
    assert schedule.due_ns(START + 40) == START + 45
    assert not schedule.over


def test_a_fixpoint_before_the_start_counts_as_the_start() -> None:
    assert FaultSchedule([fault(5, "converged")], START).due_ns(START - 300) == START + 5


def test_what_goes_with_another_counts_from_when_that_was_due_and_waits_for_nothing() -> None:
    schedule = FaultSchedule([fault(5, "converged"), fault(0, "previous"), fault(7, "previous")], START)
    schedule.take(START + 45)
    assert schedule.due_ns(None) == START + 45
    schedule.take(START + 45)
    assert schedule.due_ns(None) == START + 52


def test_a_fault_never_happens_before_one_that_is_named_before_it() -> None:
    schedule = FaultSchedule([fault(50, "converged"), fault(10)], START)
    assert schedule.due_ns(None) is None
    schedule.take(START + 90)
    assert schedule.due_ns(None) == START + 10, "overdue: at once"


class Noted:
    """A tracker and its events."""

    def __init__(self) -> None:
        self.events: list[dict[str, object]] = []
        self.tracker = FaultTracker(self.events.append, START)

    def fault(self, do: str, target: str, now_ns: int, due_ns: int | None = None) -> bool:
        return self.tracker.note_fault(Fault(0, do, target), now_ns, now_ns if due_ns is None else due_ns)


def test_the_start_is_the_first_disturbance() -> None:
    noted = Noted()
    assert not noted.tracker.converged
    noted.tracker.note_converged(START + 30, START + 20)
    assert noted.tracker.converged
    assert noted.tracker.over
    assert noted.tracker.history == [Convergence(START, ("start",), 20)]
    assert noted.events == [{"time_ns": START + 30, "node": "", "n": 0, "event": "converged", "after_ns": 20}]


def test_faults_that_were_due_together_are_one_entry_although_one_was_late() -> None:
    noted = Noted()
    noted.tracker.note_converged(START, START)
    assert noted.fault("crash", "r1", 50, due_ns=50)
    assert not noted.fault("pause", "r2", 57, due_ns=50)
    noted.tracker.note_converged(80, 70)
    assert noted.tracker.history[1:] == [Convergence(50, ("crash r1", "pause r2"), 20)]
    assert [(e["n"], e["event"], e.get("do")) for e in noted.events[1:]] == [
        (1, "fault", "crash"),
        (2, "fault", "pause"),
        (3, "converged", None),
    ]


def test_a_change_of_keys_is_told_and_disturbs_nothing() -> None:
    noted = Noted()
    noted.tracker.note_converged(START, START)
    assert not noted.fault("rekey", "r1--r2", 50)
    assert noted.tracker.converged
    assert [entry.causes for entry in noted.tracker.history] == [("start",)]
    assert [(e["event"], e.get("do")) for e in noted.events[1:]] == [("fault", "rekey")]


def test_a_fault_before_the_fixpoint_leaves_the_one_before_it_without_a_time() -> None:
    noted = Noted()
    noted.tracker.note_converged(START, START)
    noted.fault("crash", "r1", 50)
    assert noted.fault("start", "r1", 60)
    assert (noted.tracker.since_ns, noted.tracker.converged) == (60, False)
    noted.tracker.give_up()
    assert [(c.causes, c.took_ns) for c in noted.tracker.history[1:]] == [
        (("crash r1",), None),
        (("start r1",), None),
    ]


def test_what_waits_for_a_fixpoint_is_due_once_that_is_certain() -> None:
    noted = Noted()
    noted.tracker.schedule = FaultSchedule([fault(5, "converged")], START)
    assert noted.tracker.next_due_ns is None
    noted.tracker.note_converged(START + 30, START + 20)
    assert noted.tracker.next_due_ns == START + 35
    assert not noted.tracker.over
    noted.fault("crash", "r1", START + 35)
    assert noted.tracker.next_due_ns is None


def test_a_repair_is_of_both_ends_of_each_link_it_concerns() -> None:
    state = FaultState(plan_of({"name": "x", "topology": {"generate": "line", "size": 3}}))
    state.note(Fault(0, "link_down", "r1--r2"), 1)
    state.note(Fault(0, "pause", "r3"), 2)
    assert state.links_down == ["r1--r2"]
    assert state.down == {"r1-eth0", "r2-eth0", "r3"}
    assert state.repaired_ns == {}
    state.note(Fault(0, "link_up", "r1--r2"), 3)
    assert (state.down, state.repaired_ns) == ({"r3"}, {"r1-eth0": 3, "r2-eth0": 3})
    state.note(Fault(0, "resume", "r3"), 4)
    assert state.repaired_ns == {"r1-eth0": 3, "r2-eth0": 3, "r2-eth1": 4, "r3-eth0": 4}


def emulated() -> Mapping[str, Callable[..., Any]]:
    from testbed.live.live import ACTIONS

    return ACTIONS


@pytest.mark.parametrize(
    "actions",
    [
        lambda: simulated.ACTIONS,
        pytest.param(
            emulated,
            marks=pytest.mark.skipif(not importlib.util.find_spec("mininet"), reason="no Mininet here"),
        ),
    ],
    ids=["simulated", "emulated"],
)
def test_every_world_applies_every_kind_of_fault(actions: Callable[[], Mapping[str, object]]) -> None:
    assert set(actions()) == set(APPLIED)


def test_that_a_network_agrees_after_the_workload_is_asked_and_is_no_disturbance() -> None:
    noted = Noted()
    noted.tracker.note_converged(START, START)
    before, events = list(noted.tracker.history), list(noted.events)
    noted.tracker.ask_again(START + 70)
    assert (noted.tracker.converged, noted.tracker.since_ns) == (False, START + 70)
    assert noted.tracker.since == "the workload was over"
    noted.tracker.note_converged(START + 90, START + 80)
    assert noted.tracker.over
    assert (noted.tracker.history, noted.events) == (before, events)


def test_what_fails_while_that_is_asked_is_a_disturbance() -> None:
    noted = Noted()
    noted.tracker.note_converged(START, START)
    noted.tracker.ask_again(START + 70)
    assert noted.fault("crash", "r1", START + 75)
    assert noted.tracker.since == "it was disturbed"
    noted.tracker.note_converged(START + 90, START + 80)
    assert noted.tracker.history[1:] == [Convergence(START + 75, ("crash r1",), 5)]
    assert noted.tracker.over

"""When faults are due: those with a time, those that wait for the fixpoint, those that go with another."""

from __future__ import annotations

from testbed.plan.model import Fault
from testbed.runs.agenda import Agenda

START = 1_000


def fault(at_ns: int, after: str = "start") -> Fault:
    return Fault(at_ns, "crash", "r1", after)


def test_a_fault_with_a_time_counts_from_the_start_of_the_scenario() -> None:
    agenda = Agenda([fault(5)], START)
    assert agenda.due_ns(None) == agenda.due_ns(700) == START + 5
    agenda.take(START + 5)
    assert agenda.over
    assert agenda.due_ns(START + 9) is None


def test_one_that_waits_counts_from_the_fixpoint_and_nobody_knows_before() -> None:
    agenda = Agenda([fault(0), fault(5, "converged")], START)
    agenda.take(START)
    assert agenda.due_ns(None) is None
    assert agenda.due_ns(START + 40) == START + 45
    assert not agenda.over


def test_a_fixpoint_before_the_start_counts_as_the_start() -> None:
    assert Agenda([fault(5, "converged")], START).due_ns(START - 300) == START + 5


def test_what_goes_with_another_counts_from_when_that_was_due_and_waits_for_nothing() -> None:
    agenda = Agenda([fault(5, "converged"), fault(0, "previous"), fault(7, "previous")], START)
    agenda.take(START + 45)
    assert agenda.due_ns(None) == START + 45
    agenda.take(START + 45)
    assert agenda.due_ns(None) == START + 52


def test_a_fault_never_happens_before_one_that_is_named_before_it() -> None:
    agenda = Agenda([fault(50, "converged"), fault(10)], START)
    assert agenda.due_ns(None) is None
    agenda.take(START + 90)
    assert agenda.due_ns(None) == START + 10, "overdue: at once"

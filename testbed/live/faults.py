"""When faults happen in a run in real time, and when the network has converged again.

The same events and history as the simulator's, on the run's clock. A fault's
event has the time just before it is applied, and a fixpoint's the time after
the nodes said so: what lies between them certainly is not converged. Not here:
what a fault does (`live`), what is due and which events say so (`testbed.runs.faults`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from testbed.live.live import Live
from testbed.plan.model import Fault
from testbed.runs.events import JsonLines
from testbed.runs.faults import FaultSchedule, FaultTracker
from topologies.quantities import counted

LATE_NS = 50_000_000
"""A fault that happens so much later than planned is worth a word."""


class LiveFaults:
    """Applies the plan's faults, and finds the fixpoint after the start, each fault and the workload.

    Nothing happens by itself: `apply_due` and `look` are to be called again
    and again, at the times that `wait_s` says.

    Args:
        live: The network.
        events: The file that takes the `fault` and `converged` events.
        since_ns: When the network was started.
    """

    def __init__(self, live: Live, events: Path, since_ns: int) -> None:
        self.tracker = FaultTracker(JsonLines(events, flush_lines=1).write, since_ns)
        self._late: list[str] = []
        self._late_changes = 0
        self._changes = FaultSchedule()
        self._live = live
        self._clock = live.clock
        self._reasons: list[str] = []
        self._began: dict[tuple[str, str, int], int] = {}
        """When attacks began, by kind, target and the time in the plan."""
        self._agreed_ns: int | None = None

    def follow(self, faults: Sequence[Fault], traces: Sequence[Fault], start_ns: int) -> None:
        """From now on apply these, and change links by traces; `start_ns` is the scenario's time zero."""
        self.tracker.schedule = FaultSchedule(faults, start_ns)
        self._changes = FaultSchedule(traces, start_ns)

    def wait_s(self, longest_s: float) -> float:
        """How many real seconds there are until the next fault is due, but no more than this."""
        times = (self.tracker.next_due_ns, self._changes.due_ns(None))
        due_ns = min((at_ns for at_ns in times if at_ns is not None), default=None)
        if due_ns is None:
            return longest_s
        left_ns = max(0, due_ns - self._clock.now_ns())
        return min(longest_s, self._clock.real_wait_s(left_ns))

    def apply_due(self) -> None:
        """Apply every fault that is due, and every change by a trace.

        Raises:
            FaultError: the network is in no state for one.
        """
        self._change_links()
        while (due_ns := self.tracker.next_due_ns) is not None and due_ns <= self._clock.now_ns():
            fault = self.tracker.schedule.take(due_ns)
            now_ns = self._note(fault, due_ns)
            if now_ns - due_ns > LATE_NS:
                late_ms = (now_ns - due_ns) // 1_000_000
                self._late.append(f"{fault.do} {fault.target} happened {late_ms} ms later than planned")
            self._live.apply(fault)

    def _change_links(self) -> None:
        while (due_ns := self._changes.due_ns(None)) is not None and due_ns <= self._clock.now_ns():
            self._late_changes += self._clock.now_ns() - due_ns > LATE_NS
            self._live.apply(self._changes.take(due_ns))

    def apply(self, fault: Fault) -> None:
        """Apply a fault now, by hand.

        Raises:
            FaultError: the network is in no state for it; nothing has happened.
        """
        self._live.check(fault)
        self._note(fault, self._clock.now_ns())
        self._live.apply(fault)

    def note(self, fault: Fault, at_ns: int | None = None) -> None:
        """A fault has happened by itself, then or just before."""
        at_ns = max(at_ns or self._clock.now_ns(), self.tracker.recorded_ns)
        self.tracker.note_fault(fault, at_ns, at_ns)
        self._agreed_ns = None
        self._live.state.note(fault, at_ns)

    @property
    def attacking(self) -> bool:
        """Whether somebody still attacks."""
        return self._live.attacking

    def look_at_attacks(self) -> None:
        """Note the attacks that have ended."""
        for fault, acts in self._live.ended_attacks():
            began_ns = self._began.pop((fault.do, fault.target, fault.at_ns))
            now_ns = max(self._clock.now_ns(), self.tracker.recorded_ns)
            self.tracker.note_attacked(fault, began_ns, now_ns, acts)

    def end_attacks(self) -> None:
        """The workload is over: what goes on ends."""
        self._live.end_attacks()
        self.look_at_attacks()

    def ask_again(self) -> None:
        """The workload is over, and all disturbances: `look` sees whether the network agrees on it."""
        self.tracker.ask_again(self._clock.now_ns())
        self._agreed_ns = None

    def look(self) -> None:
        """See whether the network has converged, if it is not known to have.

        The nodes are asked one after the other, so one look may see a network
        that never was: only what the next look sees again has been.
        """
        if self.tracker.converged:
            return
        began_ns = self._clock.now_ns()
        self._reasons = self._live.unconverged()
        if self._reasons:
            self._agreed_ns = None
        elif self._agreed_ns is None:
            self._agreed_ns = self._clock.now_ns()
        else:
            self.tracker.note_converged(self._clock.now_ns(), min(self._agreed_ns, began_ns))

    @property
    def late(self) -> list[str]:
        """What happened later than it was to, for people."""
        if not self._late_changes:
            return self._late
        changes, late_ms = counted(self._late_changes, "change"), LATE_NS // 1_000_000
        return [*self._late, f"{changes} of links by traces happened over {late_ms} ms later than planned"]

    @property
    def nearly(self) -> bool:
        """Whether the last look found nothing amiss, so that the next may make it certain."""
        return self._agreed_ns is not None and not self.tracker.converged

    def explain(self) -> list[str]:
        """All that is amiss now, if the network has not converged."""
        return self._live.unconverged(thorough=True) or self._reasons

    def _note(self, fault: Fault, due_ns: int) -> int:
        now_ns = self._clock.now_ns()
        self.tracker.note_fault(fault, now_ns, due_ns)
        if fault.attack is not None:
            self._began[fault.do, fault.target, fault.at_ns] = now_ns
        self._agreed_ns = None
        return now_ns

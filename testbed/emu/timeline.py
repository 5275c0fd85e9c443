"""When things break in an emulated run, and when the network has found its state again.

The same events and history as the simulator's (`testbed.sim.faults`), on the
run's clock. A fault's event bears the time just before it is carried out, and
a fixpoint's the time after the nodes said so: what lies between them is
certainly unrest. Not here: what a fault does (`live`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from testbed.emu.live import Live
from testbed.plan.model import Fault
from testbed.runs.agenda import Agenda
from testbed.runs.events import JsonLines
from testbed.runs.world import Convergence

LATE_NS = 50_000_000
"""A fault that happens so much later than planned is worth a word."""


class Timeline:
    """Carries out the plan's faults, and watches for the fixpoint after the start and each fault.

    Nothing happens by itself: `strike_due` and `look` are to be called again
    and again, at the times that `wait_s` says.

    Args:
        live: The network.
        events: The file that takes the `fault` and `converged` events.
        since_ns: When the network was started.
    """

    def __init__(self, live: Live, events: Path, since_ns: int) -> None:
        self.history: list[Convergence] = []
        """What disturbed the network, and how long it then took, in order."""
        self.reasons: list[str] = []
        """Why it had not converged when last looked at."""
        self._live = live
        self._clock = live.clock
        self._events = JsonLines(events, flush_lines=1)
        self._agenda: Agenda | None = None
        self._count = 0
        self._since_ns = since_ns
        self._calm_since_ns: int | None = None
        self._causes = ["start"]
        self._due_together_ns: int | None = None
        self._agreed_ns: int | None = None
        self._late: list[str] = []

    @property
    def calm(self) -> bool:
        """Whether the network has got over all that has happened."""
        return not self._causes

    @property
    def over(self) -> bool:
        """Whether all faults have happened, and the network has got over them."""
        return self.calm and (self._agenda is None or self._agenda.over)

    @property
    def late(self) -> Sequence[str]:
        """Faults that happened later than they were to, for people."""
        return self._late

    @property
    def since_ns(self) -> int:
        """When the last disturbance happened."""
        return self._since_ns

    def follow(self, faults: Sequence[Fault], start_ns: int) -> None:
        """From now on carry these out; `start_ns` is the scenario's time zero."""
        self._agenda = Agenda(faults, start_ns)

    def wait_s(self, longest_s: float) -> float:
        """How many real seconds there are until the next fault is due, but no more than this."""
        due_ns = self._due_ns()
        if due_ns is None:
            return longest_s
        left_ns = max(0, due_ns - self._clock.now_ns())
        return min(longest_s, self._clock.real_wait_s(left_ns))

    def strike_due(self) -> None:
        """Carry out every fault that is due.

        Raises:
            FaultError: the network is in no state for one.
        """
        while (due_ns := self._due_ns()) is not None and due_ns <= self._clock.now_ns():
            assert self._agenda is not None
            self._strike(self._agenda.take(due_ns), due_ns)

    def strike(self, fault: Fault) -> None:
        """Carry a fault out now, by hand.

        Raises:
            FaultError: the network is in no state for it; nothing has happened.
        """
        self._live.check(fault)
        self._strike(fault, self._clock.now_ns())

    def suffer(self, fault: Fault) -> None:
        """A fault has happened by itself, just before."""
        now_ns = self._clock.now_ns()
        self._record(now_ns, "fault", do=fault.do, target=fault.target)
        self._disturb(f"{fault.do} {fault.target}", now_ns, now_ns)

    def look(self) -> None:
        """See whether the network has converged, if it is not known to have.

        The nodes are asked one after the other, so one look may see a network
        that never was: only what the next look sees again has been.
        """
        if self.calm:
            return
        began_ns = self._clock.now_ns()
        self.reasons = self._live.unconverged()
        if self.reasons:
            self._agreed_ns = None
        elif self._agreed_ns is None:
            self._agreed_ns = self._clock.now_ns()
        else:
            self._note_fixpoint(min(self._agreed_ns, began_ns))

    @property
    def nearly(self) -> bool:
        """Whether the last look found nothing amiss, so that the next may make it certain."""
        return self._agreed_ns is not None

    def explain(self) -> list[str]:
        """All that is amiss now, if the network has not converged."""
        return self._live.unconverged(thorough=True) or self.reasons

    def give_up(self) -> None:
        """Note what the network has not got over."""
        if self._causes:
            self._note(None)

    def _due_ns(self) -> int | None:
        return self._agenda.due_ns(self._calm_since_ns) if self._agenda is not None else None

    def _strike(self, fault: Fault, due_ns: int) -> None:
        now_ns = self._clock.now_ns()
        self._record(now_ns, "fault", do=fault.do, target=fault.target)
        self._disturb(f"{fault.do} {fault.target}", now_ns, due_ns)
        if now_ns - due_ns > LATE_NS:
            late_ms = (now_ns - due_ns) // 1_000_000
            self._late.append(f"{fault.do} {fault.target} happened {late_ms} ms later than planned")
        self._live.strike(fault)

    def _disturb(self, cause: str, now_ns: int, due_ns: int) -> None:
        """Faults that were due at one instant are one entry, although they happen one after the other."""
        if self._causes and due_ns != self._due_together_ns:
            self._note(None)
        if not self._causes:
            self._since_ns = now_ns
        self._due_together_ns = due_ns
        self._calm_since_ns = self._agreed_ns = None
        self._causes.append(cause)

    def _note_fixpoint(self, at_ns: int) -> None:
        """The network had converged by `at_ns`; the event comes after all that led to it."""
        self._calm_since_ns = self._clock.now_ns()
        self._record(self._calm_since_ns, "converged", after_ns=at_ns - self._since_ns)
        self._note(at_ns - self._since_ns)

    def _note(self, took_ns: int | None) -> None:
        self.history.append(Convergence(self._since_ns, tuple(self._causes), took_ns))
        self._causes = []

    def _record(self, time_ns: int, event: str, **fields: object) -> None:
        self._events.write({"time_ns": time_ns, "node": "", "n": self._count, "event": event, **fields})
        self._count += 1

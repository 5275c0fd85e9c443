"""When things break in a simulation, and when the network has found its state again.

Both are events of the run. Not here: what a fault does (`network`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from testbed.plan.model import Fault
from testbed.runs.agenda import Agenda
from testbed.runs.world import Convergence
from testbed.sim.network import Network
from testbed.sim.node import Record
from testbed.sim.scheduler import Scheduler

CHECK_NS = 10_000_000
"""How often, in simulated time, the network is asked whether it has converged."""

OnConverged = Callable[[Network], None]


class Watch:
    """Waits for the network's fixpoint after its start and after each fault.

    Args:
        network: Who is watched.
        scheduler: The clock.
        events: Takes the `fault` and `converged` events.
        on_converged: Shown the network at each fixpoint.
    """

    def __init__(
        self, network: Network, scheduler: Scheduler, events: Record, on_converged: OnConverged
    ) -> None:
        self.history: list[Convergence] = []
        """What disturbed the network, and how long it then took, in order."""
        self._network = network
        self._scheduler = scheduler
        self._events = events
        self._on_converged = on_converged
        self._count = 0
        self._since_ns = scheduler.now_ns
        self._causes: list[str] = []
        self._agenda: Agenda | None = None
        self._calm_since_ns: int | None = None
        self._queued = 0
        """Faults that are in the scheduler's queue already."""

    @property
    def calm(self) -> bool:
        """Whether nothing has happened since the last fixpoint."""
        return not self._causes

    def begin(self) -> None:
        """The network starts, at this instant."""
        self._disturb("start")

    @property
    def over(self) -> bool:
        """Whether all faults have happened, and the network has got over them."""
        return self.calm and not self._queued and (self._agenda is None or self._agenda.over)

    def follow(self, faults: Sequence[Fault], start_ns: int) -> None:
        """These are to happen; `start_ns` is the scenario's time zero.

        Those that have a time are put into the queue at once, up to the first
        that has to wait for something.
        """
        timed = next((i for i, fault in enumerate(faults) if fault.after != "start"), len(faults))
        for fault in faults[:timed]:
            self._queue(fault, start_ns + fault.at_ns)
        self._agenda = Agenda(faults[timed:], start_ns)
        self._schedule_next()

    def give_up(self) -> None:
        """Note what the network has not got over."""
        if self._causes:
            self._note(None)

    def _schedule_next(self) -> None:
        """Those in the queue come first: the plan's order is the order in which things happen."""
        if self._queued or self._agenda is None:
            return
        due_ns = self._agenda.due_ns(self._calm_since_ns)
        if due_ns is not None:
            self._queue(self._agenda.take(due_ns), max(due_ns, self._scheduler.now_ns))

    def _queue(self, fault: Fault, at_ns: int) -> None:
        self._queued += 1
        self._scheduler.at(at_ns, self._strike, fault)

    def _strike(self, fault: Fault, _: None) -> None:
        self._network.strike(fault)
        self._record("fault", do=fault.do, target=fault.target)
        self._disturb(f"{fault.do} {fault.target}")
        self._calm_since_ns = None
        self._queued -= 1
        self._schedule_next()

    def _disturb(self, cause: str) -> None:
        now_ns = self._scheduler.now_ns
        if self._causes and self._since_ns < now_ns:
            self._note(None)
        if not self._causes:
            self._since_ns = now_ns
            self._scheduler.at(now_ns + CHECK_NS, self._check, now_ns)
        self._causes.append(cause)

    def _check(self, since_ns: int, _: None) -> None:
        if self.calm or since_ns != self._since_ns:
            return  # something else has happened: it has checks of its own
        now_ns = self._scheduler.now_ns
        if self._network.has_converged():
            self._record("converged", after_ns=now_ns - since_ns)
            self._note(now_ns - since_ns)
            self._on_converged(self._network)
            self._calm_since_ns = now_ns
            self._schedule_next()
        else:
            self._scheduler.at(now_ns + CHECK_NS, self._check, since_ns)

    def _note(self, took_ns: int | None) -> None:
        self.history.append(Convergence(self._since_ns, tuple(self._causes), took_ns))
        self._causes = []

    def _record(self, event: str, **fields: object) -> None:
        header = {"time_ns": self._scheduler.now_ns, "node": "", "n": self._count, "event": event}
        self._events({**header, **fields})
        self._count += 1

"""When faults happen in a simulation, and when the network has converged again.

Not here: what a fault does (`network`), what is due and which events say so
(`testbed.runs.faults`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from testbed.plan.model import Fault
from testbed.runs.faults import FaultSchedule, FaultTracker
from testbed.sim.network import Network
from testbed.sim.node import Record
from testbed.sim.scheduler import Scheduler

CHECK_NS = 10_000_000
"""How often, in simulated time, the network is asked whether it has converged."""

OnConverged = Callable[[Network], None]


class SimulatedFaults:
    """Applies the plan's faults, and finds the fixpoint after the start, each fault and the workload.

    Args:
        network: Whom it happens to.
        scheduler: The clock.
        events: Takes the `fault` and `converged` events.
        on_converged: Shown the network at each fixpoint.
    """

    def __init__(
        self, network: Network, scheduler: Scheduler, events: Record, on_converged: OnConverged
    ) -> None:
        self.tracker = FaultTracker(events, scheduler.now_ns)
        self._network = network
        self._scheduler = scheduler
        self._on_converged = on_converged
        self._queued = 0
        """Faults that are in the scheduler's queue already."""

    @property
    def over(self) -> bool:
        """Whether all faults have happened, and the network has converged again."""
        return self.tracker.over and not self._queued

    def begin(self) -> None:
        """The network starts, at this instant."""
        self._check_later()

    def follow(self, faults: Sequence[Fault], traces: Sequence[Fault], start_ns: int) -> None:
        """These are to happen, and links to change; `start_ns` is the scenario's time zero.

        Those that have a time are put into the queue at once, up to the first
        that has to wait for something.
        """
        self.tracker.schedule = schedule = FaultSchedule(faults, start_ns)
        timed = next((i for i, fault in enumerate(faults) if fault.after != "start"), len(faults))
        for fault in faults[:timed]:
            due_ns = start_ns + fault.at_ns
            self._queue(schedule.take(due_ns), due_ns)
        self._queue_next()
        for change in traces:
            self._scheduler.at(start_ns + change.at_ns, self._change, change)

    def ask_again(self) -> None:
        """The workload is over, and all disturbances: see, from now on, whether the network agrees on it."""
        self.tracker.ask_again(self._scheduler.now_ns)
        self._check(self.tracker.since_ns, None)

    def _change(self, change: Fault, _: None) -> None:
        self._network.apply(change)

    def _queue_next(self) -> None:
        """Those in the queue come first: the plan's order is the order in which things happen."""
        due_ns = None if self._queued else self.tracker.next_due_ns
        if due_ns is not None:
            self._queue(self.tracker.schedule.take(due_ns), max(due_ns, self._scheduler.now_ns))

    def _queue(self, fault: Fault, at_ns: int) -> None:
        self._queued += 1
        self._scheduler.at(at_ns, self._apply, fault)

    def _apply(self, fault: Fault, _: None) -> None:
        self._network.apply(fault)
        now_ns = self._scheduler.now_ns
        if self.tracker.note_fault(fault, now_ns, due_ns=now_ns):
            self._check_later()
        self._queued -= 1
        self._queue_next()

    def _check_later(self) -> None:
        self._scheduler.at(self._scheduler.now_ns + CHECK_NS, self._check, self.tracker.since_ns)

    def _check(self, since_ns: int, _: None) -> None:
        if self.tracker.converged or since_ns != self.tracker.since_ns:
            return  # something else has happened: it has checks of its own
        now_ns = self._scheduler.now_ns
        if self._network.has_converged():
            self.tracker.note_converged(now_ns, now_ns)
            self._on_converged(self._network)
            self._queue_next()
        else:
            self._check_later()

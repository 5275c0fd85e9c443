"""A simulation in its phases, on simulated time: ready, workload, drain.

Not here: files (`recording`), how a run is reported to people (`world`).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from nodes.scheme_catalog import factors_patterns
from testbed.plan.model import Fault, Plan
from testbed.sim.attacks import Attacks
from testbed.sim.faults import OnConverged, SimulatedFaults
from testbed.sim.frames import Tap, Watch
from testbed.sim.network import Network
from testbed.sim.node import Record
from testbed.sim.scheduler import Scheduler
from topologies.quantities import listed

EPOCH_NS = 946_684_800 * 1_000_000_000
"""2000-01-01 UTC: where the simulated clock starts."""

SLICE_EVENTS = 20_000
"""Events between two reports of progress."""

COLLECT_AFTER = (100_000, 20, 100)
"""Thresholds of the search for cyclic garbage while a simulation runs."""

FOREVER_NS = 2**63 - 1

_SHOWN = 5
_SECOND = 1_000_000_000


class SimulationFailedError(Exception):
    """The run cannot go on; the text says why."""


def _unseen(_: Network) -> None:
    """Nobody looks on."""


class Simulation:
    """One simulation of a plan; the phases are to be called in order."""

    def __init__(
        self,
        plan: Plan,
        run_id: str,
        events: Record,
        *,
        log_of: Callable[[str], Record] = lambda _: lambda _: None,
        captures: Mapping[str, Tap] | None = None,
        watches: Mapping[str, Watch] | None = None,
        on_converged: OnConverged = _unseen,
    ) -> None:
        self.scheduler = Scheduler(EPOCH_NS)
        self.network = Network(
            plan,
            run_id,
            self.scheduler,
            events,
            log_of=log_of,
            captures=captures or {},
            watches=watches or {},
            attacks=Attacks(plan, self.scheduler, self._note_attacked),
        )
        self.faults = SimulatedFaults(self.network, self.scheduler, events, on_converged)
        self.start_ns = 0
        """The scenario's time zero; 0 until the network is ready."""
        self._plan = plan

    def get_ready(self) -> None:
        """Start all nodes and wait for the fixpoint.

        Raises:
            SimulationFailedError: It was not reached in time.
        """
        self.network.start()
        self.faults.begin()
        self._settle("was not ready")
        self.start_ns = self.scheduler.now_ns

    def work(self, report: Callable[[int], None] = lambda _: None) -> None:
        """Let the scripts run and the faults happen, each of which the network has to converge after.

        At the end it has to agree on all that clients have done, also if there was no fault.

        Args:
            report: Called now and then with how many actions were carried out.

        Raises:
            SimulationFailedError: The network does not converge any more.
        """
        clients, plan = self.network.clients, self._plan
        self.faults.follow(plan.faults, plan.traces, self.start_ns)
        self.network.begin_background(self.start_ns)
        for client in clients:
            client.start_script()
        ends = [action.at_ns for node in plan.clients for action in node.script]
        ends += [fault.at_ns for fault in plan.faults if fault.after == "start"]
        self._run(self.start_ns + max(ends, default=0), report=lambda: report(sum(c.acted for c in clients)))
        self._settle("had not converged again")
        self._run(FOREVER_NS, done=lambda: not self.network.attacks.going)
        # What waits for a fixpoint happens after it, and disturbs the network again.
        while not self.faults.over:
            self._run(FOREVER_NS, done=lambda: not self.faults.tracker.converged)
            self._settle("had not converged again")
            self._run(FOREVER_NS, done=lambda: not self.network.attacks.going)
        self.network.attacks.end()
        self.faults.ask_again()
        self._settle("had not converged at the end of the workload")

    def _note_attacked(self, fault: Fault, began_ns: int, acts: int) -> None:
        self.faults.tracker.note_attacked(fault, began_ns, self.scheduler.now_ns, acts)

    def drain(self) -> None:
        """Wait until no message is on its way, or held back where patterns are recognised, and no match is.

        Raises:
            SimulationFailedError: Some still are on their way.
        """
        timeout_ns, flight = self._plan.timing.drain_timeout_ns, self.network.flight
        seeking = {n.name for n in self._plan.clients if any(a.do == "subscribe_pattern" for a in n.script)}
        clients = [client for client in self.network.clients if client.config.name in seeking]
        self._run(
            self.scheduler.now_ns + timeout_ns,
            done=lambda: not (flight.messages or any(c.recognising for c in clients) or self._matching()),
        )
        if flight.messages:
            raise SimulationFailedError(
                f"{flight.messages} datagrams with messages were still on their way "
                f"{timeout_ns / _SECOND:g} s after the last action"
            )

    def _matching(self) -> bool:
        """Whether routers have messages to recognise patterns in, or matches that have not arrived."""
        if not factors_patterns(self._plan.scheme_options):
            return False
        return any(router.recognising for router in self.network.routers)

    def _settle(self, how: str) -> None:
        timeout_ns = self._plan.timing.ready_timeout_ns
        self._run(self.scheduler.now_ns + timeout_ns, done=lambda: self.faults.tracker.converged)
        if not self.faults.tracker.converged:
            self.faults.tracker.give_up()
            reasons = listed(self.network.unconverged(), _SHOWN, "; ")
            raise SimulationFailedError(
                f"the network {how} after {timeout_ns / _SECOND:g} s of simulated time: {reasons}"
            )

    def _run(
        self,
        limit_ns: int,
        done: Callable[[], bool] | None = None,
        report: Callable[[], None] = lambda: None,
    ) -> None:
        with _collecting_rarely():
            while not self.scheduler.run(limit_ns, SLICE_EVENTS, done):
                report()
        report()


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Look for cycles seldom: a network keeps what it holds, and looking it over took a fifth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(*COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)

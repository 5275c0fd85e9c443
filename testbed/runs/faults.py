"""When the faults of a plan are due, and what they do to a network's convergence: the same in every world.

Here: the schedule (faults that have a time, faults that wait for the network's
fixpoint, and those that belong to the one before them), the history of
disturbances, and the events `fault` and `converged`. A world supplies the
clock, applies the faults, and finds out whether the network has converged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from testbed.plan.model import Fault, Plan
from topologies.fault_kinds import KINDS, Failures

Record = Callable[[dict[str, object]], None]


@dataclass(frozen=True, slots=True)
class Convergence:
    """How long the network took to find its fixpoint after something happened to it."""

    since_ns: int
    """When it happened."""
    causes: tuple[str, ...]
    """`start`, or the faults of that instant."""
    took_ns: int | None
    """None: something else happened first, or the run ended."""


class FaultSchedule:
    """The faults that are still to happen, strictly in the plan's order.

    Args:
        faults: Of the plan.
        start_ns: The scenario's time zero.
    """

    def __init__(self, faults: Sequence[Fault] = (), start_ns: int = 0) -> None:
        self._faults = faults
        self._start_ns = start_ns
        self._at = 0
        self._moment_ns = start_ns

    @property
    def over(self) -> bool:
        """Whether all have happened."""
        return self._at == len(self._faults)

    def due_ns(self, converged_ns: int | None) -> int | None:
        """When the next fault is to happen; None: there is none, or that is not known yet.

        Args:
            converged_ns: When the network converged after all that has happened; None: it has not.
        """
        if self.over:
            return None
        fault = self._faults[self._at]
        match fault.after:
            case "previous":
                return self._moment_ns + fault.at_ns
            case "converged":
                return None if converged_ns is None else max(converged_ns, self._start_ns) + fault.at_ns
            case _:
                return self._start_ns + fault.at_ns

    def take(self, due_ns: int) -> Fault:
        """The next fault, which was due then; the one after it is next now."""
        fault = self._faults[self._at]
        self._at += 1
        self._moment_ns = due_ns
        return fault


class FaultState:
    """What is broken of a plan's network at a moment, and what was repaired."""

    def __init__(self, plan: Plan) -> None:
        self.failures = Failures()
        self.repaired_ns: dict[str, int] = {}
        """When interfaces came back over which nothing was received for a while."""
        self._links = {link.name: link for link in plan.links}

    @property
    def links_down(self) -> list[str]:
        """The links that carry nothing, by name."""
        return [name for name in self.failures.stopped() if name in self._links]

    @property
    def down(self) -> set[str]:
        """Nodes that do not run, and interfaces whose link is down, by name."""
        links = [self._links[name] for name in self.links_down]
        nodes = {*self.failures.stopped()} - {*self._links}
        return nodes | {name for link in links for name in (link.a_interface, link.b_interface)}

    def note(self, fault: Fault, now_ns: int) -> None:
        """A fault has been applied."""
        self.failures.note(fault.do, fault.target)
        if KINDS[fault.do].state or not KINDS[fault.do].disturbs:
            return
        # A node that was silent for a while may be taken for dead until something is received.
        for link in self._links.values():
            if fault.target in (link.name, link.a, link.b):
                self.repaired_ns |= dict.fromkeys((link.a_interface, link.b_interface), now_ns)


def compromised(plan: Plan) -> set[str]:
    """The nodes that attack at one time or another, by name."""
    kinds = ((fault, KINDS[fault.do].attacking) for fault in plan.faults)
    return {fault.target for fault, kind in kinds if kind is not None and kind.compromised}


class FaultTracker:
    """What has disturbed a network, and when it has converged again.

    Args:
        events: Takes the `fault` and `converged` events.
        since_ns: When the network was started, which is the first disturbance.
    """

    def __init__(self, events: Record, since_ns: int) -> None:
        self.schedule = FaultSchedule()
        """The faults of the plan, from time zero on."""
        self.history: list[Convergence] = []
        """What disturbed the network, and how long it then took, in order."""
        self.since_ns = since_ns
        """When the last disturbance happened, or the workload was over after it."""
        self.recorded_ns = 0
        """The time of the last event."""
        self._events = events
        self._count = 0
        self._causes = ["start"]
        self._asked = False
        self._due_ns: int | None = None
        self._converged_ns: int | None = None

    @property
    def converged(self) -> bool:
        """Whether nothing has happened since the last fixpoint, and nobody asks for another."""
        return not self._causes and not self._asked

    @property
    def over(self) -> bool:
        """Whether all faults have happened, and the network has converged again."""
        return self.converged and self.schedule.over

    @property
    def next_due_ns(self) -> int | None:
        """When the next fault is to happen; None: there is none, or that is not known yet."""
        return self.schedule.due_ns(self._converged_ns)

    @property
    def since(self) -> str:
        """What there was to converge after, for people."""
        return "it was disturbed" if self._causes else "the workload was over"

    def ask_again(self, now_ns: int) -> None:
        """All clients have done all that they were to do: the network must be seen to agree on it.

        That is no disturbance, and is not in the history. To be called when the network has converged after
        all disturbances.
        """
        assert not self._causes, "the network has not converged after what disturbed it"
        self._asked, self.since_ns = True, now_ns

    def note_fault(self, fault: Fault, now_ns: int, due_ns: int) -> bool:
        """A fault happens now. Those that were due at one instant are one entry of the history.

        Returns:
            Whether it begins an entry.
        """
        self._record(now_ns, "fault", do=fault.do, target=fault.target)
        if not KINDS[fault.do].disturbs:
            return False  # all stays owed
        if self._causes and due_ns != self._due_ns:
            self.give_up()
        begins = not self._causes
        if begins:
            self.since_ns = now_ns
        self._due_ns = due_ns
        self._converged_ns = None
        self._causes.append(f"{fault.do} {fault.target}")
        return begins

    def note_attacked(self, fault: Fault, began_ns: int, now_ns: int, acts: int) -> None:
        """An attack that began then has ended, after so many acts."""
        about = {"do": fault.do, "target": fault.target, "began_ns": began_ns, "acts": acts}
        self._record(now_ns, "attacked", **about)

    def note_converged(self, now_ns: int, at_ns: int) -> None:
        """It is certain now that the network had converged at `at_ns`."""
        self._asked = False
        if not self._causes:
            return
        self._converged_ns = now_ns
        self._record(now_ns, "converged", after_ns=at_ns - self.since_ns)
        self._close(at_ns - self.since_ns)

    def give_up(self) -> None:
        """The network has not converged, and it will not be known when it would have."""
        if self._causes:
            self._close(None)

    def _close(self, took_ns: int | None) -> None:
        self.history.append(Convergence(self.since_ns, tuple(self._causes), took_ns))
        self._causes = []

    def _record(self, time_ns: int, event: str, **fields: object) -> None:
        self.recorded_ns = time_ns
        self._events({"time_ns": time_ns, "node": "", "n": self._count, "event": event, **fields})
        self._count += 1

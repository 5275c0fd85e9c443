"""When the next fault of a plan is due: the same for every world that carries faults out.

Here: faults that have a time, faults that wait for the network's fixpoint, and
those that belong to the one before them. Not here: carrying them out, and
telling whether the network has converged.
"""

from __future__ import annotations

from collections.abc import Sequence

from testbed.plan.model import Fault


class Agenda:
    """The faults that are still to happen, strictly in the plan's order.

    Args:
        faults: Of the plan.
        start_ns: The scenario's time zero.
    """

    def __init__(self, faults: Sequence[Fault], start_ns: int) -> None:
        self._faults = faults
        self._start_ns = start_ns
        self._at = 0
        self._moment_ns = start_ns

    @property
    def over(self) -> bool:
        """Whether all have happened."""
        return self._at == len(self._faults)

    def due_ns(self, calm_since_ns: int | None) -> int | None:
        """When the next fault is to happen; None: there is none, or nobody can tell yet.

        Args:
            calm_since_ns: When the network converged after all that has happened; None: it has not.
        """
        if self.over:
            return None
        fault = self._faults[self._at]
        match fault.after:
            case "previous":
                return self._moment_ns + fault.at_ns
            case "converged":
                return None if calm_since_ns is None else max(calm_since_ns, self._start_ns) + fault.at_ns
            case _:
                return self._start_ns + fault.at_ns

    def take(self, due_ns: int) -> Fault:
        """The next fault, which was due then; the one after it is next now."""
        fault = self._faults[self._at]
        self._at += 1
        self._moment_ns = due_ns
        return fault

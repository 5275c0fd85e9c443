"""The seam between a run and whatever carries its links.

Three things can carry a link. `veth`: a bare pair, as fast as the machine, which
does nothing to packets. `netem`: a pair with the kernel's queueing disciplines.
`wire`: a tap device at each end and the project's own process between them.
A run chooses for each link (`choice`); what was chosen stands in the manifest.
What cannot be applied raises `NetworkError`: it is never left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from testbed.plan.model import Impairment, LinkPlan
from testbed.runs.fidelity import LinkMeasure

PidOf = Callable[[str], int]
"""The process that holds a node's namespace, by the node's name."""


class Links(Protocol):
    """Some links of a run, all carried the same way."""

    name: str
    """`veth`, `netem` or `wire`."""

    def build(self) -> None:
        """Make the interfaces at both ends, with the plan's names, addresses of the link layer and MTU.

        They are left down and without addresses; the impairments are in force.
        """

    def impair(self, link: LinkPlan, impairment: Impairment, back: Impairment) -> None:
        """From now on the link does this to packets, from `a` to `b` and back; what is on its way stays."""

    def cut(self, link: LinkPlan) -> None:
        """Carry nothing any more, either way; what is on its way is lost."""

    def mend(self, link: LinkPlan) -> None:
        """Carry again, as impaired as before."""

    def count_lateness_anew(self) -> None:
        """The workload begins: how late frames were before counts no more."""

    def measures(self) -> list[LinkMeasure]:
        """What was delivered so far, as far as it can tell: two entries a link, from `a` and from `b`."""

    def stop(self) -> list[str]:
        """Carry nothing any more and end all processes; what went wrong, for people."""

"""What must be known of a run to judge any of its messages: plain values that travel to the tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.advertising import Advertising
from analysis.attacked import Attacked
from analysis.dues import BulkOracle
from analysis.findings import Slices
from analysis.history import History
from analysis.messages.counting import Excused, Timeline
from analysis.oracle import Claim, Oracle
from analysis.publishing import Publishing
from topologies.ideal import Edge


@dataclass(frozen=True, slots=True)
class Context:
    """Of one run."""

    claims: Sequence[Claim]
    history: History
    excused: Excused
    timeline: Timeline
    """All parts of the run that are told apart: first those that have names, then the slices."""
    slices: Slices
    homes: Mapping[int, int]
    """The router of each client, by ids."""
    costs: Sequence[Edge]
    """The links between routers, by ids."""
    delays: Sequence[Edge]
    """The same with their delays in nanoseconds; none, if one of them is not known."""

    window_ns: int
    """Of each so long a time the least delay over each link is kept (`analysis.drift.least`)."""

    names: Mapping[int, str] = field(default_factory=dict)
    """Of all nodes, by id."""
    advertising: Advertising | None = None
    """None: nobody has to advertise."""
    attacked: Attacked | None = None
    """None: nobody attacked."""
    publishing: Publishing | None = None
    """None: clients may publish anything."""

    def oracle(self) -> BulkOracle:
        """Who says what was owed."""
        oracle = Oracle(self.claims, self.history)
        return BulkOracle(oracle, advertising=self.advertising, publishing=self.publishing)

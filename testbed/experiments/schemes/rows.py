"""A row: one scheme on one network under one load."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.experiments.results import Results


@dataclass(frozen=True, slots=True)
class Row:
    """What a scheme did, and what it took. All of it depends on the seed alone."""

    shape: str
    routers: int
    links: int
    senders: int
    receivers: int
    messages: int
    scheme: str
    owed: int
    """(Message, receiver) pairs."""
    missing: int
    duplicate: int
    spurious: int
    crossings: int
    """Messages over links between routers."""
    wasted: int
    """Those from which no delivery descends."""
    ideal: int
    """Crossings of the ideal trees (T1)."""
    inexact: int
    """Messages whose ideal tree was approximated."""
    stretch_mean: float
    """Latency over that of the fastest path, of deliveries beyond the first router."""
    stretch_max: float
    message_bytes: int
    """Of the packets of all crossings."""
    fib_bytes: int
    """Of the compiled FIBs of all routers."""
    classes: int
    """Header classes in all routers."""
    constraints: int
    """In all routers' tables, reduced, without what routers' own clients want."""
    unreduced: int
    """What they would be if nothing were reduced."""
    apart: int
    """The same, reduced, if every class had a table of its own."""
    state_bits: float | None
    """What the paper's formula counts, measured; none where the paper has no formula."""
    unreduced_bits: float | None
    """The same if nothing were reduced: alpha = 1."""
    formula_bits: float | None
    """The formula, with alpha = 1."""
    control_packets: int
    """Until the network was at its fixpoint, without hellos, over all links between routers."""
    control_bytes: int
    converged_ms: float
    """Simulated time from the start until then."""

    @property
    def ratio(self) -> float:
        """Crossings over those of the ideal trees."""
        return self.crossings / self.ideal if self.ideal else 1.0

    @property
    def network(self) -> tuple[str, int, int, int]:
        """Which network, under which load."""
        return self.shape, self.routers, self.senders, self.receivers


Measured = Results[Row]


def schemes_of(results: Measured) -> list[str]:
    """In alphabetical order."""
    return sorted({row.scheme for row in results.rows})


def rows_of(results: Measured, *schemes: str) -> list[Row]:
    """The rows of these schemes."""
    return [row for row in results.rows if row.scheme in schemes]


def paired(results: Measured, first: str, second: str) -> list[tuple[Row, Row]]:
    """The rows of two schemes on the same networks."""
    others = {row.network: row for row in rows_of(results, second)}
    return [(row, others[row.network]) for row in rows_of(results, first) if row.network in others]

"""A row: one run under one load, a phase of its scenario."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.experiments.results import Results


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a phase of a run. What is of the whole run stands in each of its rows."""

    scenario: str
    world: str
    routers: int
    interfaces: int
    """Of the router with the most."""
    phase: str
    rate: float
    """Messages published a second."""
    publications: int
    expected: int
    delivered: int
    missing: int
    duplicate: int
    spurious: int
    p50_us: float
    """Of the latency, from first sight at the publisher's router to last sight at the subscriber's."""
    end_to_end_p50_us: float
    """From client to client over both access links, by the clients' own account."""
    end_to_end_p99_us: float
    p90_us: float
    p99_us: float
    hops: float
    """Routers on the way, mean, of the whole run."""
    digest: str
    """Of what the run delivered to whom."""
    busiest: str
    """The router that took the most of a processor, of the whole run; empty where that is not known."""
    busiest_us: float | None
    """What it took for each message that came to it."""
    busiest_messages: int
    """That came to it."""
    all_us: float | None
    """What all routers took together for each message published."""
    fidelity: str
    seconds: float
    """Of the whole run with its analysis."""

    @property
    def run(self) -> tuple[str, int]:
        """Which run."""
        return self.scenario, self.routers

    @property
    def wrong(self) -> int:
        """Deliveries that are not as they should be."""
        return self.missing + self.duplicate + self.spurious


Measured = Results[Row]


def runs_of(results: Measured) -> list[Row]:
    """The first row of each run."""
    return list({row.run: row for row in reversed(results.rows)}.values())[::-1]


def scenarios_of(results: Measured) -> list[str]:
    """In the order in which they ran."""
    return list(dict.fromkeys(row.scenario for row in results.rows))


def single_and_networks(results: Measured, scenario: str) -> list[tuple[Row, list[Row]]]:
    """By load: the single router's row, and those of the networks."""
    rows = [row for row in results.rows if row.scenario == scenario]
    alone = [row for row in rows if row.routers == 1]
    return [(one, [r for r in rows if r.phase == one.phase and r.routers > 1]) for one in alone]

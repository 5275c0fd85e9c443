"""How many bits links can carry in a time, where the plan limits that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from analysis.course.faults import Step
from analysis.history import FOREVER
from analysis.rundir import Run
from testbed.plan.model import Impairment, LinkPlan

Way = tuple[int, int]
"""A direction of a link, by the ids of the nodes from and to which it leads."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The rate of each direction of which one is ever known, and when it changed."""

    changes: dict[Way, list[tuple[int, int | None]]]
    """From when on which rate in bit/s held, in order of time; None: none is known."""

    def bits(self, way: Way, from_ns: int, until_ns: int) -> float | None:
        """How many bits it could carry; None if no rate is known for some of the time."""
        if way not in self.changes:
            return None
        total = 0.0
        for (begin, rate), (end, _) in pairwise([*self.changes[way], (FOREVER, None)]):
            lasted = min(end, until_ns) - max(begin, from_ns)
            if lasted > 0 and rate is None:
                return None
            total += max(lasted, 0) * (rate or 0) / 1e9
        return total


def rates_of(run: Run, steps: Iterable[Step]) -> Rates:
    """Those that the topology gives, and the changes by faults and traces. One by hand is not known."""
    ids = {node.name: node.node_id for node in run.plan.nodes}
    links = {link.name: link for link in run.plan.links}
    found: dict[Way, list[tuple[int, int | None]]] = {}
    for time_ns, link, there, back in sorted(_changes(run, steps, links), key=lambda change: change[0]):
        ends = (ids[link.a], ids[link.b])
        for way, impairment in ((ends, there), (ends[::-1], back)):
            rate = None if impairment is None else impairment.rate_bps
            found.setdefault(way, []).append((time_ns, rate))
    return Rates({way: rates for way, rates in found.items() if any(rate for _, rate in rates)})


Change = tuple[int, LinkPlan, Impairment | None, Impairment | None]


def _changes(run: Run, steps: Iterable[Step], links: dict[str, LinkPlan]) -> Iterator[Change]:
    for link in run.plan.links:
        yield 0, link, link.impairment, link.impairment_back
    for trace in run.plan.traces:
        yield (
            run.start_ns + trace.at_ns,
            links[trace.target],
            trace.impairment,
            trace.back or trace.impairment,
        )
    for step in steps:
        if step.change.do == "impair" and step.change.target in links:
            to, back = (step.planned.impairment, step.planned.back) if step.planned else (None, None)
            yield step.change.time_ns, links[step.change.target], to, back or to

"""The tables about what happened when, of sums over the packets and messages of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from analysis.course.disturbed import Disturbed, convergence_table, faults_table
from analysis.course.links import Known, control_table, links_table, names_of
from analysis.course.markings import markings_table
from analysis.course.matches import matches_table
from analysis.course.outcomes import Outcomes
from analysis.course.rates import rates_of
from analysis.course.routers import Carried, routers_table
from analysis.course.signalling import signalling_table
from analysis.course.sums import PacketSums, Times
from analysis.findings import Slices
from analysis.history import History, NetworkChange
from analysis.messages.counting import Timeline
from analysis.messages.sums import Sums
from analysis.rundir import Run


@dataclass(frozen=True, slots=True)
class Course:
    """What is known of a run before its packets and messages are counted."""

    run: Run
    slices: Slices
    disturbed: Disturbed
    incomplete: Collection[str] = ()
    """Interfaces whose captures are incomplete."""

    @classmethod
    def of(
        cls,
        run: Run,
        slices: Slices,
        changes: Sequence[NetworkChange],
        history: History,
        incomplete: Collection[str] = (),
    ) -> Course:
        """That of a run, by its events."""
        return cls(run, slices, Disturbed.of(run, changes, history), incomplete)

    @property
    def times(self) -> Times:
        """By what times packets are counted."""
        return Times(self.slices, self.disturbed.intervals)

    @property
    def moments(self) -> Sequence[int]:
        """At which a timeline needs edges, so that messages can be counted by it."""
        edges: list[int] = self.disturbed.intervals.edges.tolist()
        return edges

    def tables(self, packets: PacketSums, sums: Sums, timeline: Timeline) -> dict[str, pa.Table]:
        """All tables, by name.

        Args:
            packets: What was counted of packets by `times`.
            sums: What was counted of messages.
            timeline: By which that was.
        """
        run, slices, course = self.run, self.slices, sums.course
        lost = {(key[0], key[1], key[2]): copies for key, (copies,) in course.lost.rows()}
        known = Known(rates_of(run, self.disturbed.steps), lost, self.incomplete)
        outcomes = Outcomes(timeline, sums.published, sums.intervals, course.late)
        wasted: Counter[int] = Counter()
        for (_, router), (_, copies) in sums.crossings.items():
            wasted[router] += copies
        names = names_of(run)
        return {
            "links": links_table(run, packets.loads, slices, known),
            "control": control_table(run, packets.loads, slices),
            "faults": faults_table(run, self.disturbed, outcomes),
            "convergence": convergence_table(run, self.disturbed, outcomes, packets),
            "routers": routers_table(run, Carried(packets.loads, wasted, course.waits)),
            "signalling": signalling_table(packets.signals, names, slices),
            "markings": markings_table(run.plan, packets.signals, names),
            "matches": matches_table(run, sums.matches, slices),
        }

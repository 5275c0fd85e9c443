"""Tables `faults` and `convergence`: what failed when, how the network took it, and what clients lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from analysis.catalog.course import CONVERGENCE, FAULTS
from analysis.course.convergence import UNKNOWN_NS, Episode, episodes_of
from analysis.course.faults import Lasting, Step, lasting, steps_of
from analysis.course.moments import Intervals
from analysis.course.outcomes import Outcomes
from analysis.course.records import learned
from analysis.course.sums import PacketSums
from analysis.history import FOREVER, History, NetworkChange
from analysis.rundir import Run
from topologies.fault_kinds import KINDS


@dataclass(frozen=True, slots=True)
class Disturbed:
    """What happened to the network of a run, before anything is counted."""

    steps: Sequence[Step]
    faults: Sequence[Lasting]
    episodes: Sequence[Episode]
    intervals: Intervals
    """Between all moments at which something of it begins or ends, or the network had converged."""

    @classmethod
    def of(cls, run: Run, changes: Sequence[NetworkChange], history: History) -> Disturbed:
        """By the events of a run."""
        steps = steps_of(run, changes)
        faults, episodes = lasting(run.plan, steps), episodes_of(run, history.disturbances)
        moments = [moment for episode in episodes for moment in episode.moments()]
        moments += [moment for fault in faults for moment in (fault.step.change.time_ns, _end(fault))]
        moments += [change.time_ns + 1 for change in changes if not change.do]
        return cls(steps, faults, episodes, Intervals.between(moments))


def _end(fault: Lasting) -> int:
    return FOREVER if fault.until_ns is None else fault.until_ns


def faults_table(run: Run, disturbed: Disturbed, outcomes: Outcomes) -> pa.Table:
    """Table `faults`."""
    return pa.Table.from_pylist(list(_faults(run, disturbed, outcomes)), FAULTS.schema)


def _faults(run: Run, disturbed: Disturbed, outcomes: Outcomes) -> Iterator[dict[str, Any]]:
    ids = {node.name: node.node_id for node in run.plan.nodes}
    ends = {link.name: (ids[link.a], ids[link.b]) for link in run.plan.links}
    for number, fault in enumerate(disturbed.faults, 1):
        change = fault.step.change
        a_id, b_id = ends.get(change.target) or (ids.get(change.target), None)
        yield {
            "fault": number,
            "kind": change.do,
            "target": change.target,
            "a_id": a_id,
            "b_id": b_id,
            "planned_ns": fault.step.planned_ns,
            "time_ns": change.time_ns,
            "until_ns": fault.until_ns,
            "episode": _episode_at(change.time_ns, disturbed.episodes) if KINDS[change.do].disturbs else None,
            **outcomes.within(change.time_ns, _end(fault)),
        }


def _episode_at(time_ns: int, episodes: Sequence[Episode]) -> int | None:
    """The last disturbance that had begun by then."""
    begun = (number for number, each in enumerate(episodes) if number and each.from_ns <= time_ns)
    return max(begun, default=None)


def convergence_table(run: Run, disturbed: Disturbed, outcomes: Outcomes, packets: PacketSums) -> pa.Table:
    """Table `convergence`."""
    ids = run.router_ids
    starts = [(ids[name], at) for each in disturbed.episodes for name, at in each.restarted if name in ids]
    news = learned(packets.records, disturbed.intervals, starts)
    rows: list[dict[str, Any]] = []
    for number, episode in enumerate(disturbed.episodes):
        meanwhile = disturbed.intervals.within(episode.from_ns, episode.end_ns)
        count, last_ns = news.within(meanwhile)
        _, followed_ns = news.within(disturbed.intervals.within(episode.last_ns, episode.end_ns))
        noted = episode.from_ns != UNKNOWN_NS
        rows.append(
            {
                "episode": number,
                "causes": episode.causes,
                "from_ns": episode.from_ns if noted else None,
                "last_fault_ns": episode.last_ns if noted else None,
                "settled_ns": None if episode.settled_ns == FOREVER else episode.settled_ns,
                "took_ns": episode.took_ns,
                "records": count,
                "last_record_ns": last_ns,
                "records_took_ns": followed_ns - episode.last_ns if noted and followed_ns else None,
                **{_COSTS[name]: total for name, total in packets.costs.within(meanwhile).items()},
                **outcomes.within(episode.from_ns, episode.end_ns),
            }
        )
    return pa.Table.from_pylist(rows, CONVERGENCE.schema)


_COSTS = {
    "packets": "control_packets",
    "bytes": "control_bytes",
    "payload_packets": "payload_packets",
    "payload_bytes": "payload_bytes",
}

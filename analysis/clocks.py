"""What captures say of the clocks of a run's hosts, and which captures of a link were exchanged.

What is sent cannot arrive before it is sent, nor sooner than the link delays it. Here: what each link delays
by the plan, and how much too early is early. Not here: how clocks follow from that (`analysis.drift`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.drift.correction import HostClock
from analysis.drift.estimate import estimate
from analysis.drift.least import LeastDelays, merged
from analysis.rundir import Run
from testbed.plan.model import Impairment, LinkPlan, Plan
from testbed.plan.recorded import ClockReading

TOLERANCE_NS = {"sim": 1_000, "cluster": 100_000}
OTHER_TOLERANCE_NS = 2_000_000
"""Of worlds on real machines: what a carrier may be early, and two clocks of one machine may differ."""
CONTROLLER = "the controller"
"""Who started the nodes of several machines: faults and time zero are by its clock."""
_CONTROLLER_ID = -1
"""In the place of a node's."""


@dataclass(frozen=True, slots=True)
class Way:
    """A direction of a link: the least and the most time from sending to arrival."""

    link: str
    from_id: int
    to_id: int
    least_ns: int
    most_ns: int


@dataclass(frozen=True, slots=True)
class Clocks:
    """What is known of the times in a run directory."""

    swapped: Sequence[str]
    """Links whose captures were exchanged: then times prove nothing, and nothing is corrected."""
    by_node: Mapping[int, HostClock]

    @property
    def off(self) -> dict[int, HostClock]:
        """Those that are not right."""
        return {node: clock for node, clock in self.by_node.items() if clock.off}

    @property
    def to_correct(self) -> dict[int, HostClock]:
        """Those of them that say how."""
        usable = {node: clock for node, clock in self.off.items() if clock.correctable}
        return {} if self.swapped else usable

    @property
    def trusted(self) -> bool:
        """Whether times, corrected or not, say when something was."""
        return not self.swapped and len(self.to_correct) == len(self.off)


def clocks_by_readings(run: Run) -> Clocks:
    """What the controller's readings alone say of the clocks of machines, before any capture is read."""
    if not any(run.readings.values()):
        return Clocks((), {})
    nothing, world = merged(()), str(run.manifest["world"])
    return Clocks((), clocks_of(nothing, run.plan, world, {}, hosts=run.hosts, readings=run.readings))


def clock_columns(by_node: Mapping[int, HostClock]) -> dict[str, list[Any]]:
    """The columns of table `clocks`."""
    clocks = by_node.values()
    return {
        "node_id": [*by_node],
        "host": [clock.host for clock in clocks],
        "offset_ns": [clock.offset_ns if clock.even else None for clock in clocks],
        "drift_ppm": [clock.drift_ppm if clock.even else None for clock in clocks],
        "uncertainty_ns": [clock.uncertainty_ns for clock in clocks],
        "residual_ns": [clock.residual_ns for clock in clocks],
        "even": [clock.even for clock in clocks],
    }


def ways_of(delays: Mapping[str, Sequence[Any]]) -> list[Way]:
    """The directions of links over which anything arrived, from the columns of table `link_delays`."""
    columns = (delays[name] for name in ("link", "from_id", "to_id", "least_ns", "most_ns"))
    rows = zip(*columns, strict=True)
    return [Way(link or "", a, b, least, most) for link, a, b, least, most in rows if least is not None]


def swapped_ends(ways: Iterable[Way]) -> list[str]:
    """Links whose delays are all negative, in both directions: the captures of their ends were exchanged."""
    negative: dict[str, int] = {}
    for way in ways:
        negative[way.link] = negative.get(way.link, 0) + (way.most_ns < 0)
    return sorted(link for link, directions in negative.items() if directions == 2)


def clocks_of(
    least: LeastDelays,
    plan: Plan,
    world: str,
    backends: Mapping[str, str],
    *,
    crossing_ns: Mapping[str, int] | None = None,
    exchanged: Collection[str] = (),
    hosts: Mapping[int, str] | None = None,
    readings: Mapping[str, Sequence[ClockReading]] | None = None,
) -> dict[int, HostClock]:
    """The clock of each node that shares a link with a node of another host, by node id.

    Args:
        least: Of the whole run.
        plan: Of the run.
        world: It took place in.
        backends: What carried the frames, by the interface that sends.
        crossing_ns: By it, what was left of the delay to the network between two machines.
        exchanged: Links whose captures are not in order: their delays say nothing.
        hosts: Whose clock a node reads, by id; None: each has its own.
        readings: Of the clocks of hosts by the controller: all times are wanted by its clock, then.
    """
    names = {node.node_id: node.name for node in plan.nodes}
    hosts = names if hosts is None else hosts
    tolerance_ns = TOLERANCE_NS.get(world, OTHER_TOLERANCE_NS)
    known = _known(least, plan, exchanged)
    for number, (host, of_host) in enumerate(sorted((readings or {}).items())):
        known = merged((known, _asked(_CONTROLLER_ID - 1 - number, of_host)))
        hosts = {**hosts, _CONTROLLER_ID: CONTROLLER, _CONTROLLER_ID - 1 - number: host}
    found = estimate(
        known, _least_delays(plan, world, backends, crossing_ns or {}), hosts, tolerance_ns, CONTROLLER
    )
    return {node: found[hosts[node]] for node in sorted(names) if hosts.get(node) in found}


def _asked(host_id: int, readings: Sequence[ClockReading]) -> LeastDelays:
    """Questions and answers as what they are: packets to a host and back."""
    there = [(each.asked_ns, each.said_ns - each.asked_ns) for each in readings]
    back = [(each.said_ns, each.answered_ns - each.said_ns) for each in readings]
    rows = [(_CONTROLLER_ID, host_id, n, least, sent) for n, (sent, least) in enumerate(there)]
    rows += [(host_id, _CONTROLLER_ID, n, least, sent) for n, (sent, least) in enumerate(back)]
    return LeastDelays(*np.array(rows, np.int64).reshape(-1, 5).T)


def _known(least: LeastDelays, plan: Plan, exchanged: Collection[str]) -> LeastDelays:
    """Without what says nothing."""
    ids = {node.name: node.node_id for node in plan.nodes}
    wrong = [{ids[link.a], ids[link.b]} for link in plan.links if link.name in exchanged]
    ways = zip(least.from_id.tolist(), least.to_id.tolist(), strict=True)
    kept = np.array([{*way} not in wrong and {*way} <= {*ids.values()} for way in ways], bool)
    return LeastDelays(*(column[kept] for column in least))


def _least_delays(
    plan: Plan, world: str, backends: Mapping[str, str], crossing_ns: Mapping[str, int]
) -> dict[tuple[int, int], int]:
    """What each direction of a link certainly delays between the two times that are compared."""
    ids = {node.name: node.node_id for node in plan.nodes}
    changed: dict[str, list[tuple[Impairment, Impairment]]] = {}
    for change in plan.changes_of_links:
        there = change.impairment or Impairment()
        changed.setdefault(change.target, []).append((there, change.back or there))
    delays: dict[tuple[int, int], int] = {}
    for link in plan.links:
        both = [(link.impairment, link.impairment_back), *changed.get(link.name, ())]
        for number, (a, b, interface) in enumerate(_ways(link)):
            applied = world == "sim" or backends.get(interface) == "wire"
            least = min(_certain_ns(each[number], plan, world) for each in both) if applied else 0
            delays[ids[a], ids[b]] = max(least - crossing_ns.get(interface, 0), 0)
    return delays


def _ways(link: LinkPlan) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    return (link.a, link.b, link.a_interface), (link.b, link.a, link.b_interface)


def _certain_ns(impairment: Impairment, plan: Plan, world: str) -> int:
    open_ns = plan.timing.hop_delay_ns if world == "sim" else 0
    if impairment.reorder or (impairment.jitter_ns and impairment.jitter_shape != "uniform"):
        return 0
    delay_ns = open_ns if impairment.delay_ns is None else impairment.delay_ns
    return max(delay_ns - impairment.jitter_ns, 0)

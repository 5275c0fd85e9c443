"""Simulates a plan in this process and shows what its routers send each other, for kinds that count it.

At each router interface towards another router stands a recorder, which shows every packet that the router
sends there. What is counted of them is the kind's own matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from analysis.advertising import advertising_in
from analysis.oracle import Judged, judge_events, oracle_of
from fastpath.wire import codec
from nodes.wire.codec import split_datagram
from nodes.wire.packets import PacketType
from testbed.plan.model import Plan
from testbed.sim.frames import Watch
from testbed.sim.simulation import Simulation

TYPES = tuple(PacketType)
"""By number."""
Event = dict[str, Any]
"""Of a client: it subscribed, published, was delivered a message."""


class Counter(Protocol):
    """Whoever counts what crosses links between routers."""

    def sent(self, time_ns: int, ends: tuple[str, str], type_: PacketType, packet: bytes) -> None:
        """Note a packet that one router sends to another."""


def _recorder(ends: tuple[str, str], counter: Counter) -> Watch:
    """Shows the packets of datagrams that leave at one router interface."""

    def show(time_ns: int, datagram: bytes) -> None:
        lone = codec.lone_type(datagram)
        if lone >= 0:
            counter.sent(time_ns, ends, TYPES[lone], datagram)
            return
        for type_, packet in split_datagram(datagram):
            counter.sent(time_ns, ends, type_, packet)

    return show


def ready(plan: Plan, counter: Counter) -> tuple[Simulation, list[Event]]:
    """A simulation whose network is at its fixpoint, and the list that all events of its clients go to.

    Args:
        plan: What is run.
        counter: Is shown what crosses links between routers, from the start.

    Raises:
        SimulationFailedError: The network did not converge.
    """
    events = list[Event]()
    simulation = Simulation(plan, "case", events.append, watches=_recorders(plan, counter))
    simulation.get_ready()
    return simulation, events


def _recorders(plan: Plan, counter: Counter) -> dict[str, Watch]:
    """A recorder for each end of each link between routers, by the interface's name."""
    routers = router_names(plan)
    return {
        end.name: _recorder((node.name, end.peer), counter)
        for node in plan.routers
        for end in node.interfaces
        if end.peer in routers
    }


def router_names(plan: Plan) -> set[str]:
    """The names of all routers."""
    return {node.name for node in plan.routers}


def links_between_routers(plan: Plan) -> int:
    """How many there are."""
    routers = router_names(plan)
    return sum(link.a in routers and link.b in routers for link in plan.links)


def entries(plan: Plan, simulation: Simulation) -> int:
    """The filters at interfaces to other routers, in the tables of all routers as they are now."""
    routers = router_names(plan)
    count = 0
    for node in plan.routers:
        towards = {index for index, end in enumerate(node.interfaces) if end.peer in routers}
        contents = simulation.network.cores[node.name].installer.contents()
        count += sum(len(filters) for table in contents for i, filters in table.items() if i in towards)
    return count


def judged(plan: Plan, events: Sequence[Event], start_ns: int) -> Judged:
    """What of the messages was owed, and what became of it."""
    ids = {node.name: node.node_id for node in plan.nodes}
    advertising = advertising_in(plan, events, start_ns)
    oracle = oracle_of(plan, events, start_ns)
    return judge_events(oracle, events, ids, None if advertising is None else advertising.restrict)

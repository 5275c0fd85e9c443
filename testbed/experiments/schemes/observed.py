"""A case under a scheme in the simulator: what crossed which link, who got what, what is held.

All in this process. Nothing is written to disk and no Spark is needed: each router's outgoing frames are
seen by a recorder in the place of a capture, the clients' events by a list.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fastpath.codec import split_datagram
from nodes.model import parse_predicate
from nodes.routing.router import Router
from nodes.routing.schemes.state import State, figures_of, measure, total
from nodes.scheme_formulas import Figures
from nodes.wire.codec import encode_predicate
from nodes.wire.packets import PacketType, Role
from testbed.experiments.schemes.networks import load_of, scenario, texts_of
from testbed.experiments.schemes.sweep import Case
from testbed.plan import plan_of
from testbed.plan.model import Plan
from testbed.sim.capture import Tap
from testbed.sim.simulation import EPOCH_NS, Simulation

HEADERS_BYTES = 42
"""Ethernet, IPv4 and UDP."""
MESSAGE = int(PacketType.MESSAGE)


class Crossing(NamedTuple):
    """A message over a link between routers; nodes by their ids."""

    source: int
    sequence: int
    hop_count: int
    start: int
    end: int


@dataclass(slots=True)
class Seen:
    """What the recorders of all links between routers add up."""

    crossings: list[Crossing] = field(default_factory=list)
    message_bytes: int = 0
    control: Counter[str] = field(default_factory=Counter)
    """Packets and bytes of what is neither message nor hello."""


class Recorder:
    """In the place of the capture of one router interface: counts what the router sends over it."""

    def __init__(self, mac: str, ends: tuple[int, int], seen: Seen) -> None:
        self._mac = bytes.fromhex(mac.replace(":", ""))
        self._ends = ends
        self._seen = seen

    def record(self, time_ns: int, frame: bytes) -> None:
        """A frame that passes the interface, in either direction."""
        del time_ns
        if frame[6:12] != self._mac:
            return
        datagram = frame[HEADERS_BYTES:]
        for kind, at, size in split_datagram(datagram):
            if kind == MESSAGE:
                self._message(datagram[at : at + size])
            elif kind in {PacketType.CONTROL, PacketType.ACK}:
                self._seen.control["packets"] += 1
                self._seen.control["bytes"] += size

    def _message(self, packet: bytes) -> None:
        source, sequence = (int.from_bytes(packet[a:b], "big") for a, b in ((8, 12), (16, 24)))
        self._seen.crossings.append(Crossing(source, sequence, packet[6], *self._ends))
        self._seen.message_bytes += len(packet)


@dataclass(frozen=True, slots=True)
class Observed:
    """One run."""

    plan: Plan
    crossings: list[Crossing]
    message_bytes: int
    deliveries: list[dict[str, Any]]
    """The clients' `deliver` events."""
    publications: list[dict[str, Any]]
    """Their `publish` events, in order of time."""
    converged_ns: int
    """Simulated time from the start until the network was at its fixpoint."""
    control_packets: int
    control_bytes: int
    """Until then, without hellos, over all links between routers."""
    fib_bytes: int
    """What all routers' compiled FIBs take."""
    state: State
    """What all routers hold, as the paper counts it, with classes for the senders alone."""
    all_classes: State
    """The same with the classes of all sources there may be."""
    figures: Figures
    """What the paper's formulas ask for."""


def observe(case: Case, scheme: str, seed: int) -> Observed:
    """Run a case under a scheme.

    Raises:
        SimulationFailedError: The network did not converge, or messages never arrived.
    """
    plan = plan_of(scenario(case, scheme, seed), f"{case}, {scheme}")
    seen, events = Seen(), list[dict[str, Any]]()
    simulation = Simulation(plan, "case", events.append, captures=_recorders(plan, seen))
    simulation.get_ready()
    control = dict(seen.control)
    cores = [simulation.network.cores[node.name] for node in plan.routers]
    states = [_state(core, set(load_of(case, seed).senders)) for core in cores]
    fib_bytes = sum(int(str(core.installer.stats()["bytes"])) for core in cores)
    simulation.work()
    simulation.drain()
    return Observed(
        plan=plan,
        crossings=seen.crossings,
        message_bytes=seen.message_bytes,
        deliveries=[event for event in events if event["event"] == "deliver"],
        publications=[event for event in events if event["event"] == "publish"],
        converged_ns=simulation.start_ns - EPOCH_NS,
        control_packets=control.get("packets", 0),
        control_bytes=control.get("bytes", 0),
        fib_bytes=fib_bytes,
        state=total(state for state, _ in states),
        all_classes=total(state for _, state in states),
        figures=_figures(cores[0], case, seed),
    )


def _state(core: Router, senders: set[int]) -> tuple[State, State]:
    spec = core.installer.spec
    assert spec is not None, "a router that has converged forwards"
    return measure(spec, core.store, senders), measure(spec, core.store)


def _figures(core: Router, case: Case, seed: int) -> Figures:
    load = load_of(case, seed)
    wants = {router: encode_predicate(parse_predicate(text)) for router, text in texts_of(load).items()}
    return figures_of(core.network.topology(), wants, load.senders)


def _recorders(plan: Plan, seen: Seen) -> dict[str, Tap]:
    """A recorder for each end of each link between routers, by the interface's name."""
    ids = {node.name: node.node_id for node in plan.nodes}
    routers = {node.name for node in plan.nodes if node.role is Role.ROUTER}
    return {
        end.name: Recorder(end.mac, (node.node_id, ids[end.peer]), seen)
        for node in plan.routers
        for end in node.interfaces
        if end.peer in routers
    }

"""Runs every scheme over every network and load, and counts: what was owed, what crossed, what is held.

All in this process. Nothing is written to disk and no Spark is needed: what routers send is counted as it
crosses links. What is owed is what the analysis's oracle finds (T1, T6, E8, E9).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from statistics import fmean
from typing import NamedTuple

from analysis.oracle import Oracle, judge_events, oracle_of
from nodes.model import parse_message, parse_predicate
from nodes.routing.schemes.state import Held, State, figures_of, measured, total
from nodes.routing.schemes.state import measure as weigh
from nodes.scheme_formulas import Figures, formula
from nodes.wire.codec import decode, encode_predicate
from nodes.wire.packets import Message, PacketType
from testbed.experiments.kind import DisagreementError
from testbed.experiments.observed import Event, ready
from testbed.experiments.schemes.networks import Case, Sweep, load_of, scenario
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.runs.world import Progress
from testbed.sim.simulation import EPOCH_NS, SimulationFailedError
from topologies.ideal import DeliveryTree, ShortestPaths

MILLISECOND = 1_000_000
ACCESS_NS = 2_000
"""From the sender to its router, and from the last router to the receiver."""
MessageId = tuple[int, int]
"""(source, sequence)."""


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
    state_bits: float | int | None
    """What the paper's formula counts, measured; none where the paper has no formula."""
    unreduced_bits: float | int | None
    """The same if nothing were reduced: alpha = 1."""
    formula_bits: float | int | None
    """The formula, with alpha = 1."""
    control_packets: int
    """Until the network was at its fixpoint, without hellos, over all links between routers."""
    control_bytes: int
    converged_ms: float
    """Simulated time from the start until then."""

    @property
    def wrong(self) -> int:
        """Deliveries that are not as they should be."""
        return self.missing + self.duplicate + self.spurious

    @property
    def ratio(self) -> float:
        """Crossings over those of the ideal trees."""
        return self.crossings / self.ideal if self.ideal else 1.0

    @property
    def network(self) -> tuple[str, int, int, int]:
        """Which network, under which load."""
        return self.shape, self.routers, self.senders, self.receivers


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Run all of it.

    Raises:
        DisagreementError: Under some scheme a network did not converge.
    """
    for at, case in enumerate(sweep.cases, 1):
        shown.phase(f"case {at} of {len(sweep.cases)}: {case}", len(case.schemes))
        paths: Paths | None = None
        for done, scheme in enumerate(case.schemes, 1):
            try:
                seen = observe(case, scheme, seed)
            except SimulationFailedError as error:
                raise DisagreementError(f"{case}, {scheme}: {error}") from error
            paths = paths or Paths(seen.plan)
            yield row_of(case, scheme, seen, paths)
            shown.advance(done)


class Crossing(NamedTuple):
    """A message over a link between routers; nodes by their ids."""

    message: MessageId
    hop_count: int
    start: int
    end: int


@dataclass(slots=True)
class _Traffic:
    """What crosses all links between routers."""

    ids: Mapping[str, int]
    """Of the routers, by name."""
    crossings: list[Crossing] = field(default_factory=list)
    message_bytes: int = 0
    control_packets: int = 0
    """Neither messages nor hellos."""
    control_bytes: int = 0

    def sent(self, time_ns: int, ends: tuple[str, str], type_: PacketType, packet: bytes) -> None:
        """A packet that one router sends to another."""
        del time_ns
        if type_ == PacketType.MESSAGE:
            message = decode(packet)
            assert isinstance(message, Message)
            key, (start, end) = (message.source, message.sequence), ends
            self.crossings.append(Crossing(key, message.hop_count, self.ids[start], self.ids[end]))
            self.message_bytes += len(packet)
        elif type_ in {PacketType.CONTROL, PacketType.ACK}:
            self.control_packets += 1
            self.control_bytes += len(packet)


@dataclass(frozen=True)
class Observed:
    """One run."""

    plan: Plan
    start_ns: int
    """When the network was at its fixpoint, and the load began."""
    events: Sequence[Event]
    crossings: Sequence[Crossing]
    message_bytes: int
    control_packets: int
    control_bytes: int
    """Until the start, without hellos, over all links between routers."""
    fib_bytes: int
    """What all routers' compiled FIBs take."""
    state: State
    """What all routers hold, as the paper counts it, with classes for the senders alone."""
    all_classes: State
    """The same with the classes of all sources there may be."""
    figures: Figures
    """What the paper's formulas ask for."""

    @cached_property
    def ids(self) -> dict[str, int]:
        """Node id by name."""
        return {node.name: node.node_id for node in self.plan.nodes}

    @cached_property
    def home(self) -> dict[int, int]:
        """The router of each client, by ids."""
        return {node.node_id: self.ids[node.interfaces[0].peer] for node in self.plan.clients}

    @cached_property
    def oracle(self) -> Oracle:
        """What each subscriber is owed."""
        return oracle_of(self.plan, self.events, self.start_ns)

    def of(self, kind: str) -> list[Event]:
        """The events of a kind."""
        return [event for event in self.events if event["event"] == kind]


def observe(case: Case, scheme: str, seed: int) -> Observed:
    """Run a case under a scheme.

    Raises:
        SimulationFailedError: The network did not converge, or messages never arrived.
    """
    load = load_of(case, seed)
    plan = plan_of(scenario(case, scheme, seed), f"{case}, {scheme}")
    traffic = _Traffic({node.name: node.node_id for node in plan.routers})
    simulation, events = ready(plan, traffic)
    control = traffic.control_packets, traffic.control_bytes
    cores = [simulation.network.cores[node.name] for node in plan.routers]
    held = [(core.installer.spec, core.store) for core in cores]
    fib_bytes = sum(int(str(core.installer.stats()["bytes"])) for core in cores)
    state, all_classes = (
        total(weigh(spec, store, senders) for spec, store in held if spec) for senders in (load.senders, None)
    )
    simulation.work()
    simulation.drain()
    wants = {router: encode_predicate(parse_predicate(text)) for router, text in load.texts.items()}
    return Observed(
        plan=plan,
        start_ns=simulation.start_ns,
        events=events,
        crossings=traffic.crossings,
        message_bytes=traffic.message_bytes,
        control_packets=control[0],
        control_bytes=control[1],
        fib_bytes=fib_bytes,
        state=state,
        all_classes=all_classes,
        figures=figures_of(cores[0].linkstate.database.topology(), wants, load.senders),
    )


class Paths:
    """The shortest paths of a network and its ideal trees, each computed once for all schemes."""

    def __init__(self, plan: Plan) -> None:
        ids = {node.name: node.node_id for node in plan.routers}
        edges = [(ids[k.a], ids[k.b], float(k.cost)) for k in plan.links if k.a in ids and k.b in ids]
        self.links = len(edges)
        self._of = cache(lambda router: ShortestPaths(edges, router))
        self._ideal = cache(lambda router, receivers: self._of(router).ideal(receivers))

    def least_ns(self, start: int, end: int) -> float:
        """How long the fastest path takes: a cost is a millisecond."""
        return float(self._of(start).distance[end] * MILLISECOND)

    def ideal(self, start: int, ends: Iterable[int]) -> DeliveryTree:
        """The ideal tree from one router to others."""
        tree: DeliveryTree = self._ideal(start, tuple(ends))
        return tree


def row_of(case: Case, scheme: str, seen: Observed, paths: Paths) -> Row:
    """The row of a scheme in a case."""
    judged = judge_events(seen.oracle, seen.events, seen.ids)
    ideal = _ideal_trees(seen, paths)
    stretches = _stretches(seen, paths)
    return Row(
        shape=case.shape,
        routers=case.routers,
        links=paths.links,
        senders=case.senders,
        receivers=case.receivers,
        messages=case.messages,
        scheme=scheme,
        owed=judged.counts.owed,
        missing=len(judged.missing),
        duplicate=len(judged.duplicate),
        spurious=len(judged.spurious),
        crossings=len(seen.crossings),
        wasted=wasted(seen.crossings, _places(seen)),
        ideal=sum(tree.size for tree in ideal),
        inexact=sum(not tree.exact for tree in ideal),
        stretch_mean=round(fmean(stretches), 4) if stretches else 1.0,
        stretch_max=round(max(stretches, default=1.0), 4),
        message_bytes=seen.message_bytes,
        fib_bytes=seen.fib_bytes,
        classes=seen.all_classes.classes,
        constraints=seen.all_classes.shared.constraints,
        unreduced=seen.all_classes.shared.parts_constraints,
        apart=seen.all_classes.apart.constraints,
        state_bits=_bits(measured(scheme, seen.state, seen.figures)),
        unreduced_bits=_bits(measured(scheme, _unreduced(seen.state), seen.figures)),
        formula_bits=_bits(formula(scheme, seen.figures)),
        control_packets=seen.control_packets,
        control_bytes=seen.control_bytes,
        converged_ms=(seen.start_ns - EPOCH_NS) / MILLISECOND,
    )


def _bits(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _unreduced(state: State) -> State:
    """The state as it were with alpha = 1."""
    return replace(state, shared=_plain(state.shared), apart=_plain(state.apart))


def _plain(held: Held) -> Held:
    return replace(held, bits=held.parts_bits, constraints=held.parts_constraints)


def _ideal_trees(seen: Observed, paths: Paths) -> list[DeliveryTree]:
    """Of each message: to the routers of all subscribers that it is owed to."""
    trees = []
    for event in seen.of("publish"):
        owed = seen.oracle.expected(event["source"], event["time_ns"], parse_message(event["message"]))
        trees.append(paths.ideal(seen.home[event["source"]], [seen.home[client] for client in owed]))
    return trees


def _stretches(seen: Observed, paths: Paths) -> list[float]:
    """Of each delivery beyond the sender's own router: its latency over that of the fastest path."""
    found = []
    for event in seen.of("deliver"):
        start, end = seen.home[event["source"]], seen.home[seen.ids[event["node"]]]
        if start != end:
            found.append((event["latency_ns"] - ACCESS_NS) / paths.least_ns(start, end))
    return found


def _places(seen: Observed) -> set[tuple[MessageId, int, int]]:
    """(message, router, hop count) where a delivery left the network."""
    return {
        ((e["source"], e["sequence"]), seen.home[seen.ids[e["node"]]], e["hop_count"])
        for e in seen.of("deliver")
    }


def wasted(crossings: Iterable[Crossing], delivered: Collection[tuple[MessageId, int, int]]) -> int:
    """How many crossings no delivery descends from; a copy leaves a router with one hop more."""
    fruitful, count = set(delivered), 0
    for crossing in sorted(crossings, key=lambda c: -c.hop_count):
        if (crossing.message, crossing.end, crossing.hop_count + 1) in fruitful:
            fruitful.add((crossing.message, crossing.start, crossing.hop_count))
        else:
            count += 1
    return count

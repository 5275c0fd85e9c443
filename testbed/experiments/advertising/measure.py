"""Runs schemes with advertisements and without, over the same network and clients, and counts what they tell.

Publishers advertise before the run begins, then subscribers come one after another, then messages are
published. All in this process, as for the kind `schemes`: a recorder at each router interface counts what
is sent there, and the routers' own tables are counted at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from analysis.advertising import advertising_in
from analysis.oracle import judge_events, oracle_of
from nodes.scheme_catalog import OptionValue
from nodes.wire.codec import decode, split_datagram
from nodes.wire.packets import Control, Kind, Message, PacketType
from testbed.experiments import kind
from testbed.experiments.kind import DisagreementError
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.runs.world import Progress
from testbed.sim.frames import HEADER_BYTES, Tap, is_sent_by
from testbed.sim.simulation import Simulation, SimulationFailedError
from topologies.generators import generate

VALUES, WIDTH = 1000, 100
"""A subscriber wants so many of so many values of its topic."""
JOIN_MS = 10
"""From one subscription to the next."""
SETTLE_MS = 500
GAP_MS = 2
"""From one message to the next, once all have subscribed."""
SCHEMES: Mapping[str, tuple[str, Mapping[str, OptionValue]]] = {
    "siena": ("siena", {}),
    "siena/source": ("siena", {"tree": "source"}),
    "pif": ("pif", {}),
    "psf": ("psf", {}),
    "cbcb": ("cbcb", {}),
}
"""Scheme and options, by the names of a sweep."""
SIGNALS = frozenset(Kind) - {Kind.LINK_STATE}
"""What tells of interest and advertisements; links are told in the same way in any case."""


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """A network and its clients; `topics` and `schemes` multiply."""

    transit_domains: int
    stubs: int
    stub_routers: int
    publishers: int
    subscribers: int
    topics: tuple[int, ...]
    messages: int
    schemes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one scheme. All of it depends on the seed alone."""

    routers: int
    links: int
    publishers: int
    subscribers: int
    topics: int
    scheme: str
    advertisements: bool
    owed: int
    """(Message, subscriber) pairs."""
    wrong: int
    """Missing, duplicate or spurious."""
    crossings: int
    """Messages over links between routers."""
    signals: int
    """Packets that tell of interest and advertisements, over links between routers."""
    signal_bytes: int
    links_packets: int
    """Packets of link states, likewise."""
    entries: int
    """Filters at interfaces to other routers, in the tables of all routers, at the end."""


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Run all of it.

    Raises:
        DisagreementError: Under some scheme a network did not converge.
    """
    cases = [(t, s, a) for t in sweep.topics for s in sweep.schemes for a in (False, True)]
    shown.phase("schemes without and with advertisements", len(cases))
    for done, (topics, scheme, advertisements) in enumerate(cases, 1):
        try:
            yield _run(sweep, topics, scheme, advertisements, seed)
        except SimulationFailedError as error:
            raise DisagreementError(f"{scheme}, {topics} topics: {error}") from error
        shown.advance(done)


@dataclass(slots=True)
class _Traffic:
    """What crosses all links between routers."""

    crossings: int = 0
    signals: int = 0
    signal_bytes: int = 0
    links_packets: int = 0


class _Recorder:
    """In the place of the capture of one router interface."""

    def __init__(self, mac: str, traffic: _Traffic) -> None:
        self._mac = mac
        self._traffic = traffic

    def record(self, time_ns: int, frame: bytes) -> None:
        """A frame that passes the interface, in either direction."""
        del time_ns
        if not is_sent_by(self._mac, frame):
            return
        for type_, data in split_datagram(frame[HEADER_BYTES:]):
            if type_ not in {PacketType.MESSAGE, PacketType.CONTROL}:
                continue
            packet = decode(data)
            if isinstance(packet, Message):
                self._traffic.crossings += 1
            elif isinstance(packet, Control) and packet.kind in SIGNALS:
                self._traffic.signals += 1
                self._traffic.signal_bytes += len(data)
            elif isinstance(packet, Control) and packet.kind == Kind.LINK_STATE:
                self._traffic.links_packets += 1


def _run(sweep: Sweep, topics: int, scheme: str, advertisements: bool, seed: int) -> Row:
    plan = plan_of(scenario(sweep, topics, scheme, advertisements, seed), f"{scheme}, {topics} topics")
    traffic, events = _Traffic(), list[dict[str, Any]]()
    simulation = Simulation(plan, "case", events.append, captures=_recorders(plan, traffic))
    simulation.get_ready()
    simulation.work()
    simulation.drain()
    ids = {node.name: node.node_id for node in plan.nodes}
    advertising = advertising_in(plan, events, simulation.start_ns)
    oracle = oracle_of(plan, events, simulation.start_ns)
    judged = judge_events(oracle, events, ids, None if advertising is None else advertising.restrict)
    routers = {node.name for node in plan.routers}
    return Row(
        routers=len(routers),
        links=sum(link.a in routers and link.b in routers for link in plan.links),
        publishers=sweep.publishers,
        subscribers=sweep.subscribers,
        topics=topics,
        scheme=scheme,
        advertisements=advertisements,
        owed=judged.counts.owed,
        wrong=len(judged.missing) + len(judged.duplicate) + len(judged.spurious),
        crossings=traffic.crossings,
        signals=traffic.signals,
        signal_bytes=traffic.signal_bytes,
        links_packets=traffic.links_packets,
        entries=sum(_entries(plan, simulation, node.name) for node in plan.routers),
    )


def _recorders(plan: Plan, traffic: _Traffic) -> dict[str, Tap]:
    routers = {node.name for node in plan.routers}
    ends = (end for node in plan.routers for end in node.interfaces if end.peer in routers)
    return {end.name: _Recorder(end.mac, traffic) for end in ends}


def _entries(plan: Plan, simulation: Simulation, router: str) -> int:
    """The filters at this router's interfaces to others."""
    routers = {node.name for node in plan.routers}
    node = next(node for node in plan.routers if node.name == router)
    towards = {index for index, end in enumerate(node.interfaces) if end.peer in routers}
    contents = simulation.network.cores[router].installer.contents()
    return sum(len(filters) for table in contents for i, filters in table.items() if i in towards)


def scenario(sweep: Sweep, topics: int, scheme: str, advertisements: bool, seed: int) -> dict[str, Any]:
    """The network and its clients under a scheme, as a scenario file would have it."""
    rng = Random(f"{seed}/advertising")
    parameters = {
        "transit_domains": sweep.transit_domains,
        "stubs": sweep.stubs,
        "stub_routers": sweep.stub_routers,
    }
    routers, links = generate("transit-stub", parameters, seed)
    name, options = SCHEMES[scheme]
    clients: dict[str, Any] = {
        f"p{at}": _publisher(at, rng.choice(routers), sweep, Random(f"{seed}/{at}"))
        for at in range(sweep.publishers)
    }
    for at in range(sweep.subscribers):
        # The same place and the same luck whatever the number of topics.
        home, luck, low = rng.choice(routers), rng.random(), rng.randrange(VALUES - WIDTH)
        topic = f"t{int(luck * topics)}"
        wanted = f'topic = "{topic}" and value >= {low} and value < {low + WIDTH}'
        when = f"{at * JOIN_MS}ms"
        clients[f"s{at}"] = {"at": home, "subscribe": [{"predicate": wanted, "at": when}]}
    return {
        "name": "case",
        "seed": seed,
        "scheme": {"name": name, **options, "advertisements": advertisements},
        "topology": {"routers": routers, "links": [{"between": list(pair)} for pair in links]},
        "clients": clients,
        "record": {"captures": False},
        "timing": {"ready_timeout": "600s", "settle": f"{SETTLE_MS}ms"},
    }


def _publisher(number: int, router: str, sweep: Sweep, rng: Random) -> dict[str, Any]:
    topic, begin_ms = f"t{number}", sweep.subscribers * JOIN_MS + 2 * SETTLE_MS
    sent = [
        {
            "at": f"{begin_ms + GAP_MS * (at * sweep.publishers + number)}ms",
            "message": f'topic = "{topic}", value = {rng.randrange(VALUES)}',
        }
        for at in range(sweep.messages)
    ]
    offer = f'topic = "{topic}" and value any integer'
    return {"at": router, "advertise": [offer], "publish": sent}

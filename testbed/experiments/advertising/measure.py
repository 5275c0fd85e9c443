"""Runs schemes with advertisements and without, over the same network and clients, and counts what they tell.

Publishers advertise before the run begins, then subscribers come one after another, then messages are
published. What routers send is counted as it crosses links, and their own tables at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from nodes.scheme_catalog import OptionValue
from nodes.wire.codec import decode
from nodes.wire.packets import Control, Kind, PacketType
from testbed.experiments import kind
from testbed.experiments.kind import DisagreementError
from testbed.experiments.observed import entries, judged, links_between_routers, ready
from testbed.plan.load import plan_of
from testbed.runs.world import Progress
from testbed.sim.simulation import SimulationFailedError
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

    def sent(self, time_ns: int, ends: tuple[str, str], type_: PacketType, packet: bytes) -> None:
        """A packet that one router sends to another."""
        del time_ns, ends
        if type_ == PacketType.MESSAGE:
            self.crossings += 1
        elif type_ == PacketType.CONTROL:
            control = decode(packet)
            assert isinstance(control, Control)
            self.links_packets += control.kind == Kind.LINK_STATE
            if control.kind in SIGNALS:
                self.signals += 1
                self.signal_bytes += len(packet)


def _run(sweep: Sweep, topics: int, scheme: str, advertisements: bool, seed: int) -> Row:
    plan = plan_of(scenario(sweep, topics, scheme, advertisements, seed), f"{scheme}, {topics} topics")
    traffic = _Traffic()
    simulation, events = ready(plan, traffic)
    simulation.work()
    simulation.drain()
    became = judged(plan, events, simulation.start_ns)
    return Row(
        routers=len(plan.routers),
        links=links_between_routers(plan),
        publishers=sweep.publishers,
        subscribers=sweep.subscribers,
        topics=topics,
        scheme=scheme,
        advertisements=advertisements,
        owed=became.counts.owed,
        wrong=len(became.missing) + len(became.duplicate) + len(became.spurious),
        crossings=traffic.crossings,
        signals=traffic.signals,
        signal_bytes=traffic.signal_bytes,
        links_packets=traffic.links_packets,
        entries=entries(plan, simulation),
    )


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

"""Has one client seek a pattern, recognised by itself or by routers, and counts what crosses links for it.

Two sources publish, one for each part of the pattern. What routers send is counted as it crosses links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from analysis.patterns import judge_patterns
from nodes.wire.codec import decode
from nodes.wire.packets import Control, Kind, PacketType
from testbed.experiments import kind
from testbed.experiments.kind import DisagreementError
from testbed.experiments.observed import links_between_routers, ready
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.runs.world import Progress
from testbed.sim.simulation import SimulationFailedError
from topologies.generators import generate

EVERY_MS = 10
"""From one message of a source to the next; the second source is half of it later."""
VALUES = 1000
SETTLE_MS = 200
WAYS = ("union", "factored")
TELLING = frozenset(
    {Kind.SIENA_SUBSCRIBE, Kind.SIENA_UNSUBSCRIBE, Kind.SUBSCRIBE_PATTERN, Kind.UNSUBSCRIBE_PATTERN}
)
"""What asks for messages and matches."""


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """A network and what is sought in it; places, selectivities and windows multiply."""

    transit_domains: int
    stubs: int
    stub_routers: int
    places: tuple[str, ...]
    selectivities: tuple[int, ...]
    windows_ms: tuple[int, ...]
    messages: int


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one way. All of it depends on the seed alone."""

    routers: int
    links: int
    place: str
    hops: int
    """Links from the farther source's router to that of who seeks."""
    selectivity: int
    """Per mille."""
    window_ms: int
    patterns: str
    published: int
    owed: int
    """Matches."""
    wrong: int
    """Missing, duplicate or spurious."""
    message_bytes: int
    """Messages over links between routers."""
    match_bytes: int
    """Matches likewise, and what acknowledges them."""
    telling_bytes: int
    """What asks for messages and matches."""

    @property
    def link_bytes(self) -> int:
        """All that crosses links between routers for the pattern."""
        return self.message_bytes + self.match_bytes + self.telling_bytes


@dataclass(frozen=True, slots=True)
class Case:
    """One run."""

    place: str
    selectivity: int
    window_ms: int
    patterns: str


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Run all of it.

    Raises:
        DisagreementError: A network did not converge.
    """
    cases = [
        Case(place, selectivity, window_ms, patterns)
        for place in sweep.places
        for window_ms in sweep.windows_ms
        for selectivity in sweep.selectivities
        for patterns in WAYS
    ]
    shown.phase("patterns recognised by clients and by routers", len(cases))
    for done, case in enumerate(cases, 1):
        try:
            yield _run(sweep, case, seed)
        except SimulationFailedError as error:
            raise DisagreementError(f"{case}: {error}") from error
        shown.advance(done)


@dataclass(slots=True)
class _Traffic:
    """What crosses all links between routers."""

    begun: bool = False
    """Whether the network is ready: what is acknowledged before belongs to its start."""
    message_bytes: int = 0
    match_bytes: int = 0
    telling_bytes: int = 0

    def sent(self, time_ns: int, ends: tuple[str, str], type_: PacketType, packet: bytes) -> None:
        """A packet that one router sends to another."""
        del time_ns, ends
        if type_ == PacketType.MESSAGE:
            self.message_bytes += len(packet)
        elif type_ == PacketType.ACK:
            self.match_bytes += len(packet) * self.begun
        elif type_ == PacketType.CONTROL:
            control = decode(packet)
            assert isinstance(control, Control)
            self.match_bytes += len(packet) * (control.kind == Kind.MATCH)
            self.telling_bytes += len(packet) * (control.kind in TELLING)


def _run(sweep: Sweep, case: Case, seed: int) -> Row:
    plan = plan_of(scenario(sweep, case, seed), str(case))
    traffic = _Traffic()
    simulation, events = ready(plan, traffic)
    traffic.begun = True
    simulation.work()
    simulation.drain()
    ended_ns = simulation.scheduler.now_ns + plan.timing.settle_ns
    (counts,) = judge_patterns(plan, events, (simulation.start_ns, ended_ns)) or ()
    return Row(
        routers=len(plan.routers),
        links=links_between_routers(plan),
        place=case.place,
        hops=_hops(plan),
        selectivity=case.selectivity,
        window_ms=case.window_ms,
        patterns=case.patterns,
        published=sum(event["event"] == "publish" for event in events),
        owed=counts.owed,
        wrong=counts.missing + counts.duplicate + counts.spurious,
        message_bytes=traffic.message_bytes,
        match_bytes=traffic.match_bytes,
        telling_bytes=traffic.telling_bytes,
    )


def _hops(plan: Plan) -> int:
    homes = {client.name: client.interfaces[0].peer for client in plan.clients}
    distances = _distances([(k.a, k.b) for k in plan.links], homes["seeker"])
    return max(distances[homes[name]] for name in ("first", "second"))


def _distances(links: list[tuple[str, str]], start: str) -> dict[str, int]:
    """In links, to every node that can be reached."""
    near: dict[str, list[str]] = {}
    for a, b in links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    found, frontier = {start: 0}, [start]
    for node in frontier:
        for other in near[node]:
            if other not in found:
                found[other] = found[node] + 1
                frontier.append(other)
    return found


def places(routers: list[str], links: list[tuple[str, str]], place: str) -> tuple[str, str, str]:
    """The routers of who seeks and of the two sources."""
    seeker = routers[-1]
    from_seeker = _distances(links, seeker)
    far = max(routers, key=lambda router: from_seeker[router])
    if place == "together":
        return seeker, far, far
    if place == "near":
        neighbour = next(router for router in routers if from_seeker[router] == 1)
        return seeker, neighbour, neighbour
    from_far = _distances(links, far)
    return seeker, far, max(routers, key=lambda router: min(from_seeker[router], from_far[router]))


def scenario(sweep: Sweep, case: Case, seed: int) -> dict[str, Any]:
    """The network and its clients, as a scenario file would have it."""
    parameters = {
        "transit_domains": sweep.transit_domains,
        "stubs": sweep.stubs,
        "stub_routers": sweep.stub_routers,
    }
    routers, links = generate("transit-stub", parameters, seed)
    pairs = [(pair[0], pair[1]) for pair in links]
    seeker, first, second = places(list(routers), pairs, case.place)
    below = VALUES * case.selectivity // 1000
    parts = [f'[what = "{name}" and value < {below}]' for name in ("first", "second")]
    return {
        "name": "case",
        "seed": seed,
        "scheme": {"name": "siena", "advertisements": True, "patterns": case.patterns},
        "topology": {"routers": routers, "links": [{"between": list(pair)} for pair in links]},
        "clients": {
            "seeker": {"at": seeker, "patterns": [f"{parts[0]} then {parts[1]} within {case.window_ms}ms"]},
            "first": _source("first", first, 0, sweep, seed),
            "second": _source("second", second, EVERY_MS // 2, sweep, seed),
        },
        "record": {"captures": False},
        "timing": {"ready_timeout": "600s", "settle": f"{SETTLE_MS}ms"},
    }


def _source(name: str, router: str, from_ms: int, sweep: Sweep, seed: int) -> Mapping[str, Any]:
    """The same messages whatever is sought, and wherever."""
    rng = Random(f"{seed}/{name}")
    return {
        "at": router,
        "advertise": [f'what = "{name}" and value any integer'],
        "publish": [
            {
                "at": f"{from_ms + EVERY_MS * at}ms",
                "message": f'what = "{name}", value = {rng.randrange(VALUES)}',
            }
            for at in range(sweep.messages)
        ],
    }

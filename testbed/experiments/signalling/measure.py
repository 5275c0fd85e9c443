"""Runs schemes over one network whose applications have entities that walk about, and counts what they tell.

What routers send is counted as it crosses links. A row is a window of simulated time, so that rates have a
course; what is true of the whole run stands in each of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.oracle import Judged
from nodes.scheme_catalog import OptionValue
from nodes.wire.codec import decode
from nodes.wire.packets import Kind, Message, PacketType
from testbed.experiments import kind
from testbed.experiments.kind import DisagreementError
from testbed.experiments.observed import entries, judged, links_between_routers, ready
from testbed.experiments.signalling.paths import Paths
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.plan.problems import Key
from testbed.plan.source import Source
from testbed.runs.world import Progress
from testbed.sim.simulation import SimulationFailedError

SECOND_NS = 1_000_000_000
KIND_AT = 5
"""Where a CONTROL packet has the kind of its payload."""
SETTLE = "1s"
BEGIN_S, TOLD_S = 1, 4
"""When entities come, and how long it takes at most until all are known: nothing is counted before."""
_ADVERTISED: Mapping[str, OptionValue] = {"advertisements": True}
SCHEMES: Mapping[str, tuple[str, Mapping[str, OptionValue]]] = {
    "pif": ("pif", {}),
    "pif/adv": ("pif", _ADVERTISED),
    "psf": ("psf", {}),
    "psf/adv": ("psf", _ADVERTISED),
    "cbcb": ("cbcb", {}),
    "cbcb/adv": ("cbcb", _ADVERTISED),
    "siena": ("siena", {}),
    "siena/adv": ("siena", _ADVERTISED),
    "siena/source/adv": ("siena", {**_ADVERTISED, "tree": "source"}),
    "bp": ("bp", _ADVERTISED),
    "bs": ("bs", _ADVERTISED),
}
"""Scheme and options, by the names of a sweep."""
OTHER = frozenset({Kind.LINK_STATE, Kind.RECORD_REQUEST, Kind.REFUSED})
"""What tells of neither interest nor advertisements."""
MARKING = frozenset({Kind.COST_ANNOUNCE, Kind.CHANGE_MARKING, Kind.CHANGE_MARKING_REPLY})
"""What decides how links are marked."""


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """A network and its applications; `applications`, `squares`, `schemes` and `runs` multiply."""

    stubs: int
    stub_routers: int
    applications: tuple[tuple[int, int], ...]
    entities: tuple[int, int]
    side_km: int
    squares: tuple[int, ...]
    seconds: int
    window: int
    messages: int
    runs: int
    schemes: tuple[str, ...]

    @classmethod
    def check(cls, source: Source, key: Key, data: Mapping[str, Any]) -> None:
        """Windows have to divide the time."""
        if data["seconds"] % data["window"]:
            message = f"windows of {data['window']} s do not divide {data['seconds']} s"
            source.complain((*key, "window"), message, "a number that divides seconds")


@dataclass(frozen=True, slots=True)
class Case:
    """One run."""

    publishers: int
    subscribers: int
    squares: int
    run: int
    scheme: str

    def __str__(self) -> str:
        """For people who wait."""
        return f"{self.publishers}/{self.subscribers}, {self.squares} squares, {self.scheme}, run {self.run}"


@dataclass(frozen=True, slots=True)
class Row:
    """A window of one run. All of it depends on the seed alone."""

    publishers: int
    subscribers: int
    squares: int
    run: int
    scheme: str
    begin_s: int
    """Of the window, from when all entities that came at first are known."""
    seconds: int
    changes: int
    """What clients told their routers: descriptors that are new, replaced or withdrawn."""
    signals: int
    """Packets that tell of interest and advertisements, over links between routers."""
    signal_bytes: int
    marking: int
    """Of the signals, those that decide how links are marked."""
    crossings: int
    """Messages over links between routers."""
    wasted: int
    """Those from which no delivery descends."""
    routers: int
    links: int
    descriptors: int
    """At first, of publishers and subscribers together."""
    owed: int
    """(Message, subscriber) pairs of the whole run."""
    wrong: int
    """Missing, duplicate or spurious in the whole run."""
    entries: int
    """Filters at interfaces to other routers, in the tables of all routers at the end."""

    @property
    def case(self) -> Case:
        """Which run it is of."""
        return Case(self.publishers, self.subscribers, self.squares, self.run, self.scheme)


def cases(sweep: Sweep) -> Iterator[Case]:
    """All runs: schemes beside each other."""
    for publishers, subscribers in sweep.applications:
        for squares in sweep.squares:
            for run in range(1, sweep.runs + 1):
                for scheme in sweep.schemes:
                    yield Case(publishers, subscribers, squares, run, scheme)


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Run all of it.

    Raises:
        DisagreementError: Under some scheme a network did not converge.
    """
    every = list(cases(sweep))
    shown.phase("schemes", len(every))
    for done, case in enumerate(every, 1):
        try:
            yield from _run(sweep, case, seed)
        except SimulationFailedError as error:
            raise DisagreementError(f"{case}: {error}") from error
        shown.advance(done)


@dataclass(slots=True)
class _Window:
    """What crosses all links between routers in a window of time."""

    signals: int = 0
    signal_bytes: int = 0
    marking: int = 0


@dataclass(slots=True)
class _Traffic:
    """What crosses them in a run, once it has begun."""

    window_ns: int
    windows: dict[int, _Window] = field(default_factory=dict)
    paths: Paths = field(default_factory=Paths)
    start_ns: int = 0
    """Before the start nothing counts."""

    def window(self, time_ns: int) -> _Window:
        """The window at a time."""
        return self.windows.setdefault((time_ns - self.start_ns) // self.window_ns, _Window())

    def sent(self, time_ns: int, ends: tuple[str, str], type_: PacketType, packet: bytes) -> None:
        """A packet that one router sends to another."""
        if not 0 < self.start_ns <= time_ns:
            return
        if type_ == PacketType.CONTROL and packet[KIND_AT] not in OTHER:
            window = self.window(time_ns)
            window.signals += 1
            window.signal_bytes += len(packet)
            window.marking += packet[KIND_AT] in MARKING
        elif type_ == PacketType.MESSAGE:
            message = decode(packet)
            assert isinstance(message, Message)
            at = (message.publish_time_ns - self.start_ns) // self.window_ns
            self.paths.crossed((message.source, message.sequence), at, *ends)


def _run(sweep: Sweep, case: Case, seed: int) -> Iterator[Row]:
    plan = plan_of(scenario(sweep, case, seed), str(case))
    traffic = _Traffic(sweep.window * SECOND_NS)
    simulation, events = ready(plan, traffic)
    traffic.start_ns = simulation.start_ns + (BEGIN_S + TOLD_S) * SECOND_NS
    simulation.work()
    simulation.drain()
    became = judged(plan, events, simulation.start_ns) if sweep.messages else Judged()
    homes = {client.name: client.interfaces[0].peer for client in plan.clients}
    crossings = traffic.paths.counted(events, homes)
    for at in range(sweep.seconds // sweep.window):
        begin_s, window = at * sweep.window, traffic.windows.get(at, _Window())
        from_s = BEGIN_S + TOLD_S + begin_s
        yield Row(
            publishers=case.publishers,
            subscribers=case.subscribers,
            squares=case.squares,
            run=case.run,
            scheme=case.scheme,
            begin_s=begin_s,
            seconds=sweep.window,
            changes=_changes(plan, from_s, from_s + sweep.window),
            signals=window.signals,
            signal_bytes=window.signal_bytes,
            marking=window.marking,
            crossings=crossings[at].all,
            wasted=crossings[at].wasted,
            routers=len(plan.routers),
            links=links_between_routers(plan),
            descriptors=_changes(plan, BEGIN_S, BEGIN_S + 1e-9),
            owed=became.counts.owed,
            wrong=len(became.missing) + len(became.duplicate) + len(became.spurious),
            entries=entries(plan, simulation),
        )


def _changes(plan: Plan, begin_s: float, end_s: float) -> int:
    """How many descriptors clients change in a time."""
    scripts = (action for client in plan.clients for action in client.script)
    told = (action.at_ns / SECOND_NS for action in scripts if action.do != "publish")
    return sum(begin_s <= at_s < end_s for at_s in told)


def scenario(sweep: Sweep, case: Case, seed: int) -> dict[str, Any]:
    """The network and its applications under a scheme, as a scenario file would have it."""
    name, options = SCHEMES[case.scheme]
    stub = {"at": "stub", "place": "uniform"}
    return {
        "name": "case",
        "seed": seed * 1000 + case.run,
        "scheme": {"name": name, **options},
        "topology": {
            "generate": "transit-stub",
            "stubs": sweep.stubs,
            "stub_routers": sweep.stub_routers,
            "link_defaults": {"delay": "1ms"},
        },
        "workload": {
            "dis": {
                "squares": case.squares,
                "side_km": sweep.side_km,
                "entities": list(sweep.entities),
                "messages": f"{sweep.messages}/min",
                "from": f"{BEGIN_S}s",
                "until": f"{BEGIN_S + TOLD_S + sweep.seconds}s",
            }
        },
        "populations": {
            "pub": {"count": case.publishers, **stub, "entities": "publish"},
            "sub": {"count": case.subscribers, **stub, "entities": "subscribe"},
        },
        "record": {"captures": False},
        # Nothing fails here, so neighbours need not assure each other often that they are there.
        "timers": {"hello_ms": 5000, "hold_ms": 30000},
        "timing": {"ready_timeout": "600s", "settle": SETTLE},
    }

"""Runs schemes over one network whose applications have entities that walk about, and counts what they tell.

Each run has a process of its own, as many at once as there are processors. What routers send is counted
as it crosses links. A row is a window of simulated time, so that rates have a course; what is true of
the whole run stands in each of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from analysis.oracle import Judged
from nodes.scheme_catalog import OptionValue
from testbed.experiments import kind, side_by_side
from testbed.experiments.kind import DisagreementError
from testbed.experiments.observed import entries, judged, links_between_routers, ready
from testbed.experiments.signalling.traffic import SECOND_NS, Traffic, Window
from testbed.plan.dis import DEFAULT_SPEEDS as SPEEDS
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.plan.problems import Key
from testbed.plan.source import Source
from testbed.runs.world import Progress
from testbed.sim.simulation import SimulationFailedError

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
    "amsp": ("amsp", _ADVERTISED),
}
"""Scheme and options, by the names of a sweep."""


@dataclass(frozen=True, slots=True)
class Variant:
    """`amsp` with other options than by default, which the paper leaves open (E20)."""

    name: str
    interval_ms: int | None = None
    alpha: float | None = None
    announce_share: float | None = None
    announce_deviations: float | None = None
    restart_deviations: float | None = None
    hysteresis: float | None = None
    marking: str | None = None

    @property
    def options(self) -> dict[str, OptionValue]:
        """Those that it changes."""
        given = {name: value for name, value in asdict(self).items() if name != "name"}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """A network and its applications; `applications`, `squares`, `schemes`, `variants`, `runs` multiply."""

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
    variants: tuple[Variant, ...] = ()
    speed_percent: int = 100
    """Of the speeds that `workload: dis` has by default."""
    warm_up: int = 0
    """For how many seconds nothing is counted after all is known that comes at first."""

    @property
    def counted_from_s(self) -> int:
        """When counting begins, on the clock of the scripts."""
        return BEGIN_S + TOLD_S + self.warm_up

    def scheme(self, name: str) -> tuple[str, Mapping[str, OptionValue]]:
        """Scheme and options, by the name of a scheme or a variant."""
        for variant in self.variants:
            if variant.name == name:
                return "amsp", {**_ADVERTISED, **variant.options}
        return SCHEMES[name]

    @classmethod
    def check(cls, source: Source, key: Key, data: Mapping[str, Any]) -> None:
        """Windows have to divide the time."""
        if data["seconds"] % data["window"]:
            message = f"windows of {data['window']} s do not divide {data['seconds']} s"
            source.complain((*key, "window"), message, "a number that divides seconds")
        names = [*data["schemes"], *(each["name"] for each in data.get("variants", ()))]
        if len(set(names)) < len(names):
            source.complain((*key, "variants"), "two variants or schemes have one name", "names of their own")


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
                for scheme in (*sweep.schemes, *(variant.name for variant in sweep.variants)):
                    yield Case(publishers, subscribers, squares, run, scheme)


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Run all of it.

    Raises:
        DisagreementError: Under some scheme a network did not converge.
    """
    every = list(cases(sweep))
    shown.phase("runs", len(every))
    yield from side_by_side.measured(every, partial(_checked, sweep, seed), shown)


def _checked(sweep: Sweep, seed: int, case: Case) -> list[Row]:
    try:
        return [*_run(sweep, case, seed)]
    except SimulationFailedError as error:
        raise DisagreementError(f"{case}: {error}") from error


def _run(sweep: Sweep, case: Case, seed: int) -> Iterator[Row]:
    plan = plan_of(scenario(sweep, case, seed), str(case))
    traffic = Traffic(sweep.window * SECOND_NS)
    simulation, events = ready(plan, traffic)
    traffic.start_ns = simulation.start_ns + sweep.counted_from_s * SECOND_NS
    simulation.work()
    simulation.drain()
    became = judged(plan, events, simulation.start_ns) if sweep.messages else Judged()
    homes = {client.name: client.interfaces[0].peer for client in plan.clients}
    crossings = traffic.paths.counted(events, homes)
    told_at_s = _changes(plan)
    whole = {
        "routers": len(plan.routers),
        "links": links_between_routers(plan),
        "descriptors": sum(BEGIN_S <= at_s < BEGIN_S + 1e-9 for at_s in told_at_s),
        "owed": became.counts.owed,
        "wrong": len(became.missing) + len(became.duplicate) + len(became.spurious),
        "entries": entries(plan, simulation),
    }
    for at in range(sweep.seconds // sweep.window):
        begin_s, window = at * sweep.window, traffic.windows.get(at, Window())
        from_s = sweep.counted_from_s + begin_s
        yield Row(
            publishers=case.publishers,
            subscribers=case.subscribers,
            squares=case.squares,
            run=case.run,
            scheme=case.scheme,
            begin_s=begin_s,
            seconds=sweep.window,
            changes=sum(from_s <= at_s < from_s + sweep.window for at_s in told_at_s),
            signals=window.signals,
            signal_bytes=window.signal_bytes,
            marking=window.marking,
            crossings=crossings[at].all,
            wasted=crossings[at].wasted,
            **whole,
        )


def _changes(plan: Plan) -> list[float]:
    """When clients change a descriptor, in seconds since the start."""
    scripts = (action for client in plan.clients for action in client.script)
    return [action.at_ns / SECOND_NS for action in scripts if action.do != "publish"]


def scenario(sweep: Sweep, case: Case, seed: int) -> dict[str, Any]:
    """The network and its applications under a scheme, as a scenario file would have it."""
    name, options = sweep.scheme(case.scheme)
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
                "until": f"{sweep.counted_from_s + sweep.seconds}s",
                "speeds": speeds(sweep.speed_percent),
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


def speeds(percent: int) -> dict[str, Any]:
    """The classes of speed that `workload: dis` has by default, so much faster or slower."""
    found = {name: [each * percent / 100 for each in of["metres_per_second"]] for name, of in SPEEDS.items()}
    return {name: {**SPEEDS[name], "metres_per_second": between} for name, between in found.items()}

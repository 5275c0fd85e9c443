"""Lets the demand of applications jump, and looks at the links' marks in a running network all the while.

Applications replace their descriptors at random times, at rates that are drawn anew for each phase. The
marks that are in force are read from the routers now and then, and what they cost is computed by the true
rates, as is the cost of the best marks: so the comparison has no noise of its own. What routers tell each
other is counted beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from random import Random
from string import digits
from typing import Any

from nodes.config import Action
from nodes.matchmaker.marking import Marking, all_p, all_s, cost, cost_if_valid, is_valid
from nodes.matchmaker.optimum import optimum
from nodes.matchmaker.problem import Link, Problem
from nodes.matchmaker.topdown import top_down
from nodes.routing.schemes.matchmaker import Matchmaker
from nodes.routing.schemes.matchmaker_marks import Shape
from nodes.wire.packets import Role
from testbed.experiments import kind, side_by_side
from testbed.experiments.kind import DisagreementError
from testbed.experiments.matchmaking.samples import pareto
from testbed.experiments.observed import ready
from testbed.experiments.signalling.measure import Variant
from testbed.experiments.signalling.traffic import SECOND_NS, Traffic
from testbed.plan.load import plan_of
from testbed.plan.model import NodePlan, Plan
from testbed.plan.problems import Key
from testbed.plan.source import Source
from testbed.runs.world import Progress
from testbed.sim.simulation import Simulation, SimulationFailedError

BEGIN_S = 1
"""When applications have their first descriptors and the first phase begins."""
PUBLISHES, SUBSCRIBES = "pub", "sub"
_VERBS = {PUBLISHES: "advertise", SUBSCRIBES: "subscribe"}


@dataclass(frozen=True, slots=True)
class Phase:
    """A time in which demand is what it is."""

    name: str
    seconds: int
    draw: int
    """Phases of one draw have the same rates, times the percentages."""
    publish_percent: int = 100
    subscribe_percent: int = 100


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """A network, its applications, and how their demand changes; `variants` and `runs` multiply."""

    stubs: int
    stub_routers: int
    publishers: int
    subscribers: int
    per_minute: int
    """How often the application with the lowest rate replaces its descriptor."""
    sample: int
    phases: tuple[Phase, ...]
    variants: tuple[Variant, ...]
    runs: int

    @classmethod
    def check(cls, source: Source, key: Key, data: Mapping[str, Any]) -> None:
        """Samples have to divide the phases."""
        for at, phase in enumerate(data["phases"]):
            if phase["seconds"] % data["sample"]:
                message = f"samples every {data['sample']} s do not divide {phase['seconds']} s"
                source.complain((*key, "phases", at, "seconds"), message, "a multiple of sample")

    @property
    def seconds(self) -> int:
        """Of all phases."""
        return sum(phase.seconds for phase in self.phases)


@dataclass(frozen=True, slots=True)
class Case:
    """One run."""

    variant: Variant
    run: int

    def __str__(self) -> str:
        """For people who wait."""
        return f"{self.variant.name}, run {self.run}"


@dataclass(frozen=True, slots=True)
class Row:
    """The marks at one moment, and what was told since the moment before. All depends on the seed alone.

    Costs are changes of descriptors that cross links, a second (MM eq. 2).
    """

    variant: str
    run: int
    phase: str
    after_s: int
    """Since the phase began."""
    cost: float
    """Of the marks in force."""
    valid: bool
    """Whether they are valid (eq. 1)."""
    top_down: float
    best: float
    all_p: float
    all_s: float
    signals: int
    signal_bytes: int
    marking: int
    """Of the signals, those that decide how links are marked."""
    marking_bytes: int
    seconds: int


Rates = Mapping[str, float]
"""Of each client, how often it replaces its descriptor in a second."""


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Run all of it.

    Raises:
        DisagreementError: A network did not converge.
    """
    cases = [Case(variant, run) for variant in sweep.variants for run in range(1, sweep.runs + 1)]
    shown.phase("runs", len(cases))
    yield from side_by_side.measured(cases, partial(_rows, sweep, seed), shown)


def _rows(sweep: Sweep, seed: int, case: Case) -> list[Row]:
    try:
        return _run(sweep, case, seed)
    except SimulationFailedError as error:
        raise DisagreementError(f"{case}: {error}") from error


def rates_of(sweep: Sweep, phase: Phase, seed: str) -> Rates:
    """How often each client replaces its descriptor in a phase."""
    found = {}
    for population, count, percent in (
        (PUBLISHES, sweep.publishers, phase.publish_percent),
        (SUBSCRIBES, sweep.subscribers, phase.subscribe_percent),
    ):
        for at in range(1, count + 1):
            drawn = pareto(Random(f"{seed}/{phase.draw}/{population}{at}"))
            found[f"{population}{at}"] = drawn * sweep.per_minute / 60 * percent / 100
    return found


def script(client: str, sweep: Sweep, seed: str) -> tuple[Action, ...]:
    """What a client does: it always has one descriptor, which it replaces at random times.

    It does so once more when all is over, as a network is watched for as long as somebody does something.
    """
    population = client.rstrip(digits)
    times = [float(BEGIN_S)]
    begin_s = float(BEGIN_S)
    for number, phase in enumerate(sweep.phases):
        rng = Random(f"{seed}/{client}/{number}")
        times += _poisson(rng, rates_of(sweep, phase, seed)[client], begin_s, begin_s + phase.seconds)
        begin_s += phase.seconds
    times.append(begin_s + 1)
    # Nobody wants what is advertised: matches cost the same whatever the marks are.
    texts = (f"{client} = {number}" for number in range(len(times)))
    return tuple(
        Action(int(at_s * SECOND_NS), _VERBS[population], 1, text)
        for at_s, text in zip(times, texts, strict=True)
    )


def _poisson(rng: Random, rate: float, begin_s: float, end_s: float) -> Iterator[float]:
    def times() -> Iterator[float]:
        at_s = begin_s
        while rate:
            at_s += rng.expovariate(rate)
            yield at_s

    return takewhile(lambda at_s: at_s < end_s, times())


def _run(sweep: Sweep, case: Case, seed: int) -> list[Row]:
    drawn = f"{seed}/{case.run}"
    plan = _with_scripts(plan_of(scenario(sweep, case, seed), str(case)), sweep, drawn)
    traffic = Traffic(sweep.sample * SECOND_NS)
    simulation, _ = ready(plan, traffic)
    begin_ns = simulation.start_ns + BEGIN_S * SECOND_NS
    traffic.start_ns = begin_ns
    ids = {node.name: node.node_id for node in plan.routers}
    homes = {client.name: ids[client.interfaces[0].peer] for client in plan.clients}
    of = {phase: _by_router(rates_of(sweep, phase, drawn), homes) for phase in sweep.phases}
    watch = _Watch(case, simulation, traffic, {phase: _problem(simulation, of[phase]) for phase in of})
    for at, (phase, after_s) in enumerate(_moments(sweep), 1):
        at_ns = begin_ns + at * sweep.sample * SECOND_NS - 1
        simulation.scheduler.at(at_ns, watch.look, (at - 1, phase, after_s))
    simulation.work()
    return watch.rows


def _moments(sweep: Sweep) -> Iterator[tuple[Phase, int]]:
    for phase in sweep.phases:
        yield from ((phase, at) for at in range(sweep.sample, phase.seconds + 1, sweep.sample))


class _Watch:
    """Looks at the marks of a running network."""

    def __init__(
        self, case: Case, simulation: Simulation, traffic: Traffic, problems: Mapping[Phase, Problem]
    ) -> None:
        self.rows: list[Row] = []
        self._case = case
        self._simulation, self._traffic = simulation, traffic
        self._problems = problems
        self._ideal = {phase: _ideal(problem) for phase, problem in problems.items()}

    def look(self, moment: tuple[int, Phase, int], _: None) -> None:
        """Note what the marks are worth now."""
        at, phase, after_s = moment
        problem = self._problems[phase]
        marks = self._marks(problem)
        window = self._traffic.window(self._traffic.start_ns + at * self._traffic.window_ns)
        self.rows.append(
            Row(
                variant=self._case.variant.name,
                run=self._case.run,
                phase=phase.name,
                after_s=after_s,
                cost=round(cost(problem, marks), 3),
                valid=is_valid(problem, marks),
                signals=window.signals,
                signal_bytes=window.signal_bytes,
                marking=window.marking,
                marking_bytes=window.marking_bytes,
                seconds=self._traffic.window_ns // SECOND_NS,
                **self._ideal[phase],
            )
        )

    def _marks(self, problem: Problem) -> Marking:
        """The marks in force, as the upstream ends have them."""
        found: dict[Link, int] = {}
        for core in self._simulation.network.cores.values():
            scheme = core.scheme
            assert isinstance(scheme, Matchmaker)
            for neighbour, is_p in scheme.marks().items():
                found[core.config.node_id, neighbour] = int(is_p)
        return {link: found[link] for link in problem.links}


def _by_router(rates: Rates, homes: Mapping[str, int]) -> dict[str, dict[int, float]]:
    """The sums of the rates of publishers and of subscribers at each router."""
    found: dict[str, dict[int, float]] = {PUBLISHES: {}, SUBSCRIBES: {}}
    for client, rate in rates.items():
        of = found[client.rstrip(digits)]
        of[homes[client]] = of.get(homes[client], 0.0) + rate
    return found


def _problem(simulation: Simulation, rates: Mapping[str, dict[int, float]]) -> Problem:
    """The instance of the optimisation problem by the true rates."""
    core = next(iter(simulation.network.cores.values()))
    f, g = rates[PUBLISHES], rates[SUBSCRIBES]
    return Shape.of(core.linkstate.database.topology(), frozenset(f), frozenset(g)).problem(f, g)


def _ideal(problem: Problem) -> dict[str, float]:
    markings = {
        "top_down": top_down(problem),
        "best": optimum(problem),
        "all_p": all_p(problem),
        "all_s": all_s(problem),
    }
    return {name: round(cost_if_valid(problem, marking), 3) for name, marking in markings.items()}


def _with_scripts(plan: Plan, sweep: Sweep, seed: str) -> Plan:
    def scripted(node: NodePlan) -> NodePlan:
        return replace(node, script=script(node.name, sweep, seed)) if node.role is Role.CLIENT else node

    return replace(plan, nodes=tuple(map(scripted, plan.nodes)))


def scenario(sweep: Sweep, case: Case, seed: int) -> dict[str, Any]:
    """The network and its applications, as a scenario file would have it; their scripts are put in later."""
    stub = {"at": "stub", "place": "uniform"}
    return {
        "name": "case",
        "seed": seed * 1000 + case.run,
        "scheme": {"name": "amsp", "advertisements": True, **case.variant.options},
        "topology": {
            "generate": "transit-stub",
            "stubs": sweep.stubs,
            "stub_routers": sweep.stub_routers,
            "link_defaults": {"delay": "1ms"},
        },
        "populations": {
            PUBLISHES: {"count": sweep.publishers, **stub},
            SUBSCRIBES: {"count": sweep.subscribers, **stub},
        },
        "record": {"captures": False},
        # A router that waits for more changes tells of the last alone: less would cross links than is drawn.
        "timers": {"hello_ms": 5000, "hold_ms": 30000, "install_delay_ms": 0},
        "timing": {"ready_timeout": "600s", "settle": "1s"},
    }

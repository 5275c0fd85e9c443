"""Runs a schedule in memory and judges it: deliveries by the oracle, tables by the whole network.

The oracle is the analysis's own (`analysis.oracle`), asked about the events of
the run; the tables at each fixpoint are compared with what
`tests.routing.central` computes from the plan and the faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from analysis.advertising import Advertising, advertising_in
from analysis.oracle import Oracle, judge_events, oracle_of
from analysis.patterns import judge_patterns
from fastpath import cover
from nodes.model import Pattern, parse_pattern, parse_predicate
from nodes.routing.predicates import reduced_union
from nodes.scheme_catalog import complete, factors_patterns
from nodes.wire.codec import encode_predicate
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.sim.network import Network
from testbed.sim.scheduler import SimulationStuckError
from testbed.sim.simulation import Simulation, SimulationFailedError
from tests.faults.schedules import Schedule
from tests.routing.central import Network as Whole
from tests.routing.central_patterns import Recognition, Sought, recognition
from tests.routing.comparison import Tables, differences
from tests.routing.matchmaker_cases import marking_faults

Event = dict[str, Any]
SHOWN = 3


@dataclass
class Score:
    """What came of one schedule or of several."""

    schedules: int = 0
    faults: int = 0
    owed: int = 0
    missing: int = 0
    duplicate: int = 0
    """Of what was owed."""
    spurious: int = 0
    allowed: int = 0
    """Delivered though not owed."""
    matches: int = 0
    """Of patterns, that were owed; what is wrong with them counts as what is wrong with messages."""
    lost: int = 0
    """Matches that were not owed, as something changed, and did not come."""
    fixpoints: int = 0
    convergence_ms: list[int] = field(default_factory=list)
    """After faults that were not followed by the next before the network had converged."""
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not (self.missing or self.duplicate or self.spurious or self.problems)

    def add(self, other: Score) -> None:
        """Count another's in."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


Expect = Callable[[Plan, list[Event], int], Oracle]
"""The oracle of a run, by its plan, events and time zero."""


def try_out(schedule: Schedule, expect: Expect | None = None) -> Score:
    """Run a schedule and judge it.

    Raises:
        ScenarioError: It is no scenario.
    """
    plan = plan_of(schedule.scenario(), schedule.name)
    events: list[Event] = []
    tables = TableCheck(plan)

    def note(event: Event) -> None:
        events.append(event)
        tables.take(event)

    simulation = Simulation(plan, schedule.name, note, on_converged=tables.look)
    score = Score(schedules=1, faults=len(plan.faults))
    try:
        simulation.get_ready()
        simulation.work()
        simulation.drain()
    except (SimulationFailedError, SimulationStuckError, AssertionError) as error:
        score.problems.append(f"{type(error).__name__}: {error}")
    history = simulation.faults.tracker.history
    score.convergence_ms += [c.took_ns // 1_000_000 for c in history[1:] if c.took_ns is not None]
    score.fixpoints = tables.fixpoints
    score.problems += tables.problems
    oracle = (expect or oracle_of)(plan, events, simulation.start_ns)
    ids = {n.name: n.node_id for n in plan.nodes}
    judge(score, oracle, events, ids, advertising_in(plan, events, simulation.start_ns))
    # Nothing is held back or on its way any more, so it might have gone on for as long as that takes.
    ended_ns = simulation.scheduler.now_ns + plan.timing.settle_ns
    _judge_matches(score, plan, events, (simulation.start_ns, ended_ns))
    return score


def _judge_matches(score: Score, plan: Plan, events: list[Event], times_ns: tuple[int, int]) -> None:
    for counts in judge_patterns(plan, events, times_ns) or ():
        score.matches += counts.owed
        score.lost += counts.lost
        for what in ("missing", "duplicate", "spurious"):
            number = getattr(counts, what)
            setattr(score, what, getattr(score, what) + number)
            if number:
                shown = [each.components for each in counts.shown if each.verdict == what][:SHOWN]
                score.problems.append(
                    f"{number} {what} matches of {counts.client}, {counts.pattern}: {shown}"
                )


def judge(
    score: Score,
    oracle: Oracle,
    events: Iterable[Event],
    ids: Mapping[str, int],
    advertising: Advertising | None = None,
) -> None:
    """Count what was owed and what came, by node id of the name."""
    judged = judge_events(oracle, events, ids, None if advertising is None else advertising.restrict)
    names = {node_id: name for name, node_id in ids.items()}
    score.owed += judged.counts.owed
    score.allowed += judged.counts.allowed
    for what in ("missing", "duplicate", "spurious"):
        pairs = getattr(judged, what)
        setattr(score, what, len(pairs))
        shown = [f"{names[s]} {n} at {names[to]}" for s, n, to in pairs[:SHOWN]]
        if shown:
            score.problems.append(f"{len(pairs)} {what}: {', '.join(shown)}{' ...' * (len(pairs) > SHOWN)}")


class TableCheck:
    """Compares all tables with the central computation whenever the network has converged."""

    def __init__(self, plan: Plan) -> None:
        self.problems: list[str] = []
        self.fixpoints = 0
        self._plan = plan
        self._held: dict[str, dict[str, dict[int, bytes]]] = {
            what: {client.name: {} for client in plan.clients} for what in ("subscribe", "advertise")
        }
        """By what is done for it: of each client, what it holds by its ids."""
        self._sought: dict[str, dict[int, Pattern]] = {client.name: {} for client in plan.clients}

    def take(self, event: Event) -> None:
        """Something has happened: remember it if it changes what clients hold."""
        for what, of in (("subscribe", "subscription"), ("advertise", "advertisement")):
            if event["event"] == what:
                self._held[what][event["node"]][event[of]] = _encoded(event["predicate"])
            elif event["event"] == f"un{what}":
                self._held[what][event["node"]].pop(event[of], None)
        if event["event"] == "subscribe_pattern":
            self._sought[event["node"]][event["subscription"]] = parse_pattern(event["pattern"])
        elif event["event"] == "unsubscribe":
            self._sought[event["node"]].pop(event["subscription"], None)

    def look(self, network: Network) -> None:
        """The network says it has converged."""
        self.fixpoints += 1
        configs = [node.config for node in network.nodes]
        ids = {config.name: config.node_id for config in configs}
        wants = {
            ids[name]: reduced_union(held.values()) for name, held in self._held["subscribe"].items() if held
        }
        offers = {ids[name]: cover.union(held.values()) for name, held in self._held["advertise"].items()}
        advertising = self._plan.scheme_options.get("advertisements")
        whole = Whole(configs, wants, network.state.down, offers if advertising else None)
        names = {node_id: name for name, node_id in ids.items()}
        if factors_patterns(self._plan.scheme_options):
            sought = {ids[name]: list(held.values()) for name, held in self._sought.items()}
            tree = complete(self._plan.scheme, self._plan.scheme_options).get("tree")
            expected = recognition(whole, sought, shared=tree == "shared")
            self._compare_requests(network, expected, names)
            whole = Whole(configs, wants, network.state.down, offers, expected.inner())
        self._compare_tables(network, whole, names)
        if self._plan.scheme == "amsp":
            routers = {router: network.cores[names[router]] for router in whole.routers}
            self.problems += [f"fixpoint {self.fixpoints}: {each}" for each in marking_faults(routers, whole)]

    def _compare_requests(self, network: Network, expected: Recognition, names: Mapping[int, str]) -> None:
        found = Recognition()
        for router in {each.router for each in expected.sought | expected.requests} | {
            i for i, name in names.items() if name in network.cores and name not in network.state.down
        }:
            patterns = network.cores[names[router]].patterns
            assert patterns is not None
            goals = ((g.link.interface.index, g.text.decode()) for g in patterns.goals.values())
            found.sought |= {Sought(router, *goal) for goal in goals}
            found.requests |= {Sought(router, r.interface, r.text) for r in patterns.requests}
        for what in ("sought", "requests"):
            differing = getattr(found, what) ^ getattr(expected, what)
            if differing:
                router, interface, text = min(differing)
                there = "is not to be" if (router, interface, text) in getattr(found, what) else "lacks"
                where = f"{what} at {names[router]}, interface {interface}"
                self.problems.append(f"fixpoint {self.fixpoints}: {where}: {there} {text}")

    def _compare_tables(self, network: Network, whole: Whole, names: Mapping[int, str]) -> None:
        for router in whole.routers:
            scheme = self._plan.scheme, self._plan.scheme_options
            expected = Tables.of_names(whole.expected(router, *scheme), whole.store(router, *scheme))
            installed = Tables.installed(network.cores[names[router]].installer)
            if found := next(differences(installed, expected), None):
                self.problems.append(f"fixpoint {self.fixpoints}: tables of {names[router]}: {found}")


@cache
def _encoded(predicate: str) -> bytes:
    return encode_predicate(parse_predicate(predicate))

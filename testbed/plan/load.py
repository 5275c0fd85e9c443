"""From a scenario file to a Plan, in phases that gather problems and fail once.

Read (`reading`), override (`overrides`), put parameters in (`parameters`),
check the shape (`shape`), build the graph (`topology`, `populations`), the
scripts (`workload`), the addresses (`addresses`). A scenario with a matrix
becomes as many plans (`matrix`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from nodes.config import (
    Action,
    LimitConfig,
    Messages,
    Neighbours,
    RecordSigning,
    SecurityConfig,
    TimerConfig,
)
from nodes.scheme_catalog import CATALOG, factors_patterns, lacking, option_problem
from nodes.wire.datagram_seal import SEAL_BYTES
from testbed.plan.addresses import lay_out
from testbed.plan.arrivals import likely_count
from testbed.plan.background import read_background
from testbed.plan.dis import World, read_world
from testbed.plan.expectations import read_expectations
from testbed.plan.fault_text import write_out
from testbed.plan.faults import read_faults
from testbed.plan.generated import Generated
from testbed.plan.groups import Groups
from testbed.plan.matrix import Cell, read_cells
from testbed.plan.mininet_topo import is_reference, topo_source
from testbed.plan.model import Plan, RecordPlan, TimingPlan
from testbed.plan.moments import Times, read_times
from testbed.plan.overrides import apply_overrides
from testbed.plan.parameters import fill_in
from testbed.plan.policy import read_policy
from testbed.plan.populations import Member, read_populations
from testbed.plan.problems import Key, ScenarioError, did_you_mean
from testbed.plan.programs import read_duration, read_programs
from testbed.plan.reading import read_source
from testbed.plan.shape import check_shape
from testbed.plan.sizes import Room
from testbed.plan.source import Source, Unreadable
from testbed.plan.topology import read_graph
from testbed.plan.traces import follow_traces, read_traces
from testbed.plan.workload import Workload
from topologies.quantities import duration_ns, size_bytes

Overrides = Mapping[str, str] | Sequence[tuple[str, str]]
ACTIONS_MAX = 10_000_000
"""Of all clients; a plan holds each of them."""
ROUGHLY = 1.1
"""By how much an estimate of drawn arrivals may be off."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario file that has been read, once for all that is made of it."""

    text: str
    """As it stands in the file; the plans have the digest of it."""
    cells: Sequence[Cell]
    """The runs of its matrix; none if there is no axis left that varies."""
    source: Source
    """With all overrides; not to be changed."""
    overrides: Sequence[tuple[str, str]]

    def plan(self) -> Plan:
        """The plan; of a scenario with a matrix, the one with the values it has without.

        Raises:
            ScenarioError: With everything that is wrong.
        """
        return _plan_of(self.copy(), dict(self.overrides))

    def plans(self) -> list[tuple[Cell, Plan]]:
        """The plans of all runs of the matrix.

        Raises:
            ScenarioError: With everything that is wrong with any of them.
        """
        if self.source.problems:
            raise ScenarioError(self.source.problems)
        plans, problems = [], {}
        for cell in self.cells:
            own = self.copy()
            apply_overrides(own, cell.overrides, "matrix: ")
            try:
                plans.append((cell, _plan_of(own, dict((*self.overrides, *cell.overrides)))))
            except ScenarioError as error:
                problems.update({str(problem): problem for problem in error.problems})
        if problems:
            raise ScenarioError(problems.values())
        return plans

    def copy(self) -> Source:
        """The source, for phases that change it."""
        return replace(
            self.source,
            value=deepcopy(self.source.value),
            values=dict(self.source.values),
            keys=dict(self.source.keys),
            problems=list(self.source.problems),
        )


def read_scenario(path: str | Path, seed: int | None = None, overrides: Overrides = ()) -> Scenario:
    """A scenario file.

    Args:
        path: The file; or a class of Mininet topologies in a Python file, `file.py:MyTopo`.
        seed: Takes the place of the file's, and is the first that `repeat` counts from.
        overrides: Dotted keys and the YAML scalars to put there, in order; an axis
            that is set so has that one value.

    Raises:
        ScenarioError: It cannot be read as data at all. What else is wrong, the plans say.
    """
    pairs = tuple(overrides.items()) if isinstance(overrides, Mapping) else tuple(overrides)
    # A seed given apart is an override like any other, and checked like one.
    given = pairs if seed is None else (*pairs, ("seed", str(seed)))
    try:
        source = topo_source(str(path)) if is_reference(path) else read_source(Path(path))
    except Unreadable as error:
        raise ScenarioError([error.problem]) from None
    apply_overrides(source, given)
    cells = read_cells(source, [key for key, _ in pairs])
    return Scenario(source.text, cells, source, pairs)


def load_plan(path: str | Path, seed: int | None = None, overrides: Overrides = ()) -> Plan:
    """The plan of a scenario file: see `read_scenario` and `Scenario.plan`."""
    return read_scenario(path, seed, overrides).plan()


def plan_of(scenario: Mapping[str, Any], name: str = "") -> Plan:
    """The plan of a scenario that was never a file; `name` is what problems call it.

    Raises:
        ScenarioError: With everything that is wrong.
    """
    return _plan_of(Source(name, "", "", value=deepcopy(scenario)), {})


def _plan_of(source: Source, overrides: Mapping[str, str]) -> Plan:
    fill_in(source)
    write_out(source)
    plan = _build(source, check_shape(source), overrides)
    if source.problems:
        raise ScenarioError(source.problems)
    return plan


def _build(source: Source, data: Mapping[str, Any], overrides: Mapping[str, str]) -> Plan:
    graph = read_graph(source, data)
    groups = Groups(source, data, graph)
    members = read_populations(source, data, graph, groups)
    groups.check()
    cores = _cores(data.get("cpu") or {}, groups, data.get("seed", 1))
    policy = read_policy(source, data, groups)
    scheme, options = _scheme(source, data)
    times = read_times(source, data)
    security = _security(source, data.get("security") or {})
    sealed = SEAL_BYTES if security.messages is not Messages.OFF else 0
    room = Room(min((wire.mtu for wire in graph.wires), default=1500), scheme, len(graph.routers), sealed)
    scripts = _scripts(source, data, room, times, members, factored=factors_patterns(options))
    timers = _timers(source, data.get("timers") or {})
    programs = read_programs(source, data)
    duration = read_duration(source, data, programs)
    graph.programs.update(programs)
    faults = read_faults(source, data, graph, groups, times, security=security)
    traces = read_traces(source, data, groups, times)
    expect = read_expectations(source, data, times)
    if expect and (data.get("record") or {}).get("captures") is False:
        message = "without captures nothing can be measured"
        source.complain(("expect",), message, "record: {captures: true}, or nothing expected")
    complete = not source.problems
    nodes, links = lay_out(graph) if complete else ([], [])
    changes = follow_traces(source, traces, links) if complete else ()
    ends_ns = max(_ends(scripts, times, duration), default=0)
    flows = read_background(source, data, links, times, ends_ns) if complete else ()
    return Plan(
        name=data.get("name", ""),
        description=data.get("description", ""),
        seed=data.get("seed", 1),
        scheme=scheme,
        scheme_options=options,
        nodes=tuple(
            replace(
                n,
                script=scripts.get(n.name, ()),
                run=programs.get(n.name, ()),
                cpu=cores.get(n.name),
                policy=policy.get(n.name),
            )
            for n in nodes
        ),
        links=tuple(links),
        faults=faults,
        traces=changes,
        background=flows,
        phases=times.phases,
        expect=expect,
        record=_record(data.get("record") or {}),
        timing=TimingPlan(**{f"{k}_ns": duration_ns(v) for k, v in (data.get("timing") or {}).items()}),
        timers=timers,
        limits=LimitConfig(**(data.get("limits") or {})),
        security=security,
        hop_limit=data.get("hop_limit", 64),
        duration_ns=duration,
        scenario_path=source.path,
        scenario_sha256=source.sha256,
        overrides=overrides,
    )


def _scripts(
    source: Source,
    data: Mapping[str, Any],
    room: Room,
    times: Times,
    members: Sequence[Member],
    *,
    factored: bool,
) -> dict[str, tuple[Action, ...]]:
    seed = data.get("seed", 1)
    given = data.get("workload") or {}
    generated = Generated(source, {} if isinstance(given, str) else given, seed)
    world = read_world(source, data, times)
    workload = Workload(source, seed, room, times, generated, world, factored=factored)
    named = [Member(name, spec, ("clients", name)) for name, spec in (data.get("clients") or {}).items()]
    scripts: dict[str, tuple[Action, ...]] = {}
    if _too_many(source, [*named, *members], times, world):
        return scripts
    actions, wrong = 0, None
    for member in (*named, *members):
        if member.key == wrong:
            continue  # one complaint a population, not one a client
        known = len(source.problems)
        scripts[member.name] = workload.script(member.name, member.spec, member.key)
        wrong = member.key if len(source.problems) > known else None
        actions += len(scripts[member.name])
        if actions > ACTIONS_MAX:
            source.complain(
                member.key, "the clients do more than a plan can hold", f"{ACTIONS_MAX:,} actions in all"
            )
            break
    return scripts


def _too_many(source: Source, members: Sequence[Member], times: Times, world: World | None) -> bool:
    """Whether clients clearly do more than a plan can hold: found out before it is made."""
    counts: dict[Key, float] = {}
    for member in members:
        for position, spec in enumerate(member.spec.get("publish") or []):
            key = (*member.key, "publish", position)
            if spec is not None:
                counts[key] = counts.get(key, 0) + likely_count(source, spec, key, times)
        if world is not None and "entities" in member.spec:
            key = (*member.key, "entities")
            counts[key] = counts.get(key, 0) + world.likely_actions(member.spec["entities"])
    total = sum(counts.values())
    if total <= ACTIONS_MAX * ROUGHLY:
        return False
    most = max(counts, key=lambda key: counts[key])
    what = "do about {:,.0f} things" if most[-1] == "entities" else "publish about {:,.0f} messages"
    message = f"the clients {what.format(total)}, more than a plan can hold"
    source.complain(most, message, f"{ACTIONS_MAX:,} actions in all")
    return True


def _ends(scripts: Mapping[str, Sequence[Action]], times: Times, duration_ns: int) -> Iterator[int]:
    """When what has a time is over: scripts, phases, programs."""
    yield from (script[-1].at_ns for script in scripts.values() if script)
    yield from (phase.end_ns for phase in times.phases)
    yield duration_ns


def _cores(given: Mapping[str, Any], groups: Groups, seed: int) -> dict[str, float]:
    """How many cores nodes may use, by node; later entries count more."""
    shares: dict[str, float] = {}
    for selection, cores in given.items():
        rng = Random(f"{seed}/cpu/{selection}")
        choice = groups.choice(selection, "node", ("cpu", selection), rng)
        if choice is not None:
            shares.update(dict.fromkeys(choice.draw(), float(cores)))
    return shares


def _scheme(source: Source, data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    spec = data.get("scheme", "pif")
    options = {} if isinstance(spec, str) else dict(spec)
    name = spec if isinstance(spec, str) else options.pop("name", "pif")
    known = [option.name for option in CATALOG[name].options]
    for option, value in options.items():
        if option not in known:
            why, expected = f"{name} has no option {option}", option_problem(name, option, value)
            source.complain(("scheme", option), why, expected, did_you_mean(option, known), True)
        elif expected := option_problem(name, option, value):
            source.complain(("scheme", option), f"{value!r} is no {option} of {name}", expected)
    if not source.problems:
        for option, expected in lacking(name, options).items():
            source.complain(("scheme", option), f"{options[option]!r} is not enough", expected)
    return name, options


def _record(spec: Mapping[str, Any]) -> RecordPlan:
    plain = {key: value for key, value in spec.items() if key != "rotate"}
    rotate = spec.get("rotate", "never")
    return RecordPlan(**plain, rotate_bytes=0 if rotate == "never" else size_bytes(rotate))


def _security(source: Source, spec: Mapping[str, str]) -> SecurityConfig:
    modes = {name: spec.get(name, "off").upper() for name in ("neighbours", "messages", "records")}
    security = SecurityConfig(
        neighbours=Neighbours[modes["neighbours"]],
        messages=Messages[modes["messages"]],
        records=RecordSigning[modes["records"]],
    )
    if security.contradiction:
        wanted = f"neighbours: {security.messages.name.lower()}, whose sessions messages are sealed in"
        source.complain(("security", "messages"), security.contradiction, wanted)
    return security


def _timers(source: Source, spec: Mapping[str, Any]) -> TimerConfig:
    timers = TimerConfig(**spec)
    if timers.hold_ms <= timers.hello_ms:
        source.complain(
            ("timers", "hold_ms"),
            f"the hold time, {timers.hold_ms} ms, is over before the next hello, {timers.hello_ms} ms",
            "a hold time of several hello intervals",
        )
    if timers.retransmit_max_ms < timers.retransmit_ms:
        source.complain(("timers", "retransmit_max_ms"), "the longest wait is shorter than the first")
    return timers

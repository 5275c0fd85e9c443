"""From a scenario file to a Plan, in phases that gather problems and fail once.

Read (`reading`), override (`overrides`), check the shape (`shape`), build the
graph (`topology`), the scripts (`workload`), the addresses (`addresses`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodes.config import LimitConfig, TimerConfig
from nodes.scheme_catalog import CATALOG, option_problem
from testbed.plan.addresses import lay_out
from testbed.plan.faults import read_faults
from testbed.plan.graph import Graph
from testbed.plan.model import Plan, RecordPlan, TimingPlan
from testbed.plan.overrides import apply_overrides
from testbed.plan.problems import ScenarioError, did_you_mean
from testbed.plan.quantities import duration_ns, size_bytes
from testbed.plan.reading import read_source
from testbed.plan.shape import check_shape
from testbed.plan.sizes import Room
from testbed.plan.source import Source, Unreadable
from testbed.plan.topology import read_graph
from testbed.plan.workload import read_script

Overrides = Mapping[str, str] | Sequence[tuple[str, str]]


def load_plan(path: str | Path, seed: int | None = None, overrides: Overrides = ()) -> Plan:
    """The plan of a scenario file.

    Args:
        path: The file.
        seed: Takes the place of the file's.
        overrides: Dotted keys and the YAML scalars to put there, in order.

    Raises:
        ScenarioError: With everything that is wrong.
    """
    pairs = tuple(overrides.items()) if isinstance(overrides, Mapping) else tuple(overrides)
    # A seed given apart is an override like any other, and checked like one.
    given = pairs if seed is None else (*pairs, ("seed", str(seed)))
    try:
        source = read_source(Path(path))
    except Unreadable as error:
        raise ScenarioError([error.problem]) from None
    apply_overrides(source, given)
    return _plan_of(source, dict(pairs))


def plan_of(scenario: Mapping[str, Any], name: str = "") -> Plan:
    """The plan of a scenario that was never a file; `name` is what problems call it.

    Raises:
        ScenarioError: With everything that is wrong.
    """
    return _plan_of(Source(name, "", "", value=scenario), {})


def _plan_of(source: Source, overrides: Mapping[str, str]) -> Plan:
    plan = _build(source, check_shape(source), overrides)
    if source.problems:
        raise ScenarioError(source.problems)
    return plan


def _build(source: Source, data: Mapping[str, Any], overrides: Mapping[str, str]) -> Plan:
    graph = read_graph(source, data)
    scheme, options = _scheme(source, data)
    scripts = _scripts(source, data, graph, scheme)
    timers = _timers(source, data.get("timers") or {})
    faults = read_faults(source, data, graph)
    complete = not source.problems
    nodes, links = lay_out(graph) if complete else ([], [])
    return Plan(
        name=data.get("name", ""),
        description=data.get("description", ""),
        seed=data.get("seed", 1),
        scheme=scheme,
        scheme_options=options,
        nodes=tuple(replace(node, script=scripts.get(node.name, ())) for node in nodes),
        links=tuple(links),
        faults=faults,
        record=_record(data.get("record") or {}),
        timing=TimingPlan(**{f"{k}_ns": duration_ns(v) for k, v in (data.get("timing") or {}).items()}),
        timers=timers,
        limits=LimitConfig(**(data.get("limits") or {})),
        hop_limit=data.get("hop_limit", 64),
        scenario_path=source.path,
        scenario_sha256=source.sha256,
        overrides=overrides,
    )


def _scripts(source: Source, data: Mapping[str, Any], graph: Graph, scheme: str) -> dict[str, Any]:
    mtu = min((wire.mtu for wire in graph.wires), default=1500)
    room = Room(mtu, scheme, len(graph.routers))
    seed = data.get("seed", 1)
    return {
        name: read_script(source, name, client, seed, room)
        for name, client in (data.get("clients") or {}).items()
    }


def _scheme(source: Source, data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    told = data.get("scheme", "pif")
    options = {} if isinstance(told, str) else dict(told)
    name = told if isinstance(told, str) else options.pop("name", "pif")
    known = [option.name for option in CATALOG[name]]
    for option, value in options.items():
        if option not in known:
            why, expected = f"{name} has no option {option}", option_problem(name, option, value)
            source.complain(("scheme", option), why, expected, did_you_mean(option, known), True)
        elif expected := option_problem(name, option, value):
            source.complain(("scheme", option), f"{value!r} is no {option} of {name}", expected)
    return name, options


def _record(told: Mapping[str, Any]) -> RecordPlan:
    plain = {key: value for key, value in told.items() if key != "rotate"}
    rotate = told.get("rotate", "never")
    return RecordPlan(**plain, rotate_bytes=0 if rotate == "never" else size_bytes(rotate))


def _timers(source: Source, told: Mapping[str, Any]) -> TimerConfig:
    timers = TimerConfig(**told)
    if timers.hold_ms <= timers.hello_ms:
        source.complain(
            ("timers", "hold_ms"),
            f"the hold time, {timers.hold_ms} ms, is over before the next hello, {timers.hello_ms} ms",
            "a hold time of several hello intervals",
        )
    if timers.retransmit_max_ms < timers.retransmit_ms:
        source.complain(("timers", "retransmit_max_ms"), "the longest wait is shorter than the first")
    return timers

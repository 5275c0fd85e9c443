"""Routers, clients and the links between them: from the scenario's words to a checked graph.

Here: what needs more than one value to see (names, ends, connectedness). Not
here: addresses (`addresses`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from testbed.plan.model import Impairment
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.quantities import duration_ns, rate_bps
from testbed.plan.source import Source
from topologies.generators import SHAPES, generate, link_count, router_count

NODES_MAX = 65_536
LINKS_MAX = 1_048_576
"""Links have a /30 each out of 10.0.0.0/8, which holds four times as many."""

_PARAMETERS = ("size", "width", "height", "branching", "degree")


@dataclass(frozen=True, slots=True)
class Wire:
    """A link before it has addresses. A client stands at end `b`."""

    a: str
    b: str
    cost: int = 1
    mtu: int = 1500
    impairment: Impairment = field(default_factory=Impairment)
    key: Key = ()
    """Where the scenario speaks of it."""


@dataclass(slots=True)
class Graph:
    """All nodes by name with the key that names them, and all links in order."""

    routers: dict[str, Key] = field(default_factory=dict)
    clients: dict[str, Key] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)


def read_graph(source: Source, data: Mapping[str, Any]) -> Graph:
    """The scenario's graph; what is wrong with it is noted in the source."""
    graph = Graph()
    topology = data.get("topology")
    if topology is not None:
        _read_routers(source, topology, graph, int(data.get("seed", 1)))
        _check_connected(source, graph)
    _read_clients(source, data.get("clients") or {}, graph, topology is not None)
    _check_size(source, graph)
    return graph


def _read_routers(source: Source, topology: Mapping[str, Any], graph: Graph, seed: int) -> None:
    here: Key = ("topology",)
    defaults = _properties(
        source, topology.get("link_defaults") or {}, (*here, "link_defaults"), Wire("", "")
    )
    misplaced = _misplaced(source.value.get("topology"), topology)
    for name in misplaced:
        source.complain((*here, name), f"{name} does not go with {_form(topology)}", at_key=True)
    if "generate" in topology:
        _generate(source, topology, graph, seed, defaults)
    elif "generate" not in source.value["topology"]:
        _list_routers(source, topology.get("routers"), graph)
        _list_links(source, topology.get("links") or [], graph, defaults)


def _form(topology: Mapping[str, Any]) -> str:
    return (
        f"generate: {topology['generate']}" if "generate" in topology else "a topology that lists its routers"
    )


def _misplaced(written: Any, topology: Mapping[str, Any]) -> list[str]:
    """Keys that belong to the other way of saying a topology, or to another shape."""
    if not isinstance(written, dict) or ("generate" in written and "generate" not in topology):
        return []
    if "generate" not in topology:
        return [n for n in (*_PARAMETERS, "seed") if n in topology]
    shape = SHAPES[topology["generate"]]
    fitting = {*shape.required, *shape.optional, *(["seed"] if topology["generate"] == "random" else [])}
    return [n for n in ("routers", "links", *_PARAMETERS, "seed") if n in topology and n not in fitting]


def _generate(source: Source, topology: Mapping[str, Any], graph: Graph, seed: int, defaults: Wire) -> None:
    name, here = topology["generate"], ("topology", "generate")
    shape = SHAPES[name]
    missing = [n for n in shape.required if n not in topology]
    if missing:
        written = source.value["topology"]
        for parameter in (m for m in missing if m not in written):
            source.complain(
                ("topology",), f"the key {parameter} is missing", f"{parameter}: how large the {name} is"
            )
        return
    parameters = {n: topology[n] for n in (*shape.required, *shape.optional) if n in topology}
    routers, links = router_count(parameters), link_count(name, parameters)
    if routers > NODES_MAX or links > LINKS_MAX:
        source.complain(
            here,
            f"this makes {routers} routers and {links} links",
            f"at most {NODES_MAX} nodes and {LINKS_MAX} links",
        )
        return
    try:
        names, edges = generate(name, parameters, int(topology.get("seed", seed)))
    except ValueError as error:
        source.complain(here, str(error))
        return
    graph.routers = dict.fromkeys(names, here)
    graph.wires = [replace(defaults, a=a, b=b, key=here) for a, b in edges]


def _list_routers(source: Source, routers: Any, graph: Graph) -> None:
    if routers is None:
        if "routers" not in source.value["topology"]:
            source.complain(
                ("topology",), "the topology has no routers", "the key routers (a list), or generate"
            )
        return
    here: Key = ("topology", "routers")
    entries = enumerate(routers) if isinstance(routers, list) else ((name, name) for name in routers)
    for position, name in entries:
        key: Key = (*here, position)
        if name is None:
            continue
        if name in graph.routers:
            first = source.place(graph.routers[name])
            source.complain(
                key,
                f"there are two routers called {name}",
                f"names that are unique (first in line {first.line})",
            )
        else:
            graph.routers[name] = key


def _list_links(source: Source, links: list[Any], graph: Graph, defaults: Wire) -> None:
    seen: dict[frozenset[str], Key] = {}
    for position, link in enumerate(links):
        if link is None:
            continue
        key: Key = ("topology", "links", position)
        wire = _link(source, link, key, defaults)
        if wire is not None and _ends_exist(source, wire, graph) and _is_new(source, wire, seen):
            graph.wires.append(wire)


def _link(source: Source, link: Any, key: Key, defaults: Wire) -> Wire | None:
    if isinstance(link, str):
        a, b = re.split(r" +- +", link.strip())
        return replace(defaults, a=a, b=b, key=key)
    wire = _properties(source, link, key, defaults)
    between = link.get("between")
    if between is None or None in between:
        return None
    return replace(wire, a=between[0], b=between[1], key=key)


def _ends_exist(source: Source, wire: Wire, graph: Graph) -> bool:
    unknown = [end for end in (wire.a, wire.b) if end not in graph.routers]
    for end in unknown:
        source.complain(
            wire.key, f"there is no router {end}", _names(graph.routers), did_you_mean(end, graph.routers)
        )
    return not unknown


def _is_new(source: Source, wire: Wire, seen: dict[frozenset[str], Key]) -> bool:
    if wire.a == wire.b:
        source.complain(wire.key, f"the link joins {wire.a} to itself", "two different routers")
        return False
    first = seen.setdefault(frozenset((wire.a, wire.b)), wire.key)
    if first is not wire.key:
        line = source.place(first).line
        source.complain(
            wire.key,
            f"there is a link between {wire.a} and {wire.b} already",
            f"one link a pair (first in line {line})",
        )
        return False
    return True


def _properties(source: Source, told: Mapping[str, Any], key: Key, defaults: Wire) -> Wire:
    """The link's properties over those it has by default."""
    was = defaults.impairment
    impairment = Impairment(
        delay_ns=duration_ns(told["delay"]) if "delay" in told else was.delay_ns,
        jitter_ns=duration_ns(told["jitter"]) if "jitter" in told else was.jitter_ns,
        loss=float(told.get("loss", was.loss)),
        rate_bps=rate_bps(told["rate"]) if "rate" in told else was.rate_bps,
    )
    if impairment.jitter_ns > (impairment.delay_ns or 0) and impairment != was:
        source.complain(
            (*key, "jitter"), "the jitter is greater than the delay", "a delay that is no smaller"
        )
    if impairment.rate_bps == 0:
        source.complain(
            (*key, "rate"), "the rate is zero", "a rate above zero, or no rate for an unlimited link"
        )
    return replace(
        defaults,
        cost=told.get("cost", defaults.cost),
        mtu=told.get("mtu", defaults.mtu),
        impairment=impairment,
    )


def _check_connected(source: Source, graph: Graph) -> None:
    if not graph.routers or any(p.key.startswith("topology.") for p in source.problems):
        return
    neighbours: dict[str, list[str]] = {name: [] for name in graph.routers}
    for wire in graph.wires:
        neighbours[wire.a].append(wire.b)
        neighbours[wire.b].append(wire.a)
    first = next(iter(graph.routers))
    reached, frontier = {first}, [first]
    while frontier:
        frontier = [n for m in frontier for n in neighbours[m] if n not in reached and not reached.add(n)]  # type: ignore[func-returns-value]
    apart = [name for name in graph.routers if name not in reached]
    if apart:
        source.complain(
            graph.routers[apart[0]],
            f"no path leads from {first} to {_some(apart)}",
            "a network in one piece",
            "add links",
        )


def _read_clients(source: Source, clients: Mapping[str, Any], graph: Graph, complete: bool) -> None:
    for name, client in clients.items():
        key: Key = ("clients", name)
        if name in graph.routers:
            line = source.place(graph.routers[name]).line
            source.complain(
                key,
                f"a router is called {name} too",
                f"names that are unique (first in line {line})",
                at_key=True,
            )
            continue
        graph.clients[name] = key
        router = client.get("at")
        wire = _properties(source, client.get("access") or {}, (*key, "access"), Wire("", name, key=key))
        if router in graph.routers:
            graph.wires.append(replace(wire, a=router))
        elif router is not None and complete and graph.routers:
            expected, hint = _names(graph.routers), did_you_mean(router, graph.routers)
            source.complain((*key, "at"), f"there is no router {router}", expected, hint)


def _check_size(source: Source, graph: Graph) -> None:
    count = len(graph.routers) + len(graph.clients)
    if count > NODES_MAX or len(graph.wires) > LINKS_MAX:
        expected = f"at most {NODES_MAX} nodes and {LINKS_MAX} links: the address space ends there"
        source.complain(("topology",), f"there are {count} nodes and {len(graph.wires)} links", expected)
    degrees: dict[str, int] = {}
    for wire in graph.wires:
        for end in (wire.a, wire.b):
            degrees[end] = degrees.get(end, 0) + 1
    for name, degree in degrees.items():
        if len(f"{name}-eth{degree - 1}") > 15:
            source.complain(
                graph.routers[name],
                f"{name} has {degree} links, and {name}-eth{degree - 1} is too long for an interface's name",
                "at most 15 characters",
                f"a shorter name than {name}",
            )


def _names(names: Mapping[str, Key]) -> str:
    return f"one of {_some(list(names))}" if names else "a router that the topology names"


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")

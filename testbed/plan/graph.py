"""The network as a graph of names, before it has addresses; and what must hold of it as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nodes.model import Value
from testbed.plan.impairment import read_impairment
from testbed.plan.model import Impairment
from testbed.plan.problems import Key
from testbed.plan.source import Source
from topologies.map import Map, reached
from topologies.quantities import listed

NODES_MAX = 65_536
LINKS_MAX = 1_048_576
"""Links have a /30 each out of 10.0.0.0/8, which holds four times as many."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A link before it has addresses. A client stands at end `b`."""

    a: str
    b: str
    cost: int = 1
    mtu: int = 1500
    impairment: Impairment = field(default_factory=Impairment)
    back: Impairment | None = None
    tags: tuple[str, ...] = ()
    """In order of the alphabet."""
    key: Key = ()
    """Where the scenario speaks of it."""


@dataclass(slots=True)
class Graph:
    """All nodes by name with the key that names them, and all links in order."""

    routers: dict[str, Key] = field(default_factory=dict)
    clients: dict[str, Key] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What groups a node belongs to, in order of the alphabet; nodes that belong to none may be left out."""
    attributes: dict[str, dict[str, Value]] = field(default_factory=dict)
    """What else is known of a node (of a map: its country, place, ...); `groups` may ask for it."""
    programs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The clients that are programs, by name."""
    map: Map | None = None
    """The map that its routers are from: labels and places, for drawings."""


def wire_with(source: Source, spec: Mapping[str, Any], key: Key, defaults: Wire) -> Wire:
    """A link with the properties that the scenario gives it, over its defaults."""
    impairment = read_impairment(source, spec, key, defaults.impairment)
    back = defaults.back
    if "back" in spec or back is not None:
        # What is said of both ways is said of the way back too.
        both = impairment if back is None else read_impairment(source, spec, key, back)
        back = read_impairment(source, spec.get("back") or {}, (*key, "back"), both)
    return replace(
        defaults,
        cost=spec.get("cost", defaults.cost),
        mtu=spec.get("mtu", defaults.mtu),
        impairment=impairment,
        back=back if back != impairment else None,
        tags=tuple(sorted({*defaults.tags, *(tag for tag in spec.get("tags") or () if tag)})),
    )


def add_tags(graph: Graph, node: str, spec: Mapping[str, Any]) -> None:
    """Give a node the tags that the scenario says of it."""
    tags = sorted({tag for tag in spec.get("tags") or () if tag})
    if tags:
        graph.tags[node] = tuple(tags)


def check_connected(source: Source, graph: Graph) -> None:
    """Complain unless all routers can reach each other; a topology that is wrong already is left alone."""
    if not graph.routers or any(p.key.startswith("topology.") for p in source.problems):
        return
    neighbours: dict[str, list[str]] = {name: [] for name in graph.routers}
    for wire in graph.wires:
        neighbours[wire.a].append(wire.b)
        neighbours[wire.b].append(wire.a)
    first = next(iter(graph.routers))
    near = {*reached(neighbours, first)}
    apart = [name for name in graph.routers if name not in near]
    if apart:
        source.complain(
            graph.routers[apart[0]],
            f"no path leads from {first} to {listed(apart, 8)}",
            "a network in one piece",
            "add links",
        )


def check_size(source: Source, graph: Graph) -> None:
    """Complain where addresses or the names of interfaces would run out."""
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


def one_of(names: Mapping[str, Key]) -> str:
    """What to expect where a router's name is wanted."""
    return f"one of {listed(names, 8)}" if names else "a router that the topology names"

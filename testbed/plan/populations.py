"""`populations`: many clients by one rule, placed over the routers.

Here: how many there are, what they are called, and where they are. Not here:
what they do, which is read like that of any client (`workload`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from testbed.plan.draws import zipf_index
from testbed.plan.graph import NODES_MAX, Graph, Wire, check_size, wire_with
from testbed.plan.groups import Choice, Groups
from testbed.plan.problems import Key
from testbed.plan.source import Source

NAME_MAX = 9


@dataclass(frozen=True, slots=True)
class Member:
    """A client of a population."""

    name: str
    spec: Mapping[str, Any]
    key: Key


def read_populations(source: Source, data: Mapping[str, Any], graph: Graph, groups: Groups) -> list[Member]:
    """Put the clients of all populations into the graph, and say what there is to be said of each."""
    members: list[Member] = []
    seed = int(data.get("seed", 1))
    populations = data.get("populations") or {}
    for name, spec in populations.items():
        if spec is not None and graph.routers:
            rng = Random(f"{seed}/populations/{name}")
            choice = groups.choice(spec.get("at", "routers"), "router", ("populations", name, "at"), rng)
            if choice is not None:
                members += _populate(source, graph, name, spec, choice)
    if populations and not source.problems:
        check_size(source, graph)
    return members


def _populate(
    source: Source, graph: Graph, name: str, spec: Mapping[str, Any], choice: Choice
) -> list[Member]:
    key: Key = ("populations", name)
    homes = _homes(source, spec, key, choice.draw(), choice.rng)
    names = [f"{name}{n}" for n in range(1, len(homes) + 1)]
    if not _names_fit(source, graph, names, key):
        return []
    wire = wire_with(source, spec.get("access") or {}, (*key, "access"), Wire("", "", key=key))
    for client, router in zip(names, homes, strict=True):
        graph.clients[client] = key
        graph.wires.append(replace(wire, a=router, b=client))
        graph.tags[client] = tuple(sorted({name, *(spec.get("tags") or ())}))
    return [Member(client, spec, key) for client in names]


def _homes(
    source: Source, spec: Mapping[str, Any], key: Key, routers: Sequence[str], rng: Random
) -> list[str]:
    """The router of each client."""
    place = spec.get("place", "evenly")
    count = spec.get("count", len(routers))
    if place == "one each":
        if "count" in spec and count != len(routers):
            expected = f"no count, or count: {len(routers)}"
            source.complain((*key, "count"), f"one each are {len(routers)} clients, not {count}", expected)
        return list(routers)
    if place == "evenly":
        return [routers[n % len(routers)] for n in range(count)]
    if place == "uniform":
        return [rng.choice(routers) for _ in range(count)]
    exponent = float(place.get("zipf", 1)) if isinstance(place, dict) else 1.0
    # Which router is the most popular is drawn, and does not depend on its name.
    ranked = rng.sample(routers, len(routers))
    index = zipf_index(len(ranked), exponent, rng)
    return [ranked[index()] for _ in range(count)]


def _names_fit(source: Source, graph: Graph, names: Sequence[str], key: Key) -> bool:
    if len(graph.clients) + len(names) > NODES_MAX:
        source.complain((*key, "count"), "there are too many clients", f"at most {NODES_MAX} nodes in all")
        return False
    if names and len(names[-1]) > NAME_MAX:
        message = f"the last of these clients would be called {names[-1]}"
        expected = f"a shorter name of the population: names have at most {NAME_MAX} characters"
        source.complain(key, message, expected, at_key=True)
        return False
    taken = [name for name in names if name in graph.routers or name in graph.clients]
    if taken:
        message = f"another node is called {taken[0]} already"
        source.complain(key, message, "another name of the population", at_key=True)
    return not taken

"""Routers, clients and the links between them: from the scenario's words to a graph.

Here: topologies that list their routers, clients, and names that lead nowhere. Not
here: generated and imported ones (`maps`), the graph as a whole (`graph`), addresses
(`addresses`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from testbed.plan.graph import (
    Graph,
    Wire,
    add_tags,
    check_connected,
    check_size,
    one_of,
    wire_with,
)
from testbed.plan.maps import add_map, form_of, misplaced, origin_of
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source


def read_graph(source: Source, data: Mapping[str, Any]) -> Graph:
    """The scenario's graph; what is wrong with it is noted in the source."""
    graph = Graph()
    topology = data.get("topology")
    if topology is not None:
        _read_routers(source, topology, graph, int(data.get("seed", 1)))
        check_connected(source, graph)
    _read_clients(source, data.get("clients") or {}, graph, topology is not None)
    check_size(source, graph)
    return graph


def _read_routers(source: Source, topology: Mapping[str, Any], graph: Graph, seed: int) -> None:
    here: Key = ("topology",)
    defaults = wire_with(source, topology.get("link_defaults") or {}, (*here, "link_defaults"), Wire("", ""))
    written = source.value["topology"]
    origin = origin_of(topology)
    if origin_of(written) != origin:
        return
    for name in misplaced(topology):
        source.complain((*here, name), f"{name} does not go with {form_of(topology)}", at_key=True)
    if origin:
        add_map(source, topology, graph, seed, defaults)
    else:
        _list_routers(source, topology.get("routers"), graph)
        _list_links(source, topology.get("links") or [], graph, defaults)


def _list_routers(source: Source, routers: Any, graph: Graph) -> None:
    if routers is None:
        if "routers" not in source.value["topology"]:
            source.complain(
                ("topology",),
                "the topology has no routers",
                "the key routers (a list), or generate, map or import",
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
            continue
        graph.routers[name] = key
        if isinstance(routers, dict):
            add_tags(graph, name, routers[name] or {})


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
    wire = wire_with(source, link, key, defaults)
    between = link.get("between")
    if between is None or None in between:
        return None
    return replace(wire, a=between[0], b=between[1], key=key)


def _ends_exist(source: Source, wire: Wire, graph: Graph) -> bool:
    unknown = [end for end in (wire.a, wire.b) if end not in graph.routers]
    for end in unknown:
        source.complain(
            wire.key, f"there is no router {end}", one_of(graph.routers), did_you_mean(end, graph.routers)
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
        add_tags(graph, name, client)
        router = client.get("at")
        wire = wire_with(source, client.get("access") or {}, (*key, "access"), Wire("", name, key=key))
        if router in graph.routers:
            graph.wires.append(replace(wire, a=router))
        elif router is not None and complete and graph.routers:
            expected, hint = one_of(graph.routers), did_you_mean(router, graph.routers)
            source.complain((*key, "at"), f"there is no router {router}", expected, hint)

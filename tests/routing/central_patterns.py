"""What routers should have each other recognise at the fixpoint, computed from the whole network at once.

What clients seek and advertise is taken from what they did, not from what routers told each other. How a
pattern is taken apart, given who provides what, is `nodes.patterns.factoring` here as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from nodes.config import NodeConfig
from nodes.model import Part, Pattern, Predicate, format_pattern
from nodes.patterns.factoring import Available, factor
from nodes.routing.predicates import filters_of
from nodes.routing.schemes.siena_trees import shared_tree
from nodes.wire.codec import decode_filter, encode_predicate
from nodes.wire.packets import Role
from tests.routing.central import Network


class Sought(NamedTuple):
    """A pattern that somebody at an interface of a router has it seek."""

    router: int
    interface: int
    text: str


@dataclass
class Recognition:
    """What comes of all patterns."""

    sought: set[Sought] = field(default_factory=set)
    requests: set[Sought] = field(default_factory=set)
    """What routers ask of others: who asks, by which interface, for what."""
    parts: dict[int, set[Part]] = field(default_factory=dict)
    """What the monitors of each router subscribe to."""

    def inner(self) -> dict[int, bytes]:
        """The same as predicates."""
        return {
            router: encode_predicate(Predicate(f for part in parts for f in part.predicate.filters))
            for router, parts in self.parts.items()
        }


def recognition(whole: Network, patterns: Mapping[int, list[Pattern]], *, shared: bool) -> Recognition:
    """Who asks whom for what.

    Args:
        whole: The network.
        patterns: What each client seeks, by its id.
        shared: Whether all goes along siena's shared tree.
    """
    found = Recognition()
    configs = whole.configs
    tables = {router: _available(whole, router, shared=shared) for router in whole.routers}
    waiting = [
        (router, end.index, pattern)
        for router in whole.routers
        for end in configs[router].interfaces
        if end.peer_role is Role.CLIENT and whole.up(end)
        for pattern in patterns.get(end.peer_id, ())
    ]
    while waiting:
        router, interface, pattern = waiting.pop()
        key = Sought(router, interface, format_pattern(pattern))
        if key in found.sought:
            continue
        found.sought.add(key)
        waiting += _taken_apart(found, configs, router, interface, pattern, tables[router])
    return found


def _taken_apart(
    found: Recognition,
    configs: Mapping[int, NodeConfig],
    router: int,
    interface: int,
    pattern: Pattern,
    available: Available,
) -> list[tuple[int, int, Pattern]]:
    """What others are asked for."""
    ends = configs[router].interfaces
    without = [interface] if ends[interface].peer_role is Role.ROUTER else []
    clients = [end.index for end in ends if end.peer_role is Role.CLIENT]
    factored = factor(pattern, available, without, clients)
    asked = []
    for each in factored.factors:
        if isinstance(each.expression, Part):
            if each.providers:
                found.parts.setdefault(router, set()).add(each.expression)
            continue
        whole = pattern if factored.passed_on else factored.delegated(each)
        for provider in each.providers:
            found.requests.add(Sought(router, provider, format_pattern(whole)))
            there = ends[provider].peer_id
            back = next(e.index for e in configs[there].interfaces if e.peer_name == configs[router].name)
            asked.append((there, back, whole))
    return asked


def _available(whole: Network, router: int, *, shared: bool) -> Available:
    """What is advertised, by the interface that leads there."""
    view = whole.view(router)
    topology = shared_tree(view.topology) if shared else view.topology
    hops = topology.first_hops(router)
    table = Available()
    for other in view.topology.nodes:
        for end in whole.configs[other].interfaces:
            if end.peer_role is not Role.CLIENT or not whole.up(end):
                continue
            provider = end.index if other == router else view.interfaces[hops[other]][0]
            for advertisement in filters_of(whole.offered(end.peer_id)):
                table.add(provider, decode_filter(advertisement))
    return table

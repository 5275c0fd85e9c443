"""Instances of the Min-Cost Matchmaker problem, drawn as the paper has them (MM 4.4.1; K4).

What the paper leaves unstated is a `Setting` (E20). Each sample has random streams
of its own, so the same publishers, subscribers and counts are drawn in every setting of
the same network, and a setting with more samples begins with those of one with fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor
from random import Random

from nodes.matchmaker.problem import Link, Node, Problem, Rates, Tree, shared_tree
from nodes.routing.trees import Topology
from topologies.generators import make_map
from topologies.map import Map

SHARED, SOURCE = "shared", "source"
LEAST, MOST = 1, 100
"""k and p of the bounded Pareto distribution; its alpha is 1."""
SHAPE = ("extra_stub", "stub_probability", "transit_probability")
"""What of a setting is a parameter of the network's shape."""
ROUNDED: Mapping[str, Callable[[float], float]] = {"drawn": float, "down": floor, "up": ceil}


@dataclass(frozen=True, slots=True)
class Setting:
    """What is drawn. What is not given is as in the paper, or as we read it."""

    name: str
    samples: int
    extra_stub: int = 0
    stub_probability: float = 0.42
    transit_probability: float = 0.6
    longest: int = 1
    """Links cost from 1 to this; 1: the paper's paths have the fewest links."""
    counts: str = "drawn"


@dataclass(frozen=True, slots=True)
class Members:
    """How many stub routers publish, and how many subscribe; one may do both."""

    publishers: int
    subscribers: int


def draw(setting: Setting, trees: str, members: Members, seed: str) -> Problem:
    """One instance."""
    shape = {name: getattr(setting, name) for name in SHAPE}
    network = make_map("transit-stub", shape, Random(f"{seed}/network").getrandbits(32))
    topology = _topology(network, setting.longest, Random(f"{seed}/costs"))
    rng = Random(f"{seed}/members")
    stubs, transit = (_tagged(network, kind) for kind in ("stub", "transit"))
    core = rng.choice(transit)
    published, wanted = (
        _counts(rng.sample(stubs, count), ROUNDED[setting.counts], rng)
        for count in (members.publishers, members.subscribers)
    )
    if trees == SHARED:
        return Problem(published, wanted, _around(topology, core, published, wanted))
    return Problem(published, wanted, {x: dict(_paths(topology, x, wanted)) for x in published})


def _counts(routers: list[int], rounded: Callable[[float], float], rng: Random) -> dict[Node, float]:
    return {router: rounded(pareto(rng)) for router in routers}


def pareto(rng: Random) -> float:
    """From the bounded Pareto distribution with alpha 1: its distribution function, inverted."""
    return LEAST / (1 - rng.random() * (1 - LEAST / MOST))


def _topology(network: Map, longest: int, rng: Random) -> Topology:
    """Paths are made unique and symmetric as in all our networks (E7)."""
    links = sorted(
        (min(a, b), max(a, b)) for a, b in ((_number(link.a), _number(link.b)) for link in network.links)
    )
    nodes = sorted(_number(node.name) for node in network.nodes)
    return Topology(tuple(nodes), tuple((a, b, rng.randint(1, longest)) for a, b in links))


def _number(router: str) -> int:
    return int(router.removeprefix("r"))


def _tagged(network: Map, kind: str) -> list[int]:
    return [_number(node.name) for node in network.nodes if kind in node.tags]


def _paths(topology: Topology, root: Node, to: Rates) -> Iterator[Link]:
    """The tree from a root to some nodes, as (node, the one before it)."""
    for node in to:
        for before, after in pairwise(topology.path(int(root), int(node))):
            yield after, before


def _around(topology: Topology, core: int, published: Rates, wanted: Rates) -> Mapping[Node, Tree]:
    """A core-based tree: the shortest paths from the core to all that take part."""
    links = dict.fromkeys(_paths(topology, core, {**published, **wanted}))
    return shared_tree(links, published)

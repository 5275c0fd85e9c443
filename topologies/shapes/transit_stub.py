"""Transit-stub: transit domains in the middle, stub domains at their routers (K4).

The defaults are K4's network: one transit domain of 4 routers, 3 stub domains at
each, 8 routers in each: 100 routers. Within a domain each pair is joined with a
probability (0.6 in transit, 0.42 in stubs), and pieces are then joined. Transit
domains form a random tree. Extra links may join stubs to a second transit router,
or to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from topologies.shapes.kind import Draft, Edge, Given, Parameter, Shape
from topologies.shapes.random_graphs import by_chance, drawn_pairs, join_pieces

TRIES = 1000


@dataclass(slots=True)
class _Growing:
    """What is there so far. Edges are kept with what joins them: transit, stub, or access."""

    rng: Random
    size: int = 0
    edges: dict[Edge, tuple[str, ...]] = field(default_factory=dict)
    tags: dict[int, tuple[str, ...]] = field(default_factory=dict)
    labels: dict[int, str] = field(default_factory=dict)

    def domain(self, count: int, probability: float, kind: str, number: int) -> range:
        """One more domain: routers of their own, connected with each other."""
        routers = range(self.size, self.size + count)
        self.size += count
        inside = drawn_pairs(count, probability, self.rng)
        inside += join_pieces(count, inside, by_chance(self.rng))
        for a, b in inside:
            self.join(routers[a], routers[b], kind)
        for i, router in enumerate(routers, 1):
            self.tags[router] = (kind, f"{kind}-{number}")
            self.labels[router] = f"{kind} {number}.{i}"
        return routers

    def join(self, a: int, b: int, kind: str) -> bool:
        """One more link; False if there is one already."""
        edge = (min(a, b), max(a, b))
        if edge in self.edges:
            return False
        self.edges[edge] = (kind,)
        return True


def _draft(given: Given, rng: Random) -> Draft:
    made = _Growing(rng)
    transit = [
        made.domain(given["transit_routers"], given["transit_probability"], "transit", i)
        for i in range(1, given["transit_domains"] + 1)
    ]
    for i in range(1, len(transit)):
        made.join(rng.choice(transit[rng.randrange(i)]), rng.choice(transit[i]), "transit")
    middle = [router for domain in transit for router in domain]
    stubs: list[range] = []
    for router in middle:
        for _ in range(given["stubs"]):
            stubs.append(
                made.domain(given["stub_routers"], given["stub_probability"], "stub", len(stubs) + 1)
            )
            made.join(router, rng.choice(stubs[-1]), "access")
    _add_extra(made, given, middle, stubs)
    return Draft(made.size, list(made.edges), labels=made.labels, tags=made.tags, edge_tags=made.edges)


def _add_extra(made: _Growing, given: Given, middle: list[int], stubs: list[range]) -> None:
    rng = made.rng
    if (given["extra_transit"] or given["extra_stub"]) and not stubs:
        raise ValueError(
            "extra links lead from stub domains, and there are none; expected stubs of at least 1"
        )
    if given["extra_stub"] and len(stubs) < 2:
        raise ValueError("extra_stub joins two stub domains, and there is one; expected stubs of at least 2")
    for _ in range(given["extra_transit"]):
        _join_some(made, lambda: (rng.choice(middle), rng.choice(rng.choice(stubs))), "access")
    for _ in range(given["extra_stub"]):
        _join_some(made, lambda: tuple(rng.choice(stub) for stub in rng.sample(stubs, 2)), "stub")


def _join_some(made: _Growing, draw: Callable[[], tuple[int, ...]], kind: str) -> None:
    """One link more between two that have none; dense networks have no room for it."""
    for _ in range(TRIES):
        a, b = draw()
        if made.join(a, b, kind):
            return
    raise ValueError(f"no room for another extra link after {TRIES} tries; expected fewer extra links")


def _count(given: Given) -> tuple[int, int]:
    middle = given["transit_domains"] * given["transit_routers"]
    stubs = middle * given["stubs"]

    def inside(count: int, probability: float) -> float:
        return max(count - 1, probability * count * (count - 1) / 2)

    links = given["transit_domains"] * inside(given["transit_routers"], given["transit_probability"])
    links += given["transit_domains"] - 1 + stubs
    links += stubs * inside(given["stub_routers"], given["stub_probability"])
    links += given["extra_transit"] + given["extra_stub"]
    return middle + stubs * given["stub_routers"], round(links)


SHAPES: Mapping[str, Shape] = {
    "transit-stub": Shape(
        "transit domains in the middle, stub domains around them; 100 routers by default",
        (
            Parameter("transit_domains", "how many transit domains", 1, 100, 1),
            Parameter("transit_routers", "routers in each of them", 1, 1000, 4),
            Parameter("stubs", "stub domains at each transit router", 0, 100, 3),
            Parameter("stub_routers", "routers in each of them", 1, 1000, 8),
            Parameter("transit_probability", "of a link within transit", 0, 1, 0.6, whole=False),
            Parameter("stub_probability", "of a link within a stub", 0, 1, 0.42, whole=False),
            Parameter("extra_transit", "links more from stubs to transit", 0, 10_000, 0),
            Parameter("extra_stub", "links from stub to stub", 0, 10_000, 0),
        ),
        _count,
        _draft,
        True,
    ),
}

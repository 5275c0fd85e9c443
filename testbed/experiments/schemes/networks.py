"""The networks: their graphs, and the scenario of each, with its clients, subscriptions and messages.

Each link has a cost from 1 to 3, so that there are often several shortest paths, and
a delay of so many milliseconds: the shortest path is the fastest. Everything is drawn
from the seed and the case, so that all schemes have the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, Self

import networkx as nx

from nodes.scheme_catalog import CATALOG
from testbed.experiments import kind
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source
from topologies.generators import generate

Links = dict[tuple[int, int], int]
"""Cost by the routers' numbers, counted from 1, the smaller first."""
Range = tuple[int, int]
"""The least value, and the least that is too great."""

COSTS = (1, 2, 3)
DEGREE = 3
"""The mean degree of random graphs."""
ATTACHED = 2
"""Links with which a router joins a power-law graph (Barabasi and Albert)."""
VALUES, WIDTHS, FILTERS = 1000, (10, 20, 50, 100), 4
"""A receiver wants four ranges of a thousand values: a sixth of the messages, or so. None of its
own covers another; one of somebody else's may."""
GAP_MS = 2
"""Between two messages, from whichever senders."""


@dataclass(frozen=True, slots=True)
class Case:
    """One network and its load; every scheme named is run over it."""

    shape: str
    routers: int
    senders: int
    receivers: int
    messages: int
    schemes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.shape}, {self.routers} routers, {self.senders} senders, {self.receivers} receivers"


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """All networks, in order."""

    cases: tuple[Case, ...]

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Every case written out."""
        return cls(tuple(case for group in data["networks"] for case in _cases(group)))

    @classmethod
    def check(cls, source: Source, key: Key, data: Mapping[str, Any]) -> None:
        """Complain of what the schema cannot see."""
        for at, group in enumerate(data["networks"]):
            for which, load in enumerate(group["loads"]):
                if max(load) > min(group["routers"]):
                    what = "more senders or receivers than routers", "at most one of each at a router"
                    source.complain((*key, "networks", at, "loads", which), *what)
            for which, scheme in enumerate(group.get("schemes", ())):
                if scheme not in CATALOG:
                    what = f"unknown scheme {scheme!r}", f"one of {', '.join(sorted(CATALOG))}"
                    where = (*key, "networks", at, "schemes", which)
                    source.complain(where, *what, did_you_mean(scheme, CATALOG))


def _cases(group: Mapping[str, Any]) -> Iterator[Case]:
    """Lists multiply."""
    schemes = tuple(group.get("schemes", sorted(CATALOG)))
    for shape, routers, (senders, receivers) in product(group["shapes"], group["routers"], group["loads"]):
        yield Case(shape, routers, senders, receivers, group["messages"], schemes)


def links_of(case: Case, seed: int) -> Links:
    """The links of a case's network."""
    rng = Random(f"{seed}/{case.shape}/{case.routers}")
    return {edge: rng.choice(COSTS) for edge in sorted(_edges(case, rng))}


def _edges(case: Case, rng: Random) -> set[tuple[int, int]]:
    size = case.routers
    if case.shape == "tree":
        return {(rng.randrange(1, i), i) for i in range(2, size + 1)}
    if case.shape == "power-law" and size > ATTACHED:
        graph = nx.barabasi_albert_graph(size, ATTACHED, seed=rng.getrandbits(32))
        return {(min(a, b) + 1, max(a, b) + 1) for a, b in graph.edges}
    _, pairs = generate("random", {"size": size, "degree": min(DEGREE, size - 1)}, rng.getrandbits(32))
    numbers = [(int(a[1:]), int(b[1:])) for a, b in pairs]
    return {(min(pair), max(pair)) for pair in numbers}


@dataclass(frozen=True, slots=True)
class Load:
    """The senders, what each receiver wants, and the messages; clients go by their router's number."""

    senders: tuple[int, ...]
    wanted: dict[int, tuple[Range, ...]]
    """The ranges of each receiver."""
    published: tuple[tuple[int, int], ...]
    """(sender, value), in order of time."""

    @property
    def texts(self) -> dict[int, str]:
        """What each receiver subscribes to."""
        return {
            router: " or ".join(f"x >= {low} and x < {high}" for low, high in ranges)
            for router, ranges in self.wanted.items()
        }


def load_of(case: Case, seed: int) -> Load:
    """What is wanted and sent in a case."""
    rng = Random(f"{seed}/{case}")
    routers = range(1, case.routers + 1)
    senders = tuple(sorted(rng.sample(routers, case.senders)))
    receivers = sorted(rng.sample(routers, case.receivers))
    wanted = {receiver: _ranges(rng) for receiver in receivers}
    order = [senders[i % len(senders)] for i in range(case.messages)]
    return Load(senders, wanted, tuple((sender, rng.randrange(VALUES)) for sender in order))


def _ranges(rng: Random) -> tuple[Range, ...]:
    found: list[Range] = []
    while len(found) < FILTERS:
        low, width = rng.randrange(VALUES - max(WIDTHS)), rng.choice(WIDTHS)
        if not any(_covers(held, (low, low + width)) or _covers((low, low + width), held) for held in found):
            found.append((low, low + width))
    return tuple(sorted(found))


def _covers(wide: Range, narrow: Range) -> bool:
    return wide[0] <= narrow[0] and narrow[1] <= wide[1]


def scenario(case: Case, scheme: str, seed: int) -> dict[str, Any]:
    """The case under a scheme, as a scenario file would have it."""
    load = load_of(case, seed)
    links = [
        {"between": [f"r{a}", f"r{b}"], "cost": cost, "delay": f"{cost}ms"}
        for (a, b), cost in links_of(case, seed).items()
    ]
    clients: dict[str, Any] = {f"s{router}": _sender(router, load) for router in load.senders}
    clients |= {
        f"d{router}": {"at": f"r{router}", "subscribe": [text]} for router, text in load.texts.items()
    }
    return {
        "name": "case",
        "seed": seed,
        "scheme": scheme,
        "topology": {"routers": [f"r{i}" for i in range(1, case.routers + 1)], "links": links},
        "clients": clients,
        "record": {"captures": False},
        "timing": {"ready_timeout": "600s", "hop_delay": "1us"},
    }


def _sender(router: int, load: Load) -> dict[str, Any]:
    sent = [
        {"at": f"{GAP_MS * at}ms", "message": f"x = {value}"}
        for at, (sender, value) in enumerate(load.published)
        if sender == router
    ]
    return {"at": f"r{router}", "publish": sent}

"""The graphs, and the scenario of a case: who is where, what is wanted, what is sent.

Each link has a cost from 1 to 3, so that there are often several shortest paths, and
a delay of so many milliseconds: the shortest path is the fastest. Everything is drawn
from the seed and the case, so that all schemes have the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import networkx as nx

from testbed.experiments.schemes.sweep import Case
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
    """Who sends and who wants what; clients go by their router's number."""

    senders: tuple[int, ...]
    wanted: dict[int, tuple[Range, ...]]
    """The ranges of each receiver."""
    published: tuple[tuple[int, int], ...]
    """(sender, value), in order of time."""

    def receivers_of(self, at: int) -> list[int]:
        """Who wants the message at a position."""
        value = self.published[at][1]
        return [
            receiver
            for receiver, ranges in self.wanted.items()
            if any(low <= value < high for low, high in ranges)
        ]


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
        f"d{router}": {"at": f"r{router}", "subscribe": [text]} for router, text in texts_of(load).items()
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


def texts_of(load: Load) -> dict[int, str]:
    """What each receiver subscribes to."""
    return {
        router: " or ".join(f"x >= {low} and x < {high}" for low, high in ranges)
        for router, ranges in load.wanted.items()
    }


def _sender(router: int, load: Load) -> dict[str, Any]:
    sent = [
        {"at": f"{GAP_MS * at}ms", "message": f"x = {value}"}
        for at, (sender, value) in enumerate(load.published)
        if sender == router
    ]
    return {"at": f"r{router}", "publish": sent}

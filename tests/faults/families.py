"""The families of graphs that fault schedules are drawn over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

Edge = tuple[int, int]


def tree(rng: Random, size: int) -> list[Edge]:
    """Each router joined to a random earlier one."""
    return [(rng.randrange(i), i) for i in range(1, size)]


def ring(rng: Random, size: int) -> list[Edge]:
    """One cycle."""
    del rng
    return [(i, i + 1) for i in range(size - 1)] + [(0, size - 1)]


def grid(rng: Random, size: int) -> list[Edge]:
    """Rows of two to four, the last of them perhaps shorter."""
    width = rng.randint(2, 4)
    across = [(i, i + 1) for i in range(size - 1) if (i + 1) % width]
    return across + [(i, i + width) for i in range(size - width)]


def random(rng: Random, size: int) -> list[Edge]:
    """A tree and half as many edges more."""
    edges = dict.fromkeys(tree(rng, size))
    for _ in range(size // 2):
        a, b = sorted(rng.sample(range(size), 2))
        edges[a, b] = None
    return list(edges)


def power_law(rng: Random, size: int) -> list[Edge]:
    """Preferential attachment, two edges a router (Barabasi and Albert)."""
    edges, ends = [(0, 1), (0, 2), (1, 2)], [0, 0, 1, 1, 2, 2]
    for i in range(3, size):
        near: dict[int, None] = {}
        while len(near) < 2:
            near[rng.choice(ends)] = None
        edges += [(at, i) for at in near]
        ends += [*near, i, i]
    return edges


FAMILIES: Mapping[str, Callable[[Random, int], list[Edge]]] = {
    "tree": tree,
    "ring": ring,
    "grid": grid,
    "random": random,
    "power-law": power_law,
}

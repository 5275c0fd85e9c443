"""Hosts that share links: a tree of them, and its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Pair(NamedTuple):
    """Two hosts that share links."""

    a: str
    b: str


def tree_of(widths: Mapping[Pair, float]) -> dict[str, list[str]]:
    """By host: its neighbours in a tree of the closest bounds."""
    near: dict[str, list[str]] = {host: [] for pair in widths for host in pair}
    group = {host: host for host in near}

    def of(host: str) -> str:
        while group[host] != host:
            group[host] = host = group[group[host]]
        return host

    for pair in sorted(widths, key=lambda pair: (widths[pair], pair)):
        a, b = of(pair.a), of(pair.b)
        if a != b:
            group[b] = a
            near[pair.a].append(pair.b)
            near[pair.b].append(pair.a)
    return near


def parts(near: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """The hosts that are connected with each other."""
    left = dict.fromkeys(near)
    while left:
        first = next(iter(left))
        part = [first, *(b for _, b in outwards(first, near))]
        for host in part:
            del left[host]
        yield part


def outwards(first: str, near: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Each host that can be reached, with the one before it."""
    seen, frontier = {first}, [first]
    while frontier:
        a = frontier.pop()
        for b in near[a]:
            if b not in seen:
                seen.add(b)
                frontier.append(b)
                yield a, b

"""What stands where in a network that is a tree, for those who judge models."""

from __future__ import annotations

from collections.abc import Sequence


def beyond(links: Sequence[tuple[int, int]], node: int, neighbour: int) -> set[int]:
    """The routers that a neighbour leads to, itself among them."""
    seen, waiting = {node}, [neighbour]
    while waiting:
        at = waiting.pop()
        seen.add(at)
        waiting += [y for a, b in links for x, y in ((a, b), (b, a)) if x == at and y not in seen]
    return seen - {node}

"""What must hold where routers learn what is wanted beyond each neighbour, on a tree."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from fastpath import cover
from tests.models.machines import Input
from tests.models.network import Payload


@runtime_checkable
class Knows(Protocol):
    """What is looked at from outside."""

    @property
    def node(self) -> int:
        """Which router it is."""

    @property
    def known(self) -> frozenset[tuple[int, bytes]]:
        """By neighbour, the filters that it takes to be wanted beyond it."""

    @property
    def own(self) -> frozenset[bytes]:
        """What its clients want."""


class InterestJudge:
    """No interest is lost on the way (`network.Judge`, but for its words and what is quiet).

    Args:
        links: The two routers that each joins, by their places; a tree.
        stay: Whether no link is lost.
    """

    def __init__(self, links: Sequence[tuple[int, int]], *, stay: bool) -> None:
        self._links = [(a + 1, b + 1) for a, b in links]
        self._stay = stay

    def about_step(
        self,
        given: Input,
        before: Hashable,
        after: Hashable,
        sent: Sequence[Payload],
        looks: Sequence[Hashable],
    ) -> str:
        """What somebody beyond a neighbour wants, and a router knew, it knows still, where all links stay."""
        del sent
        assert isinstance(before, Knows)
        assert isinstance(after, Knows)
        if not self._stay or given[0] not in ("take", "timer"):
            return ""
        for neighbour in {neighbour for neighbour, _ in before.known}:
            for filter_ in sorted(wanted(looks, self._links, after.node, neighbour)):
                if _knows(before, neighbour, filter_) and not _knows(after, neighbour, filter_):
                    return f"r{after.node} knows no longer that {filter_!r} is wanted beyond r{neighbour}"
        return ""

    def directions(self, up: Sequence[bool]) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """Each router with each neighbour that it is joined to, and all links that are up."""
        live = [link for link, is_up in zip(self._links, up, strict=True) if is_up]
        for a, b in [*live, *((b, a) for a, b in live)]:
            yield a, b, live


def wanted(
    looks: Sequence[Hashable], links: Sequence[tuple[int, int]], node: int, neighbour: int
) -> set[bytes]:
    """What clients want of the routers that a neighbour leads to, itself among them."""
    seen, waiting = {node}, [neighbour]
    while waiting:
        at = waiting.pop()
        seen.add(at)
        waiting += [y for a, b in links for x, y in ((a, b), (b, a)) if x == at and y not in seen]
    own = [look.own for look in looks if isinstance(look, Knows) and look.node in seen - {node}]
    return set[bytes]().union(*own)


def _knows(look: Knows, neighbour: int, filter_: bytes) -> bool:
    return any(n == neighbour and cover.covers(known, filter_) for n, known in look.known)

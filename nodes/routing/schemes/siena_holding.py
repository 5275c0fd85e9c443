"""What one subscriber of the filters poset holds, and how a filter relates to it (S1, S2, E15).

Of what a subscriber said, only the roots are in the poset (S2: what covers a
filter of his makes it a no-op, or takes him off it). The rest is remembered,
since it is to come back when its cover is withdrawn (E15).

The roots are also the poset's index. They are an antichain, so a filter is
covered by some of them, or covers some, or neither, and `fastpath.cover` finds
which without comparing it with each.

Not here: the poset (`siena_poset`).
"""

from __future__ import annotations

from collections.abc import Iterable

from fastpath import cover
from nodes.routing.predicates import filters_of


class Holding:
    """The filters of one subscriber."""

    def __init__(self) -> None:
        self._said = cover.PredicateSet()
        self._roots: cover.PredicateSet | None = None
        """The roots alone, if there is anything else."""

    def __len__(self) -> int:
        return len(self._said)

    def add(self, filters: Iterable[bytes]) -> None:
        """He subscribed to these; to one twice if he said it twice."""
        for filter_ in filters:
            self._said.add(filter_)

    def remove(self, filters: Iterable[bytes]) -> None:
        """He withdrew these.

        Raises:
            KeyError: He holds no such filter.
        """
        for filter_ in filters:
            self._said.remove(filter_)

    def changes(self) -> tuple[list[bytes], list[bytes]]:
        """(Filters that became roots, that ceased to be) since this was last asked, ascending."""
        became, ceased = self._said.changes()
        if self._said.root_count() == len(self._said):
            self._roots = None
        elif self._roots is None:
            self._roots = _made_of(filters_of(self._said.roots()))
        else:
            for filter_ in ceased:
                self._roots.remove(filter_)
            for filter_ in became:
                self._roots.add(filter_)
            self._roots.changes()
        return became, ceased

    def roots(self) -> bytes:
        """What he wants, encoded and reduced."""
        return self._said.roots()

    def relations(self, filter_: bytes) -> tuple[list[bytes], list[bytes]]:
        """The roots that cover a filter, and those that it covers; to be asked after `changes`."""
        return _relations(self._said if self._roots is None else self._roots, filter_)


def _made_of(filters: Iterable[bytes]) -> cover.PredicateSet:
    made = cover.PredicateSet()
    for filter_ in filters:
        made.add(filter_)
    made.changes()
    return made


def _relations(roots: cover.PredicateSet, filter_: bytes) -> tuple[list[bytes], list[bytes]]:
    """By putting the filter in for a moment: what covers it is what must go for it to be a root."""
    if roots.add(filter_):
        _, covered = roots.changes()
        roots.remove(filter_)
        roots.changes()
        return [], covered
    covers, removed = [], []
    while (found := roots.cover_of(filter_)) is not None:
        covers.append(found)
        while found in roots:
            roots.remove(found)
            removed.append(found)
    for each in removed:
        roots.add(each)
    roots.remove(filter_)
    roots.changes()
    return covers, []

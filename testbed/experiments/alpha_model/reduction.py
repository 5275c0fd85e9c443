"""The paper's reduction of a disjunction (RTE 4.2, D2), kept up while conjunctions join.

Within a conjunction a constraint goes that another one implies; within the
disjunction a conjunction goes that another one covers: each constraint of the
wider is implied by one of the narrower. Which constraint implies which is asked
of `fastpath.cover`, one pair at a time. `fastpath.cover.reduce` drops more: what
several constraints imply together, and which conjunctions nothing can match.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from fastpath.cover import covers
from nodes.model import Constraint, Filter
from nodes.wire.codec import encode_filter

Conjunction = tuple[Constraint, ...]


class Implication:
    """Which constraint implies which; constraints go by numbers here."""

    def __init__(self) -> None:
        self._numbers: dict[Constraint, int] = {}
        self._encoded: list[bytes] = []
        self._known: dict[tuple[int, int], bool] = {}
        self.names: list[str] = []
        """Of each constraint, by its number."""

    def number(self, constraint: Constraint) -> int:
        """The number of a constraint; equal ones share it."""
        number = self._numbers.setdefault(constraint, len(self._encoded))
        if number == len(self._encoded):
            self._encoded.append(encode_filter(Filter([constraint])))
            self.names.append(constraint.name)
        return number

    def implies(self, narrow: int, wide: int) -> bool:
        """Whether whatever satisfies the one satisfies the other."""
        if narrow == wide:
            return True
        known = self._known.get((narrow, wide))
        if known is None:
            known = self.names[narrow] == self.names[wide] and covers(
                self._encoded[wide], self._encoded[narrow]
            )
            self._known[narrow, wide] = known
        return known

    def any_implies(self, narrow: tuple[int, ...], wide: int) -> bool:
        """Whether one of the constraints does."""
        return any(self.implies(each, wide) for each in narrow)

    def reduced(self, conjunction: tuple[int, ...]) -> tuple[int, ...]:
        """The conjunction without what another of its constraints implies; of equals the first stays."""
        kept: list[int] = []
        for wide in dict.fromkeys(conjunction):
            if self.any_implies(tuple(kept), wide):
                continue
            kept = [each for each in kept if not self.implies(wide, each)]
            kept.append(wide)
        return tuple(kept)


class Disjunction:
    """Conjunctions of which none covers another."""

    def __init__(self) -> None:
        self._implication = Implication()
        self._asking: dict[str, set[tuple[int, ...]]] = {}
        """Each conjunction under every name that it asks for."""
        self._alike: dict[frozenset[str], set[tuple[int, ...]]] = {}
        """Each under the set of all its names."""
        self.constraints = 0
        """How many are left."""

    def add(self, conjunction: Conjunction) -> None:
        """Take one in, unless it is covered; what it covers goes."""
        new = self._implication.reduced(tuple(self._implication.number(c) for c in conjunction))
        names = self._names(new)
        if any(self._covers(held, new) for held in self._within(names)):
            return
        for held in [h for h in self._having(names) if self._covers(new, h)]:
            self._discard(held)
        for name in names:
            self._asking.setdefault(name, set()).add(new)
        self._alike.setdefault(names, set()).add(new)
        self.constraints += len(new)

    def _names(self, conjunction: tuple[int, ...]) -> frozenset[str]:
        return frozenset(self._implication.names[each] for each in conjunction)

    def _within(self, names: frozenset[str]) -> Iterator[tuple[int, ...]]:
        """Those that ask for these names or fewer: nothing else can be wider."""
        for size in range(1, len(names) + 1):
            for fewer in combinations(names, size):
                yield from self._alike.get(frozenset(fewer), ())

    def _having(self, names: frozenset[str]) -> set[tuple[int, ...]]:
        """Those that ask for all of these names: nothing else can be narrower."""
        sets = sorted((self._asking.get(name, set()) for name in names), key=len)
        return set.intersection(*sets)

    def _covers(self, wide: tuple[int, ...], narrow: tuple[int, ...]) -> bool:
        return all(self._implication.any_implies(narrow, each) for each in wide)

    def _discard(self, conjunction: tuple[int, ...]) -> None:
        names = self._names(conjunction)
        for name in names:
            self._asking[name].discard(conjunction)
        self._alike[names].discard(conjunction)
        self.constraints -= len(conjunction)

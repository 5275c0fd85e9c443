"""Predicates at random as RTE 4.2 has them (D2): one conjunction of one to six constraints each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from random import Random

from nodes.model import Constraint, Op
from testbed.experiments.alpha_model.sweep import ZIPF, Names

SIZES = {1: 10, 2: 40, 3: 30, 4: 10, 5: 5, 6: 5}
STRING_OPS = {
    Op.EQ: 40,
    Op.PREFIX: 10,
    Op.SUFFIX: 10,
    Op.SUBSTRING: 10,
    Op.NE: 10,
    Op.LT: 10,
    Op.GT: 10,
}
INTEGER_OPS = {Op.EQ: 40, Op.LT: 25, Op.GT: 25, Op.NE: 10}
INTEGERS = (-100, 100)
TERMS = 200
ONSETS = tuple("b c d f g h l m n p r s t v br cl cr dr fl gr pl pr st tr".split(" "))  # noqa: SIM905
VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "io", "ou"]
CODAS = ["", "", "", "l", "n", "r", "s", "t", "nd", "nt", "st", "ng"]

Conjunction = tuple[Constraint, ...]


def terms(rng: Random, count: int = TERMS) -> list[str]:
    """Pseudo-words of one to three syllables, none twice; they stand for the terms of the news corpus."""
    found: dict[str, None] = {}
    while len(found) < count:
        syllables = rng.choices((1, 2, 3), (30, 50, 20))[0]
        found["".join(rng.choice(part) for _ in range(syllables) for part in (ONSETS, VOWELS, CODAS))] = None
    return list(found)


class Vocabulary:
    """The names, each for strings or for integers (half of them each, by lot), and the terms."""

    def __init__(self, names: Names, rng: Random) -> None:
        self.terms = terms(rng)
        self._rng = rng
        self._names = [f"n{i}" for i in range(names.count)]
        self._strings = set(rng.sample(range(names.count), names.count // 2))
        weights = (1 / (i + 1) if names.distribution == ZIPF else 1.0 for i in range(names.count))
        self._cumulated = list(accumulate(weights))

    def conjunctions(self, count: int) -> Iterator[Conjunction]:
        """So many of them, a predicate each; constraints as they are drawn, some perhaps twice."""
        sizes = self._rng.choices(list(SIZES), list(SIZES.values()), k=count)
        for size in sizes:
            names = self._rng.choices(range(len(self._names)), cum_weights=self._cumulated, k=size)
            yield tuple(self._constraint(name) for name in names)

    def _constraint(self, name: int) -> Constraint:
        value: str | int
        if name in self._strings:
            ops, value = STRING_OPS, self._rng.choice(self.terms)
        else:
            ops, value = INTEGER_OPS, self._rng.randint(*INTEGERS)
        op = self._rng.choices(list(ops), list(ops.values()))[0]
        return Constraint.on(self._names[name], op, value)

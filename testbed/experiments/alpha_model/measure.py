"""Many disjunctions over each set of names, grown and reduced by the paper's rule and by ours (RTE 4.2, D3).

Predicates are drawn as the paper has them (D2): one conjunction of one to six
constraints each. Not here: the paper's reduction (`reduction`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from statistics import quantiles

from fastpath.cover import PredicateSet, count
from nodes.model import Constraint, Filter, Op
from nodes.wire.codec import encode_filter
from testbed.experiments import kind
from testbed.experiments.alpha_model.reduction import Conjunction, Disjunction
from testbed.runs.world import Progress

UNIFORM, ZIPF = "uniform", "zipf"
PAIRS, KERNEL = "pairs", "kernel"
"""How a disjunction was reduced: by the paper's rule on pairs, or by `fastpath.cover`."""

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


@dataclass(frozen=True, slots=True)
class Names:
    """A set of attribute names, and how often each is chosen."""

    distribution: str
    count: int

    def __str__(self) -> str:
        return f"{self.distribution} over {self.count} names"


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """Over which names, and of how many predicates."""

    repeat: int
    names: tuple[Names, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """The constraints left of `number` predicates, over those they had; from the least to the greatest."""

    distribution: str
    names: int
    rule: str
    number: int
    repeat: int
    least: float
    p5: float
    median: float
    p95: float
    most: float

    @property
    def of(self) -> Names:
        """Over which names."""
        return Names(self.distribution, self.names)


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Grow all disjunctions."""
    numbers = sorted(sweep.numbers)
    for names in sweep.names:
        shown.phase(f"{names}", sweep.repeat)
        found: list[list[dict[str, float]]] = []
        for done in range(1, sweep.repeat + 1):
            found.append(list(alphas(names, numbers, Random(f"{seed}/{names}/{done}"))))
            shown.advance(done)
        for number, values in zip(numbers, zip(*found, strict=True), strict=True):
            for rule in (PAIRS, KERNEL):
                yield _row(names, rule, number, [each[rule] for each in values])


def _row(names: Names, rule: str, number: int, values: list[float]) -> Row:
    twentieths = quantiles(values, n=20, method="inclusive")
    figures = (min(values), twentieths[0], twentieths[9], twentieths[18], max(values))
    rounded = (round(value, 5) for value in figures)
    return Row(names.distribution, names.count, rule, number, len(values), *rounded)


def alphas(names: Names, numbers: list[int], rng: Random) -> Iterator[dict[str, float]]:
    """The advantage by either rule of one growing disjunction, at each of the ascending numbers."""
    vocabulary = Vocabulary(names, rng)
    pairs, kernel = Disjunction(), PredicateSet()
    drawn = done = 0
    for number in numbers:
        for conjunction in vocabulary.conjunctions(number - done):
            pairs.add(conjunction)
            kernel.add(encode_filter(Filter(conjunction)))
            drawn += len(conjunction)
        done = number
        yield {PAIRS: pairs.constraints / drawn, KERNEL: count(kernel.roots())[1] / drawn}


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

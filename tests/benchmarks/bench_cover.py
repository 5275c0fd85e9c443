"""Reducing 100,000 filters, and changing a set of as many; prints figures, judges nothing.

Workloads of the papers, and such as an index could fall for: one attribute only, the same names in all,
filters none of which covers another.
"""

import itertools
import random
import time

import pytest

from fastpath import cover
from fastpath.wire import codec
from fastpath.workload import FilterList, Generator, Recipe

FILTERS = 100_000
CHANGES = 10_000
STRING, INTEGER = 1, 2
EQ, NE, LT, GT, LE, GE, PREFIX, SUFFIX, SUBSTRING = range(1, 10)


def weighted(rng, weights):
    return rng.choices(list(weights), list(weights.values()))[0]


def words(rng, count):
    letters = "etaoinshrdlucmfwypvbgk"
    return ["".join(rng.choice(letters) for _ in range(rng.randint(3, 10))) for _ in range(count)]


def specific(rng, count, names=500):
    """D2: conjunctions of 1 to 6 constraints; a name is of one type."""
    terms, kinds = words(rng, 200), [rng.choice((STRING, INTEGER)) for _ in range(names)]
    string_ops = {EQ: 40, NE: 10, LT: 10, GT: 10, PREFIX: 10, SUFFIX: 10, SUBSTRING: 10}

    def constraint():
        at = rng.randrange(names)
        if kinds[at] == STRING:
            return STRING, weighted(rng, string_ops), f"n{at}", rng.choice(terms)
        op = weighted(rng, {EQ: 40, LT: 25, GT: 25, NE: 10})
        return INTEGER, op, f"n{at}", rng.randint(-100, 100)

    sizes = {1: 10, 2: 40, 3: 30, 4: 10, 5: 5, 6: 5}
    return [[constraint() for _ in range(weighted(rng, sizes))] for _ in range(count)]


def same_names(rng, count):
    terms = words(rng, 1000)
    integer_ops, string_ops = (EQ, EQ, LT, GT, NE), (EQ, EQ, PREFIX, SUFFIX, SUBSTRING, LT, GT)

    def constraint(at):
        if at % 2:
            return INTEGER, rng.choice(integer_ops), f"x{at}", rng.randrange(100)
        return STRING, rng.choice(string_ops), f"x{at}", rng.choice(terms)

    return [[constraint(at) for at in range(5)] for _ in range(count)]


def windows(rng, count):
    """Ranges of one attribute, each a little further: none covers another."""
    return [[(INTEGER, GE, "x", 3 * i), (INTEGER, LE, "x", 3 * i + 1_000_000)] for i in range(count)]


def unequal(rng, count):
    return [[(INTEGER, NE, "x", i)] for i in range(count)]


def endings(rng, count):
    return [[(STRING, SUFFIX, "s", f"/{i:08}.html")] for i in range(count)]


def pieces(rng, count):
    return [[(STRING, SUBSTRING, "s", f"common-{i:07}-tail")] for i in range(count)]


def incomparable(rng, count, attributes=10):
    """Lower bounds of a constant sum: none covers another."""
    out = []
    for _ in range(count):
        drawn = [rng.random() for _ in range(attributes)]
        out.append([(INTEGER, GE, f"x{i}", int(v / sum(drawn) * 1_000_000_000)) for i, v in enumerate(drawn)])
    return out


def of_paper(tmp_path, count):
    """F7."""
    path = tmp_path / "filters"
    generator = Generator(Recipe(filters=count))
    path.write_bytes(b"".join(generator.filters()))
    return [encoded for _, encoded in FilterList(path)]


MADE = [specific, same_names, windows, unequal, endings, pieces, incomparable]


def filters_of(make, tmp_path, count):
    if make is None:
        return of_paper(tmp_path, count)
    rng = random.Random(f"bench/{make.__name__}")
    return [codec.encode_filter(each) for each in make(rng, count)]


def joined(filters):
    distinct = sorted(set(filters))
    return len(distinct).to_bytes(4, "big") + b"".join(distinct)


@pytest.mark.parametrize("make", [None, *MADE], ids=lambda make: make.__name__ if make else "F7")
def test_reducing_and_changing(make, tmp_path):
    filters = filters_of(make, tmp_path, FILTERS + CHANGES)
    predicate = joined(filters[:FILTERS])
    began = time.process_time()
    reduced = cover.reduce(predicate)
    reduce_s = time.process_time() - began
    kept, total = cover.count(reduced)[0], cover.count(predicate)[0]
    print(f"\n  {total:,} filters reduced to {kept:,} in {reduce_s:.2f} s;", end=" ")
    print(changed(filters))


def changed(filters):
    """Half of the changes add, half remove one that is there."""
    rng, held, predicates = random.Random("bench/changes"), filters[:FILTERS], cover.PredicateSet()
    for each in held:
        predicates.add(each)
    spent = []
    for step, each in enumerate(itertools.islice(filters, FILTERS, None)):
        victim = rng.randrange(len(held))
        began = time.perf_counter()
        if step % 2:
            predicates.add(each)
        else:
            predicates.remove(held[victim])
        spent.append(time.perf_counter() - began)
        if step % 2:
            held.append(each)
        else:
            held[victim] = held[-1]
            held.pop()
    spent.sort()
    mean = sum(spent) / len(spent) * 1e6
    return f"a change of as many: mean {mean:.0f} us, p99 {spent[len(spent) * 99 // 100] * 1e6:.0f} us"

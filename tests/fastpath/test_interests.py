"""Predicates by the million, against plain Python sets."""

from __future__ import annotations

import hashlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath import cover
from fastpath.fib import ForwardingTable
from fastpath.interests import FilterPool, Predicate, TableEditor, Union, UsageError, WireError
from fastpath.wire import codec
from nodes.model import Op, Type

Filters = frozenset[bytes]


def number(value: int) -> bytes:
    """`x = value`, or, negative, `x < value`: filters of which some cover others."""
    return codec.encode_filter([(2, 1 if value >= 0 else 3, "x", value)])


def encoded(filters: Filters) -> bytes:
    return len(filters).to_bytes(4, "big") + b"".join(sorted(filters))


def reduced(filters: Filters) -> Filters:
    return frozenset(codec.split_predicate(cover.reduce(encoded(filters))))


def plain_digest(filters: Filters) -> bytes:
    total = sum(int.from_bytes(hashlib.sha256(f).digest()[:16], "big") for f in filters)
    return (total % 2**128).to_bytes(16, "big")


FILTERS = st.frozensets(st.integers(-6, 12).map(number), max_size=12)
LONG = st.integers(0, 200).map(lambda n: codec.encode_filter([(1, 1, "text", "z" * n)]))


def held(predicate: Predicate) -> Filters:
    return frozenset(codec.split_predicate(predicate.encode()))


@given(st.frozensets(LONG, max_size=6))
def test_a_predicate_is_its_bytes_and_the_sum_of_its_filters_digests(filters: Filters) -> None:
    predicate = FilterPool().read(encoded(filters))
    assert predicate.encode() == encoded(filters)
    assert predicate.encode(b"head") == b"head" + encoded(filters)
    assert predicate.encoded_bytes == len(encoded(filters))
    assert predicate.digest() == plain_digest(filters)
    assert (len(predicate), predicate.constraints) == (len(filters), len(filters))


@given(FILTERS, FILTERS)
def test_a_change_is_what_sets_say_it_is_and_leads_back(before: Filters, after: Filters) -> None:
    pool = FilterPool()
    left, right = pool.read(encoded(before)), pool.read(encoded(after))
    removed, added = left.minus(right), right.minus(left)
    assert (held(removed), held(added)) == (before - after, after - before)
    assert left.fits(removed, added)
    assert left.digest_after(removed, added) == plain_digest(after)
    left.change(removed, added)
    assert (left.encode(), left.digest()) == (right.encode(), right.digest())
    left.change(added, removed)
    assert held(left) == before


@given(FILTERS, FILTERS, FILTERS)
def test_a_change_that_does_not_fit_is_refused_and_changes_nothing(
    before: Filters, gone: Filters, new: Filters
) -> None:
    pool = FilterPool()
    predicate, removed, added = (pool.read(encoded(f)) for f in (before, gone, new))
    fits = gone <= before and not new & before
    assert predicate.fits(removed, added) is fits
    if not fits:
        with pytest.raises(UsageError, match="takes out what is not there"):
            predicate.change(removed, added)
        assert held(predicate) == before


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from([0, 3, 1000]))
def test_D2_a_union_is_that_of_the_sets_reduced_while_it_is_small(seed: int, most: int) -> None:
    rng, pool = random.Random(seed), FilterPool()
    union, inside = Union(pool, most), []
    result: Filters = frozenset()
    for _ in range(30):
        if inside and rng.random() < 0.45:
            union.remove(inside.pop(rng.randrange(len(inside))))
        else:
            some = frozenset(number(rng.randrange(-5, 10)) for _ in range(rng.randrange(5)))
            inside.append(pool.read(encoded(some)))
            union.add(inside[-1])
        if rng.random() < 0.6:
            removed, added = union.settle()
            assert held(removed) <= result, seed
            assert not held(added) & result, seed
            result = result - held(removed) | held(added)
            whole = frozenset[bytes]().union(*map(held, inside))
            assert result == (reduced(whole) if len(whole) <= most else whole), seed
            assert len(union) == len(result), seed
    for each in inside:
        union.remove(each)
    union.settle()
    inside.clear()
    each = removed = added = None
    assert pool.stats()["filters"] == 0, f"seed {seed}: filters are held that nobody wants"


BOUNDS = (Op.LT, Op.GT, Op.LE, Op.GE, Op.LE, Op.GE, Op.EQ, Op.NE, Op.ANY)
ENDS = {
    Type.INTEGER: (-(2**63), -3, 2**63 - 1),
    Type.TIME: (0, 5),
    Type.FLOAT: (float("-inf"), -0.5, float("inf")),
}


def ranges(rng: random.Random) -> bytes:
    """Ranges of up to six attributes, most of integers; a few are of something else, or of nothing."""
    constraints = []
    for name in rng.sample("uvwxyz", rng.choice((0, 1, 1, 2, 2, 2, 3, 6))):
        for _ in range(rng.choice((1, 2, 2, 2, 3))):
            type_ = rng.choice((*[Type.INTEGER] * 12, Type.TIME, Type.FLOAT, Type.BOOLEAN, Type.STRING))
            constraints.append(one_bound(rng, name, type_))
    return codec.encode_filter(constraints)


def one_bound(rng: random.Random, name: str, type_: Type) -> codec.ConstraintTuple:
    value: codec.Scalar = rng.choice((*ENDS.get(type_, ()), *range(20)))
    if type_ is Type.STRING:
        value = rng.choice(("", "a", "ab"))
    elif type_ is Type.BOOLEAN:
        value = rng.random() < 0.5
    elif type_ is Type.FLOAT:
        value = float(value)
    op = rng.choice(BOUNDS)
    if type_ is Type.BOOLEAN:
        op = rng.choice((Op.EQ, Op.NE, Op.ANY))
    return int(type_), int(op), name, None if op is Op.ANY else value


@settings(max_examples=120)
@given(st.integers(0, 2**32))
def test_D2_a_union_in_which_nothing_is_redundant_stays_so_or_is_reduced(seed: int) -> None:
    rng, pool = random.Random(seed), FilterPool()
    union = Union(pool, 1000)
    inside, result = list[Predicate](), frozenset[bytes]()
    for _ in range(40):
        if inside and rng.random() < 0.3:
            union.remove(inside.pop(rng.randrange(len(inside))))
        filter_ = ranges(rng)
        # Whatever is redundant ends the quick way until all of it is gone, so few that are may come.
        if rng.random() < 0.1 or len(reduced(result | {filter_})) > len(result):
            inside.append(pool.read(encoded(frozenset({filter_}))))
            union.add(inside[-1])
        removed, added = union.settle()
        result = result - held(removed) | held(added)
        assert result == reduced(frozenset[bytes]().union(*map(held, inside))), seed


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from([0, 4, 1000]))
def test_a_table_answers_as_the_unions_of_what_was_put_there(seed: int, most: int) -> None:
    rng, pool, table = random.Random(seed), FilterPool(), ForwardingTable()
    editor = TableEditor(pool, table, most)
    inside: list[tuple[int, frozenset[int], Predicate]] = []
    for _ in range(25):
        if inside and rng.random() < 0.4:
            interface, _, predicate = inside.pop(rng.randrange(len(inside)))
            editor.remove(interface, predicate)
        else:
            values = frozenset(rng.randrange(12) for _ in range(rng.randrange(5)))
            predicate = pool.read(encoded(frozenset(map(number, values))))
            inside.append((rng.randrange(4), values, predicate))
            editor.add(inside[-1][0], predicate)
        if rng.random() < 0.5:
            editor.settle()
            assert len(editor) == table.stats()["filters"], seed
            for value in range(12):
                packet = codec.encode_message(1, 1, 0, [(2, "x", value)])
                wanted = {interface for interface, values, _ in inside if value in values}
                assert table.match(packet) == tuple(sorted(wanted)), seed


def test_nothing_is_committed_where_nothing_changed() -> None:
    pool, table = FilterPool(), ForwardingTable()
    editor = TableEditor(pool, table, 10)
    predicate = pool.read(encoded(frozenset([number(1)])))
    editor.add(3, predicate)
    assert editor.settle()
    editor.add(3, predicate)
    assert not editor.settle(), "it is there already"
    editor.remove(3, predicate)
    assert not editor.settle(), "it was there twice"
    editor.remove(3, predicate)
    assert editor.settle()
    assert table.stats()["filters"] == len(editor) == 0


def test_what_was_not_put_in_cannot_be_taken_out() -> None:
    pool = FilterPool()
    predicate = pool.read(encoded(frozenset([number(1), number(2)])))
    union, editor = Union(pool, 10), TableEditor(pool, ForwardingTable(), 10)
    union.add(pool.read(encoded(frozenset([number(1)]))))
    with pytest.raises(UsageError, match="not put into"):
        union.remove(predicate)
    with pytest.raises(UsageError, match="interface 7, where it was not put"):
        editor.remove(7, predicate)
    assert held(union.settle()[1]) == {number(1)}


def test_predicates_of_two_pools_do_not_mix() -> None:
    ours, theirs = FilterPool(), FilterPool()
    stranger, own = Predicate(theirs), Predicate(ours)
    calls = [
        lambda: own.fits(stranger, own),
        lambda: own.change(own, stranger),
        lambda: own.minus(stranger),
        lambda: Union(ours, 1).add(stranger),
        lambda: TableEditor(ours, ForwardingTable(), 1).add(0, stranger),
    ]
    for call in calls:
        with pytest.raises(UsageError, match="pool"):
            call()


@pytest.mark.parametrize("data", [b"", bytes(3), bytes(5), b"\0\0\0\1", b"\0\0\0\2" + number(1) * 2])
def test_malformed_predicates_are_refused_and_leave_nothing(data: bytes) -> None:
    pool = FilterPool()
    with pytest.raises(WireError):
        pool.read(data)
    assert pool.stats()["filters"] == 0


def test_many_filters_of_many_predicates_weigh_little() -> None:
    pool = FilterPool()
    filters = frozenset(number(i) for i in range(50_000))
    predicates = [pool.read(encoded(filters)) for _ in range(3)]
    assert pool.stats()["filters"] == 50_000
    assert pool.stats()["bytes"] < 50_000 * 90
    assert all(p.bytes < 50_000 * 12 for p in predicates)
    del predicates
    assert pool.stats()["filters"] == 0

"""The compiled covering against nodes.model, which defines it (M7, D2, E14)."""

from hypothesis import event, given, settings
from hypothesis import strategies as st

from fastpath import cover
from nodes.model import Constraint, Filter, Op, Predicate, Type, allows, matches
from nodes.model import contradictory as model_contradictory
from nodes.model import covers as model_covers
from nodes.model import overlaps as model_overlaps
from nodes.model import reduce as model_reduce
from nodes.wire.codec import decode_filter, decode_predicate, encode_filter, encode_predicate
from tests.draws import draws


def filters_on(strategies, names, kinds, most=4):
    """Filters on few attributes, each with mostly one type, so that constraints meet."""

    @st.composite
    def constraints(draw):
        kind = draw(kinds)
        op = draw(st.sampled_from([op for op in Op if allows(op, kind)]))
        value = None if op is Op.ANY else draw(strategies.values[kind])
        return Constraint(draw(st.sampled_from(names)), kind, op, value)

    return st.lists(constraints(), max_size=most).map(Filter)


def size(predicate):
    return len(predicate.filters), sum(len(f.constraints) for f in predicate.filters)


def test_M7_what_the_model_covers_is_covered_and_without_patterns_nothing_else(strategies):
    """Beyond the model goes only what it does not see: ranges of strings, patterns, contradictory strings."""
    narrow = st.sampled_from(list(Type)).flatmap(lambda k: filters_on(strategies, ["x"], st.just(k)))

    @settings(max_examples=draws(1500))
    @given(st.one_of(st.tuples(narrow, narrow), st.tuples(strategies.filters, strategies.filters)))
    def check(pair):
        first, second = pair
        told = cover.covers(encode_filter(first), encode_filter(second))
        known = model_covers(first, second)
        event(f"covers: {told}")
        assert told or not known
        if all(c.type is not Type.STRING for f in pair for c in f.constraints):
            assert told == known

    check()


def test_E14_what_is_apart_or_contradictory_to_the_model_is_so_here(strategies):
    narrow = filters_on(strategies, ["a", "b"], st.sampled_from(list(Type)))

    @settings(max_examples=draws(600))
    @given(narrow, narrow)
    def check(first, second):
        meet = cover.overlaps(encode_filter(first), encode_filter(second))
        assert meet == cover.overlaps(encode_filter(second), encode_filter(first))
        assert model_overlaps(first, second) or not meet
        assert cover.contradictory(encode_filter(first)) or not model_contradictory(first)

    check()


def test_D2_a_reduction_leaves_no_more_than_the_model_leaves_and_matches_the_same(strategies):
    kinds = st.sampled_from(list(Type)).map(lambda k: [k, Type.STRING])
    one = kinds.flatmap(lambda ks: filters_on(strategies, ["a", "b"], st.sampled_from(ks)))

    @settings(max_examples=draws(600))
    @given(st.lists(one, max_size=7), st.lists(strategies.messages, min_size=1, max_size=5))
    def check(filters, messages):
        predicate = Predicate(filters)
        encoded = encode_predicate(predicate)
        reduced = cover.reduce(encoded)
        after, known = decode_predicate(reduced), model_reduce(predicate)
        assert size(after)[0] <= size(known)[0]
        assert size(after)[0] < size(known)[0] or size(after)[1] <= size(known)[1]
        assert cover.reduce(reduced) == reduced
        assert all(matches(after, m) == matches(predicate, m) for m in messages)
        kept = [encode_filter(f) for f in after.filters]
        for each in map(encode_filter, filters):
            assert cover.contradictory(each) or any(cover.covers(k, each) for k in kept)
        for each in kept:
            assert not any(cover.covers(other, each) for other in kept if other != each)

    check()


def test_D2_a_reduced_filter_is_a_part_of_it_that_says_the_same(strategies):
    one = st.sampled_from(list(Type)).flatmap(lambda k: filters_on(strategies, ["a"], st.just(k), most=7))

    @settings(max_examples=draws(800))
    @given(one)
    def check(filter_):
        encoded = encode_filter(filter_)
        reduced = cover.reduce_filter(encoded)
        assert set(decode_filter(reduced).constraints) <= set(filter_.constraints)
        assert cover.covers(reduced, encoded)
        assert cover.covers(encoded, reduced)
        assert cover.reduce_filter(reduced) == reduced

    check()

"""PredicateSet: filters come and go; its roots are what reducing all of them would leave (S1, S2, E15)."""

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fastpath import cover
from fastpath.cover import PredicateSet, WireError
from fastpath.wire import codec
from nodes.model import parse_filter
from nodes.wire.codec import encode_filter


def encoded(text):
    return encode_filter(parse_filter(text))


def joined(filters):
    return len(filters).to_bytes(4, "big") + b"".join(sorted(filters))


def holding(*texts):
    predicates = PredicateSet()
    for text in texts:
        predicates.add(encoded(text))
    return predicates


def roots(predicates):
    return set(codec.split_predicate(predicates.roots()))


def test_S2_what_is_covered_hides_and_what_covers_takes_its_place():
    predicates = PredicateSet()
    assert predicates.add(encoded("x > 5"))
    assert not predicates.add(encoded("x > 7"))
    assert predicates.add(encoded("x > 3"))
    assert roots(predicates) == {encoded("x > 3")}
    assert predicates.cover_of(encoded("x > 5")) == encoded("x > 3")
    assert predicates.cover_of(encoded("x > 3")) is None
    assert len(predicates) == 3
    assert predicates.root_count() == 1


def test_E15_withdrawing_a_cover_restores_what_it_hid():
    predicates = holding("x > 5", "x > 7 and y = 1", "z = 1", "x > 3")
    predicates.changes()
    predicates.remove(encoded("x > 3"))
    assert roots(predicates) == {encoded("x > 5"), encoded("z = 1")}
    assert predicates.changes() == ([encoded("x > 5")], [encoded("x > 3")])
    predicates.remove(encoded("x > 5"))
    assert predicates.changes() == ([encoded("x > 7 and y = 1")], [encoded("x > 5")])


def test_changes_tell_only_what_differs_from_when_they_were_last_asked():
    predicates = holding("x > 5")
    assert predicates.changes() == ([encoded("x > 5")], [])
    predicates.add(encoded("x > 3"))
    predicates.remove(encoded("x > 3"))
    assert predicates.changes() == ([], [])


def test_a_filter_added_twice_stays_until_it_is_removed_twice():
    predicates = holding("x > 5", "x > 5 and x > 3")
    predicates.remove(encoded("x > 5"))
    assert encoded("x > 5") in predicates
    predicates.remove(encoded("x > 5"))
    assert encoded("x > 5") not in predicates
    with pytest.raises(KeyError):
        predicates.remove(encoded("x > 5"))


def test_a_contradictory_filter_is_held_but_is_no_root():
    predicates = holding("x > 5 and x < 3")
    assert len(predicates) == 1
    assert roots(predicates) == set()
    predicates.remove(encoded("x > 5 and x < 3"))
    assert len(predicates) == 0


def test_roots_do_not_depend_on_the_order_in_which_filters_came():
    texts = ["x > 5", "x >= 6", 'y >* "a"', 'y >= "a" and y < "b"', "x != 3"]
    assert holding(*texts).roots() == holding(*reversed(texts)).roots()


def test_malformed_filters_change_nothing():
    predicates = holding("x > 5")
    for call in (predicates.add, predicates.remove, predicates.cover_of):
        with pytest.raises(WireError):
            call(b"\0\1")
    assert roots(predicates) == {encoded("x > 5")}


def test_S1_any_adding_and_removing_leaves_the_roots_that_reduce_would_leave(strategies):
    """A state machine; its model is the multiset of filters, reduced anew each time."""

    class Machine(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.predicates, self.held, self.known = PredicateSet(), Counter(), set()

        @rule(filters=st.lists(strategies.filters, min_size=1, max_size=6))
        def add(self, filters):
            for each in map(encode_filter, filters):
                before = self.predicates.roots()
                assert self.predicates.add(each) == (self.predicates.roots() != before)
                self.held[cover.reduce_filter(each)] += 1

        @precondition(lambda self: self.held)
        @rule(pick=st.integers(0, 1000), all_copies=st.booleans())
        def remove(self, pick, all_copies):
            victim = sorted(self.held)[pick % len(self.held)]
            for _ in range(self.held[victim] if all_copies else 1):
                self.predicates.remove(victim)
                self.held[victim] -= 1
            self.held = +self.held

        @rule()
        def ask(self):
            added, removed = self.predicates.changes()
            assert added == sorted(added)
            assert self.known.isdisjoint(added)
            assert self.known.issuperset(removed)
            self.known = (self.known - set(removed)) | set(added)
            assert self.known == roots(self.predicates)

        @invariant()
        def roots_are_the_reduction(self):
            assert self.predicates.roots() == cover.reduce(joined(self.held))
            assert len(self.predicates) == len(self.held)

        @invariant()
        def what_is_hidden_hangs_below_what_covers_it(self):
            uncovered = roots(self.predicates)
            for each in self.held:
                above = self.predicates.cover_of(each)
                assert (above is None) == (each in uncovered or cover.contradictory(each))
                assert above is None or (above in self.held and cover.covers(above, each))

    run_state_machine_as_test(
        Machine, settings=settings(max_examples=60, stateful_step_count=25, deadline=None)
    )


def test_many_filters_come_and_go_and_the_roots_stay_true(rng):
    """Enough of them for the indexes to be rebuilt and their trees to be merged."""
    names, words = [f"n{i}" for i in range(12)], ["ab", "abc", "bc", "cab", "b"]

    def any_filter():
        chosen = [(rng.choice(names), rng.random()) for _ in range(rng.randint(1, 3))]
        ops = ["=", "<", ">", "!=", ">=", "<="]
        parts = [
            f"{n} {rng.choice(ops)} {rng.randint(0, 300)}"
            if r < 0.7
            else f'{n} {rng.choice([">*", "*<", "*"])} "{rng.choice(words)}"'
            for n, r in chosen
        ]
        return encoded(" and ".join(parts))

    predicates, held = PredicateSet(), []
    for step in range(6_000):
        if held and rng.random() < 0.4:
            victim = rng.randrange(len(held))
            held[victim], held[-1] = held[-1], held[victim]
            predicates.remove(held.pop())
        else:
            held.append(cover.reduce_filter(any_filter()))
            predicates.add(held[-1])
        if step % 1_000 == 999:
            assert predicates.roots() == cover.reduce(joined(set(held)))

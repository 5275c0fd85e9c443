"""Patterns taken apart by who provides what: worked by hand, and over drawn trees held to the reference."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.model import (
    Occurrence,
    Pairing,
    Pattern,
    Predicate,
    advertised,
    format_expression,
    format_pattern,
    matches,
    matches_of,
    parse_filter,
    parse_pattern,
)
from nodes.patterns.factoring import Available, changes, factor
from nodes.patterns.monitor import Monitor
from tests.patterns.test_recogniser import EXPRESSIONS, SECOND

LEFT, RIGHT, OWN = 1, 2, 3


def available(**names):
    """What providers have: by attribute their interfaces."""
    table = Available()
    for name, providers in names.items():
        for provider in providers:
            table.add(provider, parse_filter(f"{name} any integer"))
    return table


def shown(factored):
    return [(format_expression(each.expression), each.providers) for each in factored.factors]


A_B_C = parse_pattern("[a = 1] then [b = 1] then [c = 1] within 5s pairing first keep 7")


def test_M9_a_chain_each_router_keeps_its_own_part_and_delegates_what_lies_beyond():
    """Router x (client: c) - y (client: b) - z (client: a)."""
    at_x = factor(A_B_C, available(a=[LEFT], b=[LEFT], c=[OWN]))
    assert shown(at_x) == [("[a = 1] then [b = 1] within 5s", (LEFT,)), ("[c = 1]", (OWN,))]
    assert format_pattern(at_x.pattern) == (
        "([a = 1] then [b = 1] within 5s) then [c = 1] within 5s pairing first keep 7"
    )
    asked = at_x.delegated(at_x.factors[0])
    assert format_pattern(asked) == "[a = 1] then [b = 1] within 5s keep 7 wait 50ms"
    at_y = factor(asked, available(a=[LEFT], b=[OWN], c=[RIGHT]), without=[RIGHT])
    assert shown(at_y) == [("[a = 1]", (LEFT,)), ("[b = 1]", (OWN,))]


def test_M9_a_tree_each_branch_recognises_what_it_alone_provides():
    pattern = parse_pattern("[a = 1] then [b = 1] then [c = 1] then [d = 1] within 5s")
    found = factor(pattern, available(a=[LEFT], b=[LEFT], c=[RIGHT], d=[RIGHT]))
    assert shown(found) == [
        ("[a = 1] then [b = 1] within 5s", (LEFT,)),
        ("[c = 1] then [d = 1] within 5s", (RIGHT,)),
    ]


def test_M9_what_does_not_stand_side_by_side_is_not_delegated():
    found = factor(A_B_C, available(a=[LEFT], b=[RIGHT], c=[LEFT]))
    assert shown(found) == [("[a = 1]", (LEFT,)), ("[b = 1]", (RIGHT,)), ("[c = 1]", (LEFT,))]


def test_M9_what_two_provide_is_subscribed_to_from_both():
    found = factor(A_B_C, available(a=[LEFT], b=[LEFT, RIGHT], c=[RIGHT]))
    assert shown(found) == [("[a = 1]", (LEFT,)), ("[b = 1]", (LEFT, RIGHT)), ("[c = 1]", (RIGHT,))]


def test_what_one_provider_has_is_its_to_recognise_as_a_whole():
    found = factor(A_B_C, available(a=[LEFT], b=[LEFT], c=[LEFT]))
    assert shown(found) == [("[a = 1] then [b = 1] then [c = 1] within 5s", (LEFT,))]
    assert format_pattern(found.pattern).endswith("pairing first keep 7")


def test_a_pattern_that_nobody_can_provide_asks_nobody_for_anything():
    found = factor(A_B_C, available(a=[LEFT], b=[LEFT]))
    assert (found.factors, found.requests) == ((), frozenset())
    assert [format_expression(part) for part in found.lacking] == ["[c = 1]"]


def test_an_alternative_that_nobody_provides_is_done_without():
    found = factor(parse_pattern("([a = 1] or [b = 1]) then [c = 1] within 5s"), available(a=[LEFT], c=[OWN]))
    assert shown(found) == [("[a = 1]", (LEFT,)), ("[b = 1]", ()), ("[c = 1]", (OWN,))]


def test_single_messages_of_one_provider_are_plain_subscriptions():
    found = factor(parse_pattern("[a = 1] or [b = 1]"), available(a=[LEFT], b=[LEFT]))
    assert shown(found) == [("[a = 1]", (LEFT,)), ("[b = 1]", (LEFT,))]


def test_the_shortest_window_around_it_goes_with_what_is_delegated():
    pattern = parse_pattern("(([a = 1] and [b = 1]) then [c = 1] within 2s) and [d = 1] within 1s")
    found = factor(pattern, available(a=[LEFT], b=[LEFT], c=[RIGHT], d=[LEFT]))
    assert shown(found)[0] == ("[a = 1] and [b = 1] within 1s", (LEFT,))


def test_a_provider_that_leaves_takes_its_part_with_it_and_one_that_comes_brings_it_back():
    table = available(a=[LEFT], b=[LEFT], c=[RIGHT])
    before = factor(A_B_C, table)
    table.leave(LEFT)
    gone = factor(A_B_C, table)
    made, withdrawn = changes(before, gone)
    assert (made, withdrawn) == (frozenset(), before.requests)
    for name in ("a", "b"):
        table.add(RIGHT, parse_filter(f"{name} any integer"))
    made, withdrawn = changes(gone, factor(A_B_C, table))
    assert [format_expression(each) for _, each in made] == [format_expression(A_B_C.expression)]
    assert withdrawn == frozenset()


def test_an_advertisement_that_was_made_twice_is_gone_when_both_are_withdrawn():
    table, (part, *_) = available(a=[LEFT, LEFT]), A_B_C.parts
    table.remove(LEFT, parse_filter("a any integer"))
    assert table.providers(part) == {LEFT}
    table.remove(LEFT, parse_filter("a any integer"))
    assert table.providers(part) == frozenset()


class Tree:
    """Routers in a tree, each with one client that publishes what it has advertised."""

    def __init__(self, rng, routers):
        self.neighbours = {0: []}
        for router in range(1, routers):
            parent = rng.randrange(router)
            self.neighbours[router] = [parent]
            self.neighbours[parent].append(router)
        self.adverts = {
            router: [parse_filter(" and ".join(f"{name} any integer" for name in names))]
            for router in self.neighbours
            if (names := rng.sample("abc", rng.randrange(0, 3)))
        }
        self.monitors = self.delegated = 0

    def beyond(self, router, came_from):
        """The routers on one side."""
        found = [router]
        for each in self.neighbours[router]:
            if each != came_from:
                found += self.beyond(each, router)
        return found

    def table(self, router):
        table = Available()
        for provider in [*self.neighbours[router], router]:
            for each in self.side(router, provider):
                for advert in self.adverts.get(each, ()):
                    table.add(provider, advert)
        return table

    def side(self, router, provider):
        return [router] if provider == router else self.beyond(provider, router)

    def recognise(self, router, pattern, published, came_from=None):
        """What a router tells of a pattern: asks its providers, and feeds a monitor with what they tell."""
        found = factor(pattern, self.table(router), [] if came_from is None else [came_from], [router])
        if not found.factors:
            return []
        self.monitors += 1
        told = {}
        for place, each in enumerate(found.factors):
            for provider in each.providers:
                for match in self.asked(router, provider, found, each, published):
                    told.setdefault(match, []).append(place)
        monitor, matched = Monitor(found.pattern, found.places), []
        by_latest = {}
        for match, places in sorted(told.items(), key=lambda item: max(item[0])):
            by_latest.setdefault(max(match), []).append((places, match))
        for fills in by_latest.values():
            matched += monitor.take_all(fills)
        assert (monitor.forgotten, monitor.curtailed) == (0, 0)
        return matched

    def asked(self, router, provider, found, each, published):
        if each.delegated:
            self.delegated += 1
            return self.recognise(provider, found.delegated(each), published, router)
        of_side = self.of(self.side(router, provider), published)
        return [(o,) for o, message in of_side if matches(each.expression.predicate, message)]

    def of(self, routers, published):
        return [row for row in published if row[0].source in routers]


@settings(max_examples=300, deadline=None)
@given(
    EXPRESSIONS,
    st.sampled_from(Pairing),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_factored_over_a_tree_of_routers_the_same_is_recognised(expression, pairing, routers, rng):
    tree = Tree(rng, routers)
    pattern = Pattern(expression, pairing)
    published = []
    for n in range(1, 13):
        router = rng.randrange(routers)
        message = {name: rng.randint(1, 2) for name in rng.sample("abc", rng.randrange(1, 3))}
        if advertised(Predicate(tree.adverts.get(router, ())), message):
            published.append((Occurrence(rng.randrange(10) * SECOND, router, n), message))
    assert tree.recognise(0, pattern, published) == matches_of(pattern, published)


def test_drawn_trees_do_delegate():
    rng, delegated = random.Random(4), 0
    for _ in range(200):
        tree = Tree(rng, 5)
        tree.recognise(0, A_B_C, [])
        delegated += tree.delegated
    assert delegated > 20


def test_M9_nothing_is_delegated_to_a_client():
    found = factor(A_B_C, available(a=[OWN], b=[OWN], c=[LEFT]), clients=[OWN])
    assert shown(found) == [("[a = 1]", (OWN,)), ("[b = 1]", (OWN,)), ("[c = 1]", (LEFT,))]


@pytest.mark.parametrize("joint", ["and", "and another"])
def test_other_joints_are_delegated_alike(joint):
    pattern = parse_pattern(f"[a = 1] {joint} [b = 1] {joint} [c = 1] within 5s")
    found = factor(pattern, available(a=[LEFT], b=[LEFT], c=[RIGHT]))
    assert shown(found)[0] == (f"[a = 1] {joint} [b = 1] within 5s", (LEFT,))

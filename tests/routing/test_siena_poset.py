"""The filters poset of siena: S1 to S5, E15, and the goldens of ADR Figs. 3 to 5."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath import cover
from nodes.model import matches_filter
from nodes.routing.predicates import filters_of
from nodes.routing.schemes.siena_poset import Forwarding, Poset
from nodes.wire.codec import decode_filter
from tests.routing.poset_match import match
from tests.routing.siena_cases import check, encoded, text, texts

NEIGHBOURS = 0b1111
"""All of 0 to 3 lead to neighbours; 4 and 5 to clients."""


def everywhere_else(interface: int, _: bytes = b"") -> int:
    """On a shared tree: NST is where it came from."""
    return NEIGHBOURS & ~(1 << interface)


def poset() -> Poset:
    return Poset(everywhere_else)


def subscribe(made: Poset, interface: int, *filters: str) -> list[Forwarding]:
    made.subscribe(interface, [encoded(f) for f in filters])
    return [f for f in made.take_forwardings() if f.before != f.after]


def unsubscribe(made: Poset, interface: int, *filters: str) -> list[Forwarding]:
    made.unsubscribe(interface, [encoded(f) for f in filters])
    return [f for f in made.take_forwardings() if f.before != f.after]


def shape(made: Poset) -> dict[str, list[str]]:
    """filter -> its immediate successors."""
    return {text(f): texts(n.filter for n in node.below) for f, node in sorted(made.nodes.items())}


class TestGoldensOfFigures3To5:
    """ADR 3.5: server 1 with the neighbours 2, 3, 4 and the local client a (S4)."""

    ANY, ARN = "airline any string", 'airline = "UA" and dest = "ARN"'
    A = 5

    def server_1(self) -> Poset:
        to_2_3_4 = 0b11100
        return Poset(lambda interface, _: to_2_3_4 & ~(1 << interface))

    def test_S4_figure_3_what_3_subscribes_to_is_a_root_and_goes_to_2_and_4(self) -> None:
        server = self.server_1()
        assert subscribe(server, 3, self.ANY) == [(encoded(self.ANY), 0, 1 << 2 | 1 << 4)]
        assert [node.filter for node in server.roots()] == [encoded(self.ANY)]

    def test_S4_figure_4_what_2_subscribes_to_is_below_it_and_goes_to_3_alone(self) -> None:
        server = self.server_1()
        subscribe(server, 3, self.ANY)
        assert subscribe(server, 2, self.ARN) == [(encoded(self.ARN), 0, 1 << 3)]
        assert shape(server) == {
            text(encoded(self.ANY)): [text(encoded(self.ARN))],
            text(encoded(self.ARN)): [],
        }

    def test_S4_figure_5_client_a_empties_NST_so_any_goes_to_3_and_arn_no_longer_does(self) -> None:
        server = self.server_1()
        subscribe(server, 3, self.ANY)
        subscribe(server, 2, self.ARN)
        any_, arn = encoded(self.ANY), encoded(self.ARN)
        changes = subscribe(server, self.A, self.ANY)
        assert sorted(changes) == sorted(
            [(any_, 1 << 2 | 1 << 4, 1 << 2 | 1 << 3 | 1 << 4), (arn, 1 << 3, 0)]
        )
        assert server.nodes[any_].subscribers == 1 << 3 | 1 << self.A
        assert server.nodes[arn].subscribers == 1 << 2, "it stays, since 2 is still to be served"


def test_S2_case_1_a_filter_that_something_of_the_same_subscriber_covers_has_no_effect() -> None:
    made = poset()
    subscribe(made, 0, "x > 1")
    assert subscribe(made, 0, "x > 5", "x = 7 and y = 1") == []
    assert list(made.nodes) == [encoded("x > 1")]


def test_S2_case_2_an_equal_filter_gains_a_subscriber_who_leaves_what_it_covers() -> None:
    made = poset()
    subscribe(made, 0, "x > 1")
    subscribe(made, 1, "x > 5")
    subscribe(made, 2, "x > 5")
    subscribe(made, 1, "x > 1")
    assert made.nodes[encoded("x > 1")].subscribers == 0b011
    assert made.nodes[encoded("x > 5")].subscribers == 0b100, "1 was removed from it"


def test_S2_case_3_a_filter_goes_in_between_and_what_nobody_holds_any_more_is_deleted() -> None:
    made = poset()
    subscribe(made, 0, "x > 1")
    subscribe(made, 1, "x > 9", "x > 8 and y = 1")
    subscribe(made, 2, "x > 9 and z = 1")
    subscribe(made, 2, "x > 5")
    assert sorted(made.nodes) == sorted(map(encoded, ["x > 1", "x > 5", "x > 9", "x > 8 and y = 1"]))
    assert shape(made)["x > 1"] == ["x > 5"], "S1: the immediate relations only"
    assert shape(made)["x > 5"] == sorted(["x > 9", text(encoded("x > 8 and y = 1"))])


def test_S3_forwarding_a_cover_removes_the_neighbour_from_all_that_it_covers() -> None:
    made = poset()
    subscribe(made, 0, "x > 7")
    subscribe(made, 0, "x > 5 and y = 1")
    changes = {text(f): (before, after) for f, before, after in subscribe(made, 4, "x > 1")}
    assert changes == {
        "x > 1": (0, 0b1111),
        "x > 7": (0b1110, 0),
        text(encoded("x > 5 and y = 1")): (0b1110, 0),
    }


def test_S3_an_equal_filter_in_other_words_is_pruned_as_a_covered_one_is() -> None:
    made = poset()
    subscribe(made, 4, "x = 5")
    assert subscribe(made, 5, "x >= 5 and x <= 5") == []
    assert len(made.nodes) == 2


def test_E15_withdrawing_a_cover_restores_what_it_hid_from_the_neighbours_and_of_its_own_subscriber() -> None:
    made = poset()
    subscribe(made, 0, "x > 7")
    subscribe(made, 4, "x > 8")
    subscribe(made, 4, "x > 1")
    changes = {text(f): (before, after) for f, before, after in unsubscribe(made, 4, "x > 1")}
    assert changes == {"x > 1": (0b1111, 0), "x > 7": (0, 0b1110), "x > 8": (0, 0b0001)}


def test_E15_unsubscribing_takes_what_is_named_and_nothing_else() -> None:
    made = poset()
    subscribe(made, 0, "x > 1", "x > 5", "x > 9")
    unsubscribe(made, 0, "x > 5")
    assert list(made.nodes) == [encoded("x > 1")]
    unsubscribe(made, 0, "x > 1")
    assert list(made.nodes) == [encoded("x > 9")]
    with pytest.raises(KeyError):
        made.unsubscribe(0, [encoded("x > 5")])
    unsubscribe(made, 0, "x > 9")
    assert made.empty
    assert made.nodes == {}


def test_S1_a_filter_that_replaces_one_of_its_own_subscriber_gets_immediate_relations_alone() -> None:
    made = poset()
    subscribe(made, 1, "x > 3")
    subscribe(made, 4, 's >* "a" and x > 4')
    subscribe(made, 5, "x >= 1")
    subscribe(made, 1, "x > 0")
    narrow = text(encoded('s >* "a" and x > 4'))
    assert shape(made) == {"x > 0": ["x >= 1"], "x >= 1": [narrow], narrow: []}


def test_redirected_filters_are_forwarded_as_if_they_had_come_then() -> None:
    towards = {0: 0b1110, 1: 0b1101, 4: 0b1111}
    made = Poset(lambda interface, _: towards[interface])
    subscribe(made, 0, "x > 1")
    subscribe(made, 1, "x > 5", "y = 1")
    subscribe(made, 4, "x > 5 and y = 1")
    towards.update({0: 0b0010, 4: 0b0011})
    made.redirect()
    output = {0: {encoded("x > 1")}, 1: {encoded("x > 5"), encoded("y = 1")}, 4: {encoded("x > 5 and y = 1")}}
    check(made, output, towards)


def atoms() -> st.SearchStrategy[str]:
    number = st.integers(0, 4)
    numeric = st.builds(
        "{} {} {}".format, st.sampled_from("xy"), st.sampled_from(["<", ">", "=", "!=", ">="]), number
    )
    string = st.builds(
        's {} "{}"'.format, st.sampled_from(["=", ">*"]), st.sampled_from(["a", "ab", "abc", "b"])
    )
    return st.one_of(numeric, string)


def filters() -> st.SearchStrategy[bytes]:
    joined = st.lists(atoms(), min_size=1, max_size=2).map(" and ".join).map(encoded)
    return joined.filter(lambda f: not cover.contradictory(f))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.lists(filters(), min_size=1, max_size=4), st.booleans()), max_size=25
    )
)
def test_S1_S2_S3_E15_after_any_history_the_poset_is_what_the_definitions_say(
    steps: list[tuple[int, list[bytes], bool]],
) -> None:
    made, output = poset(), {i: set[bytes]() for i in range(6)}
    for interface, some, coming in steps:
        news = set(some) - output[interface] if coming else set(sorted(output[interface])[: len(some)])
        (made.subscribe if coming else made.unsubscribe)(interface, sorted(news)) if news else None
        output[interface] ^= news
    check(made, output, {i: everywhere_else(i) for i in range(6)})
    reported = dict.fromkeys(made.nodes, 0)
    for f, before, after in made.take_forwardings():
        assert before == 0
        reported[f] = after
    assert {f: reported[f] for f in made.nodes} == {f: n.forwards for f, n in made.nodes.items()}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), filters()), max_size=20), st.integers(0, 5), st.integers(0, 5))
def test_S5_matching_down_the_poset_finds_what_matching_every_filter_finds(
    output: list[tuple[int, bytes]], x: int, y: int
) -> None:
    made = poset()
    for interface, filter_ in sorted(set(output)):
        made.subscribe(interface, [filter_])
    message = {"x": x, "y": y, "s": "abcd"}
    found = match(made, message)
    plainly = [f for f in sorted(made.nodes) if matches_filter(decode_filter(f), message)]
    assert found.filters == plainly
    assert {i for i in range(6) if found.subscribers >> i & 1} == {
        i for i, f in output if matches_filter(decode_filter(f), message)
    }
    assert found.evaluated <= len(made.nodes)


def test_S5_matching_skips_all_descendants_of_a_filter_that_does_not_match() -> None:
    made = poset()
    for i in range(10):
        subscribe(made, 0, f"a = {i}")
        subscribe(made, 1, *(f"a = {i} and b = {j}" for j in range(10)))
    assert len(made.nodes) == 110
    assert match(made, {"a": 3, "b": 4}).evaluated == 20, "10 roots, and what is below the one that matches"
    assert match(made, {"a": 77}).evaluated == 10
    assert match(made, {"a": 3, "b": 4}).subscribers == 0b11


def test_S3_a_neighbour_receives_what_covers_all_that_others_want_and_no_more() -> None:
    rng = random.Random("told")
    made, output = poset(), set[tuple[int, bytes]]()
    for _ in range(300):
        low, name = rng.randrange(30), rng.choice("abc")
        output.add((rng.randrange(6), encoded(f"{name} > {low} and {name} < {low + rng.randrange(2, 20)}")))
    for interface, filter_ in sorted(output):
        made.subscribe(interface, [filter_])
    for neighbour in range(4):
        reported = [f for f, n in made.nodes.items() if n.forwards >> neighbour & 1]
        wanted = [f for i, f in output if i != neighbour]
        assert all(any(cover.covers(t, f) for t in reported) for f in wanted)
        assert not any(cover.covers(t, f) for t in reported for f in reported if t != f)


SHAPES: dict[str, Callable[[int], str]] = {
    "flat": lambda i: f"x > {3 * i} and x < {3 * i + 3}",
    "chains": lambda i: f"x > {i}",
    "two levels": lambda i: f"x = {i // 10}" + f" and y = {i % 10}" * (i % 10 > 0),
}


@pytest.mark.parametrize("shape_", SHAPES)
def test_inserting_ten_thousand_filters_takes_a_few_steps_each_however_many_there_are(shape_: str) -> None:
    """The paper's R comparisons a filter are the kernel's, in its index. Counted in calls, not in time."""

    def calls(count: int) -> int:
        made, seen = poset(), 0
        some = [encoded(SHAPES[shape_](i)) for i in range(count)]

        def note(*_: object) -> None:
            nonlocal seen
            seen += 1

        sys.setprofile(note)
        for number, filter_ in enumerate(some):
            made.subscribe(number % 4, [filter_])
        sys.setprofile(None)
        assert set(some) >= set(made.nodes) == {f for i in range(4) for f in filters_of(made.held(i))}
        return seen

    assert calls(10_000) < 11 * calls(1_000)

"""Advertisements in the kernel: against the model, their sets, and who overlaps what (M5, M7, E14)."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastpath import cover
from fastpath.cover import AdvertisementSet, Overlaps, WireError
from nodes.model import Filter, Type, advertisement_covers, advertisement_overlaps, parse_filter
from nodes.model.examples import advertised_and_wanted, advertised_by_second_alone
from nodes.model.filters import Predicate
from nodes.wire.codec import decode_filter, encode_filter


def encoded(text):
    return encode_filter(parse_filter(text))


@pytest.mark.parametrize(
    ("wide", "narrow", "answer"),
    [
        ("x any integer", "x = 5", True),
        ("x = 5 and x = 7", "x = 7", True),
        ("x = 5 and x = 7", "x >= 5 and x = 7", False),
        ("x >= 5 and y any string", "x > 9", True),  # y may be absent
        ("x > 9", "x > 9 and y any string", False),
        ('x >* "a"', 'x = "ab" and x = "ac"', True),
        ("x any integer", "x any float", False),
        ("x any integer", "all", True),
        ("all", "x any integer", False),
    ],
)
def test_M5_M7_covering_is_the_dual(wide, narrow, answer):
    assert cover.advertisement_covers(encoded(wide), encoded(narrow)) is answer


@pytest.mark.parametrize(
    ("advertisement", "subscription", "answer"),
    [
        ("x = 5 and x = 7", "x > 6", True),
        ("x = 5 and x = 7", "x > 7", False),
        ("x = 5 and x = 7", "x > 5 and x < 7", False),
        ("x any integer", "x > 6 and y = 1", False),  # y is not declared
        ("x any integer and y any integer", "x > 6", True),
        ("x != 6", "x >= 6 and x <= 7 and x != 7", False),
        ('x *< "ab"', 'x *< "b" and x != "ab"', True),
        ("x any integer", "x > 6 and x < 3", False),
        ("x any integer", "all", True),
        ("all", "all", True),
    ],
)
def test_E14_overlap_by_example(advertisement, subscription, answer):
    assert cover.advertisement_overlaps(encoded(advertisement), encoded(subscription)) is answer


def test_M5_reducing_leaves_out_alternatives_within_others_and_those_that_nothing_satisfies():
    reduced = cover.reduce_advertisement(encoded("x > 5 and x > 7 and x = 3 and y < -9223372036854775808"))
    assert decode_filter(reduced) == parse_filter("x > 5 and x = 3")
    assert cover.reduce_advertisement(reduced) == reduced


def test_E14_overlaps_tell_what_a_change_of_advertisements_makes_different():
    overlaps = Overlaps()
    for text in ("x > 6", "x > 8", "y = 1"):
        overlaps.add(encoded(text))
    assert overlaps.advertise(1, encoded("x = 7")) == [encoded("x > 6")]
    assert overlaps.advertise(1, encoded("x = 8")) == []
    assert overlaps.advertise(2, encoded("x any integer")) == sorted([encoded("x > 6"), encoded("x > 8")])
    assert overlaps.owners(encoded("x > 6")) == [1, 2]
    assert overlaps.withdraw(1, encoded("x = 7")) == []
    assert overlaps.withdraw(1, encoded("x = 8")) == [encoded("x > 6")]
    overlaps.remove(encoded("x > 6"))
    assert overlaps.stats() == {"filters": 2, "advertisements": 1}
    for call in (
        lambda: overlaps.remove(encoded("x > 6")),
        lambda: overlaps.owners(encoded("x > 6")),
        lambda: overlaps.withdraw(1, encoded("x any integer")),
        lambda: overlaps.withdraw(2, encoded("x = 7")),
    ):
        with pytest.raises(KeyError):
            call()


def test_malformed_advertisements_change_nothing():
    overlaps, held = Overlaps(), AdvertisementSet()
    for call in (overlaps.add, overlaps.remove, held.add, held.remove, cover.reduce_advertisement):
        with pytest.raises(WireError):
            call(b"\0\1")
    with pytest.raises(WireError):
        overlaps.advertise(1, b"\0\1")
    assert overlaps.stats() == {"filters": 0, "advertisements": 0}
    assert len(held) == 0


def test_M7_M5_what_the_model_says_of_advertisements_the_kernel_says(strategies):
    @given(strategies.filters, strategies.filters, st.booleans())
    def agree(first, second, joined):
        if joined:
            second = Filter([*second.constraints, *first.constraints])
        wide, narrow = encode_filter(second), encode_filter(first)
        covering = cover.advertisement_covers(wide, narrow)
        meeting = cover.advertisement_overlaps(wide, narrow)
        assert covering or not advertisement_covers(second, first)
        assert advertisement_overlaps(second, first) or not meeting
        if covering:
            assert advertised_by_second_alone(Predicate([second]), first) is None
        if not meeting:
            assert advertised_and_wanted(second, first) is None
        assume(all(c.type is not Type.STRING for f in (first, second) for c in f.constraints))
        assert covering is advertisement_covers(second, first)
        assert meeting is advertisement_overlaps(second, first)

    agree()


def test_S1_E15_roots_of_advertisements_come_and_go_with_their_covers():
    held = AdvertisementSet()
    assert held.add(encoded("x = 5"))
    assert held.add(encoded("x any integer"))
    assert not held.add(encoded("x = 7"))
    assert held.changes() == ([encoded("x any integer")], [])
    assert held.cover_of(encoded("x = 5")) == encoded("x any integer")
    held.remove(encoded("x any integer"))
    assert held.changes() == (sorted([encoded("x = 5"), encoded("x = 7")]), [encoded("x any integer")])

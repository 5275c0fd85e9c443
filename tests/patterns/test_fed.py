"""Recognisers that are fed the matches of others, as in routers that delegate parts of a pattern."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.model import Occurrence, Pairing, Pattern, format_pattern, matches_of, parse_pattern
from nodes.patterns.factoring import Factored, factor
from nodes.patterns.recogniser import AHEAD_NS, Recogniser
from tests.patterns.test_recogniser import EXPRESSIONS, MESSAGES, MS, SECOND, packet, published

WAIT = 2 * SECOND
LAST = "[a = 1] then ([b = 1] then [b = 2] within 5s) within 9s wait 1s"


class Drawn:
    """Every part is provided by one of three, drawn."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._drawn = {}

    def providers(self, part):
        return self._drawn.setdefault(part, frozenset({self._rng.randint(1, 3)}))


def split(pattern: Pattern, rng: random.Random) -> Factored:
    return factor(pattern, Drawn(rng), clients=(3,))


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, st.sampled_from(list(Pairing)), MESSAGES, st.randoms(use_true_random=False))
def test_fed_by_delegates_out_of_order_it_finds_what_the_reference_finds(expression, pairing, messages, rng):
    pattern = Pattern(expression, pairing, wait_ns=WAIT)
    factored = split(pattern, rng)
    whole, delegates = Recogniser(), {}
    whole.add(1, factored.pattern, factored.places)
    for place, each in enumerate(factored.factors):
        if each.delegated:
            delegates[place] = Recogniser()
            delegates[place].add(1, factored.delegated(each))
    arrivals = sorted((o.time_ns + rng.randrange(WAIT // 2), o, m) for o, m in messages) if messages else []
    found = run(whole, delegates, arrivals, rng)
    assert found == matches_of(pattern, messages)
    assert whole.counts == {}


def run(whole, delegates, arrivals, rng):
    """Everything in time; what a delegate finds takes up to half of the wait to arrive."""
    events = [
        (at, n, "message", (occurrence, content)) for n, (at, occurrence, content) in enumerate(arrivals)
    ]
    told = []
    end_ns = 30 * SECOND
    now_ns = 0
    while now_ns <= end_ns:
        for event in sorted(e for e in events if e[0] <= now_ns):
            events.remove(event)
            _, _, what, content = event
            if what == "message":
                for recogniser in (whole, *delegates.values()):
                    recogniser.receive(now_ns, [packet(*content)])
            else:
                whole.feed(now_ns, 1, (content[0],), content[1])
        for place, recogniser in delegates.items():
            recogniser.handle_timer(now_ns)
            for _, components in recogniser.take():
                events.append(
                    (now_ns + rng.randrange(WAIT // 4), len(events) + now_ns, "match", (place, components))
                )
        whole.handle_timer(now_ns)
        told += [components for _, components in whole.take()]
        now_ns += 100 * MS
    return told


def fed() -> tuple[Recogniser, Pattern]:
    """A recogniser of which the second place is a delegate's to fill."""
    pattern = parse_pattern(LAST)
    first, second = pattern.expression.operands
    recogniser = Recogniser()
    recogniser.add(1, pattern, (first, second))
    return recogniser, pattern


A, B1, B2 = (each[0] for each in published("1 a = 1", "2 b = 1", "3 b = 2"))


def test_a_match_waits_for_the_messages_before_its_latest_component():
    recogniser, _ = fed()
    recogniser.feed(3 * SECOND, 1, (1,), (B1, B2))
    recogniser.receive(3 * SECOND, [packet(A, {"a": 1})])
    assert recogniser.next_deadline() == 2 * SECOND
    recogniser.handle_timer(4 * SECOND - 1)
    assert recogniser.take() == []
    recogniser.handle_timer(4 * SECOND)
    assert recogniser.take() == [(1, (A, B1, B2))]


@pytest.mark.parametrize(("now_ns", "why"), [(5 * SECOND, "late"), (3 * SECOND - AHEAD_NS - 1, "ahead")])
def test_a_match_that_is_late_or_from_the_future_is_not_used_and_counted(now_ns, why):
    recogniser, _ = fed()
    if why == "late":
        recogniser.receive(4 * SECOND, [packet(Occurrence(4 * SECOND, 7, 9), {"a": 1})])
        recogniser.handle_timer(5 * SECOND)
    recogniser.feed(now_ns, 1, (1,), (B1, B2))
    recogniser.handle_timer(9 * SECOND)
    assert recogniser.counts == {why: 1}
    assert recogniser.take() == []


def test_a_match_that_is_told_twice_counts_once():
    recogniser, _ = fed()
    recogniser.receive(3 * SECOND, [packet(A, {"a": 1})])
    for _ in range(2):
        recogniser.feed(3 * SECOND, 1, (1,), (B1, B2))
    recogniser.handle_timer(4 * SECOND)
    assert recogniser.take() == [(1, (A, B1, B2))]
    recogniser.feed(4 * SECOND, 1, (1,), (B1, B2))
    assert recogniser.counts == {"duplicate": 1}


def test_messages_of_one_source_can_be_left_out_for_one_pattern_alone():
    recogniser = Recogniser()
    pattern = parse_pattern("[a = 1] then [a = 2] within 5s wait 0s")
    recogniser.add(1, pattern, not_from=7)
    recogniser.add(2, pattern)
    sent = published("1 a = 1", "2 a = 2")
    for occurrence, content in sent:
        recogniser.receive(occurrence.time_ns, [packet(occurrence, content)])
    assert recogniser.take() == [(2, (sent[0][0], sent[1][0]))]


def test_a_pattern_that_is_taken_apart_anew_goes_on_with_what_was_kept_for_the_same_places():
    recogniser, _ = fed()
    flat = parse_pattern(LAST)
    recogniser.receive(SECOND, [packet(A, {"a": 1})])
    recogniser.handle_timer(2 * SECOND)
    recogniser.add(1, flat)
    for now_ns, occurrence, content in ((2, B1, {"b": 1}), (3, B2, {"b": 2})):
        recogniser.receive(now_ns * SECOND, [packet(occurrence, content)])
    recogniser.handle_timer(4 * SECOND)
    assert recogniser.take() == [(1, (A, B1, B2))]
    assert recogniser.counts == {}


def test_what_was_kept_for_places_that_are_no_more_is_counted_as_lost():
    recogniser = Recogniser()
    pattern = parse_pattern("([b = 1] then [b = 2]) then [a = 1] within 9s wait 1s")
    recogniser.add(1, pattern)
    recogniser.receive(2 * SECOND, [packet(B1, {"b": 1})])
    recogniser.handle_timer(3 * SECOND)
    nested = parse_pattern("([b = 1] then [b = 2] within 8s) then [a = 1] within 9s wait 1s")
    recogniser.add(1, nested, nested.expression.operands)
    assert recogniser.counts == {"lost": 1}
    assert recogniser.held == 0


def test_room_for_matches_that_wait_has_a_bound(monkeypatch):
    monkeypatch.setattr("nodes.patterns.recogniser.HELD_MAX", 10)
    recogniser, _ = fed()
    for number in range(30):
        recogniser.feed(2 * SECOND, 1, (1,), (B1, Occurrence(2 * SECOND + 1 + number, 8, number)))
    assert recogniser.counts["early"] == 20
    assert recogniser.held == 20, "each is a match and a time to look at it"


def test_room_for_matches_with_one_latest_message_has_a_bound(monkeypatch):
    monkeypatch.setattr("nodes.patterns.recogniser.HELD_MAX", 10)
    recogniser, _ = fed()
    for number in range(30):
        recogniser.feed(2 * SECOND, 1, (1,), (B1, Occurrence(SECOND + number, 8, number)))
    assert recogniser.counts == {"early": 1, "duplicate": 19}
    assert recogniser.held == 0


def test_the_canonical_text_of_drawn_patterns_says_the_same():
    """What routers tell each other is text."""
    rng = random.Random(3)
    for _ in range(50):
        pairing = rng.choice(list(Pairing))
        window = f"within {rng.randint(1, 90)}s pairing {pairing.value}"
        pattern = parse_pattern(f"[a = 1] then ([b = 2] and another [c < 3.5]) {window}")
        assert parse_pattern(format_pattern(pattern)) == pattern

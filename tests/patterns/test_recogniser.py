"""Recognisers find what the reference finds, in whatever order messages arrive, within their bounds."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.model import (
    Composed,
    Joint,
    Occurrence,
    Pairing,
    Part,
    Pattern,
    every_match,
    matches,
    matches_of,
    parse_message,
    parse_pattern,
    parse_predicate,
)
from nodes.model.patterns import is_bounded
from nodes.patterns import monitor as monitors
from nodes.patterns import recogniser as recognisers
from nodes.patterns.monitor import Monitor
from nodes.patterns.recogniser import AHEAD_NS, Found, Recogniser
from nodes.wire.codec import encode
from nodes.wire.packets import Message

SECOND = 10**9
MS = 10**6


def packet(occurrence, attributes):
    time_ns, source, sequence = occurrence
    return occurrence, encode(Message(source, sequence, time_ns, attributes))


def published(*texts):
    """Messages of one source, from texts as `2 a = 1`: the second, then the message."""
    split = [text.split(" ", 1) for text in texts]
    return [
        (Occurrence(int(float(second) * SECOND), 7, number), parse_message(message))
        for number, (second, message) in enumerate(split, 1)
    ]


def recognised(pattern, arrivals, end_ns=1 << 62):
    """The matches of messages that arrive at some times: (time of arrival, occurrence, attributes)."""
    recogniser = Recogniser()
    recogniser.add(1, pattern)
    found = []
    for now_ns, occurrence, attributes in arrivals:
        recogniser.handle_timer(now_ns)
        recogniser.receive(now_ns, [packet(occurrence, attributes)])
        found += recogniser.take()
    while (deadline_ns := recogniser.next_deadline()) is not None and deadline_ns <= end_ns:
        recogniser.handle_timer(deadline_ns)
        found += recogniser.take()
    return [match for _, match in found], recogniser


PARTS = st.sampled_from(["a = 1", "b = 1", "a = 1 or b = 1", "c any integer"]).map(
    lambda text: Part(parse_predicate(text))
)
EXPRESSIONS = st.recursive(
    PARTS,
    lambda inner: st.builds(
        Composed,
        st.sampled_from(list(Joint)),
        st.lists(inner, min_size=2, max_size=3).map(tuple),
        st.none() | st.integers(1, 6 * SECOND),
    ),
    max_leaves=5,
).map(lambda each: each if is_bounded(each) else Composed(each.joint, each.operands, 5 * SECOND))
MESSAGES = st.lists(
    st.tuples(
        st.builds(
            Occurrence, st.integers(0, 9).map(lambda s: s * SECOND), st.integers(1, 3), st.integers(1, 9)
        ),
        st.dictionaries(st.sampled_from("abc"), st.integers(1, 2)),
    ),
    max_size=12,
    unique_by=lambda each: (each[0].source, each[0].sequence),
)


@settings(max_examples=500)
@given(EXPRESSIONS, st.sampled_from(list(Pairing)), MESSAGES)
def test_in_order_it_finds_what_the_reference_finds(expression, pairing, messages):
    pattern = Pattern(expression, pairing, wait_ns=0)
    arrivals = [
        (occurrence.time_ns, occurrence, message) for occurrence, message in sorted(messages, key=first)
    ]
    found, recogniser = recognised(pattern, arrivals)
    assert found == matches_of(pattern, messages)
    assert recogniser.counts == {}


@settings(max_examples=300)
@given(EXPRESSIONS, st.sampled_from(list(Pairing)), MESSAGES, st.data())
def test_what_comes_out_of_order_within_the_wait_and_twice_changes_nothing(
    expression, pairing, messages, data
):
    pattern = Pattern(expression, pairing, wait_ns=2 * SECOND)
    delays = st.integers(0, 2 * SECOND - 1)
    copies = messages + [each for each in messages if data.draw(st.booleans())]
    arrivals = sorted(((o.time_ns + data.draw(delays), o, m) for o, m in copies), key=first)
    found, recogniser = recognised(pattern, arrivals)
    assert found == matches_of(pattern, messages)
    assert set(recogniser.counts) <= {"duplicate", "late"}
    assert recogniser.counts.total() == len(concerning(pattern, copies)) - len(concerning(pattern, messages))


@settings(max_examples=300)
@given(EXPRESSIONS, MESSAGES, st.randoms(use_true_random=False))
def test_in_any_order_it_finds_what_the_reference_finds_of_those_that_are_not_late(expression, messages, rng):
    pattern = Pattern(expression, wait_ns=0)
    messages = list(messages)
    rng.shuffle(messages)
    in_time = [each for n, each in enumerate(messages) if not late(pattern, each, messages[:n])]
    found, recogniser = recognised(pattern, [(9 * SECOND, *each) for each in messages])
    assert found == matches_of(pattern, in_time)
    assert recogniser.counts["late"] == len(concerning(pattern, messages)) - len(concerning(pattern, in_time))


@settings(max_examples=300)
@given(EXPRESSIONS, MESSAGES, st.integers(1, 2))
def test_with_little_room_it_finds_part_of_all_and_says_so(expression, messages, keep):
    pattern = Pattern(expression, wait_ns=0, keep=keep)
    found, recogniser = recognised(pattern, [(o.time_ns, o, m) for o, m in sorted(messages, key=first)])
    everything = every_match(expression, messages)
    assert set(found) <= set(everything)
    assert recogniser.held <= keep * len(pattern.parts)
    assert len(found) == len(everything) or recogniser.counts["forgotten"]


def first(each):
    return each[0]


def concerning(pattern, messages):
    return [each for each in messages if matches(pattern.union, each[1])]


def late(pattern, message, before):
    """Of what concerns the pattern: whether one that was published later came before."""
    return matches(pattern.union, message[1]) and any(
        message[0] < each[0] for each in concerning(pattern, before)
    )


def test_monitors_feed_monitors():
    pattern = parse_pattern("([a = 1] then [b = 1]) and ([c = 1] or [a = 1]) within 9s")
    inner, other = pattern.expression.operands
    below = [Monitor(Pattern(Composed(each.joint, each.operands, 9 * SECOND))) for each in (inner, other)]
    above = Monitor(pattern, (inner, other))
    rng = random.Random(5)
    published = [
        (Occurrence(n * SECOND, 1, n), {rng.choice("abc"): 1, rng.choice("abc"): 1}) for n in range(1, 60)
    ]
    found = []
    for occurrence, message in published:
        fed = {}
        for place, each in enumerate((inner, other)):
            fills = [n for n, part in enumerate(each.operands) if matches(part.predicate, message)]
            for match in below[place].take(fills, (occurrence,)):
                fed.setdefault(match, []).append(place)
        for match, places in fed.items():
            found += above.take(places, match)
    assert sorted(found) == sorted(matches_of(pattern, published))


@pytest.mark.parametrize("keep", [3, 1000])
@pytest.mark.parametrize("pairing", [Pairing.FIRST, Pairing.ONCE])
def test_a_monitor_that_is_fed_whole_matches_chooses_among_them(pairing, keep):
    pattern = parse_pattern(f"[a = 1] and [a = 1] within 9s pairing {pairing.value} keep {keep}")
    below, above = Monitor(Pattern(pattern.expression)), Monitor(pattern, (pattern.expression,))
    rows = [(Occurrence(n * SECOND, 1, n), {"a": 1}) for n in range(1, 40)]
    found = []
    for occurrence, _ in rows:
        found += above.take_all([([0], match) for match in below.take([0, 1], (occurrence,))])
    told = matches_of(pattern, rows)
    assert (found == told) or (keep == 3 and above.forgotten > 0 and set(found) <= set(told))


A_THEN_B = parse_pattern("[a = 1] then [b = 1] within 5s")


def test_a_match_is_told_when_its_last_message_can_no_longer_be_preceded():
    a, b = published("1 a = 1", "2 b = 1")
    recogniser = Recogniser()
    recogniser.add(4, A_THEN_B)
    recogniser.receive(2 * SECOND, [packet(*b), packet(*a)])
    recogniser.handle_timer(2 * SECOND + 100 * MS - 1)
    assert recogniser.take() == []
    assert recogniser.next_deadline() == 2 * SECOND + 100 * MS
    recogniser.handle_timer(2 * SECOND + 100 * MS)
    assert recogniser.take() == [Found(4, (a[0], b[0]))]
    assert recogniser.next_deadline() is None


def test_a_message_from_the_future_makes_no_other_late():
    a, b, forged = published("1 a = 1", "2 b = 1", "9 b = 1")
    arrivals = [(SECOND, *a), (SECOND, *forged), (2 * SECOND, *b)]
    found, recogniser = recognised(A_THEN_B, arrivals)
    assert found == [(a[0], b[0])]
    assert recogniser.counts == {"ahead": 1}
    near = Occurrence(SECOND + AHEAD_NS, 7, 3)
    found, recogniser = recognised(A_THEN_B, [(SECOND, *a), (SECOND, near, forged[1])])
    assert found == [(a[0], near)]


def test_a_pattern_that_is_withdrawn_is_forgotten_and_its_counts_stay():
    recogniser = Recogniser()
    recogniser.add(1, parse_pattern("[a = 1] then [b = 1] within 5s keep 1 wait 0s"))
    messages = published("1 a = 1", "2 a = 1", "3 b = 1")
    for occurrence, message in messages[:2]:
        recogniser.receive(occurrence.time_ns, [packet(occurrence, message)])
    recogniser.remove(1)
    recogniser.remove(1)
    recogniser.receive(3 * SECOND, [packet(*messages[2])])
    assert (recogniser.take(), recogniser.held, len(recogniser)) == ([], 0, 0)
    assert recogniser.counts == {"forgotten": 1}


def test_a_pattern_is_withdrawn_while_its_messages_wait():
    recogniser = Recogniser()
    recogniser.add(1, A_THEN_B)
    recogniser.add(2, A_THEN_B)
    a, b = published("1 a = 1", "2 b = 1")
    recogniser.receive(2 * SECOND, [packet(*a), packet(*b)])
    recogniser.remove(1)
    recogniser.handle_timer(9 * SECOND)
    assert recogniser.take() == [Found(2, (a[0], b[0]))]


def test_what_there_is_no_room_for_is_taken_early(monkeypatch):
    monkeypatch.setattr(recognisers, "HELD_MAX", 2)
    messages = published("1 a = 1", "2 b = 1", "3 b = 1")
    recogniser = Recogniser()
    recogniser.add(1, A_THEN_B)
    recogniser.receive(3 * SECOND, [packet(*each) for each in messages])
    assert recogniser.held <= 3
    assert recogniser.counts == {"early": 1}


def test_combinations_without_end_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(monitors, "COMBINATIONS_MAX", 1000)
    parts = " and ".join(["[a = 1]"] * 8)
    pattern = parse_pattern(f"{parts} within 5s wait 0s")
    messages = published(*(f"{1 + n / 10} a = 1" for n in range(20)))
    found, recogniser = recognised(pattern, [(o.time_ns, o, m) for o, m in messages])
    assert len(found) <= 1000 * len(messages)
    assert recogniser.counts["curtailed"] > 10


def test_ten_thousand_patterns_of_one_client_stand_beside_each_other():
    recogniser = Recogniser()
    for number in range(10_000):
        text = f"[topic = {number} and step = 0] then [topic = {number} and step = 1] within 5s wait 0s"
        recogniser.add(number, parse_pattern(text))
    rows = [(n, {"topic": n // 2, "step": n % 2}) for n in range(2000)]
    recogniser.receive(SECOND, [packet(Occurrence(n, 1, n + 1), message) for n, message in rows])
    assert [found.number for found in recogniser.take()] == list(range(1000))
    for number in range(10_000):
        recogniser.remove(number)
    assert (len(recogniser), recogniser.held, recogniser.next_deadline()) == (0, 0, None)


@pytest.mark.parametrize("pairing", list(Pairing))
def test_memory_stays_within_its_bound(pairing):
    pattern = parse_pattern(f"[a = 1] then [b = 1] within 24h pairing {pairing.value} keep 50 wait 0s")
    recogniser = Recogniser()
    recogniser.add(1, pattern)
    rng = random.Random(3)
    for n in range(2000):
        text = "a = 1" if rng.random() < 0.9 else "b = 1"
        recogniser.receive(n, [packet(Occurrence(n, 1, n + 1), parse_message(text))])
        assert recogniser.held <= 50
    assert recogniser.counts["forgotten"] > 100

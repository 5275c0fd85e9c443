"""How many messages a second of processor time a recogniser takes, with 1,000 patterns standing.

    make bench     (or: .venv/bin/python -m pytest -s tests/benchmarks/bench_patterns.py)

Prints figures and judges no time. Each message fills one place of as many patterns as a line says, and
windows hold three messages of a pattern.
"""

import time

import pytest

from nodes.model import Occurrence, parse_pattern
from nodes.patterns.recogniser import Recogniser
from nodes.wire.codec import encode
from nodes.wire.packets import Message

PATTERNS = 1_000
MESSAGES = 50_000
BATCH = 64
EVERY_NS = 10_000
"""Between two messages by their publish times: 100,000 a second."""
REPEATS = 3


def standing(text, sharing):
    recogniser = Recogniser()
    for number in range(PATTERNS):
        topic = number // sharing
        window_ns = 3 * EVERY_NS * PATTERNS // sharing
        filled = text.replace("TOPIC", str(topic)).replace("WINDOW", f"{window_ns}ns")
        recogniser.add(number, parse_pattern(filled))
    return recogniser


def stream(topics):
    for n in range(MESSAGES):
        time_ns = n * EVERY_NS
        attributes = {"topic": n * 7 % topics, "step": n // topics % 3, "level": n % 100}
        yield Occurrence(time_ns, 1, n + 1), encode(Message(1, n + 1, time_ns, attributes))


@pytest.mark.parametrize("sharing", [1, 10])
@pytest.mark.parametrize(
    "text",
    [
        "[topic = TOPIC and step = 0] then [topic = TOPIC and step = 1] within WINDOW",
        "[topic = TOPIC and step = 0] then [topic = TOPIC and step = 1] within WINDOW pairing once keep 10",
        "[topic = TOPIC and step = 0] then [topic = TOPIC and step = 1] then [topic = TOPIC and step = 2]"
        " within WINDOW pairing first keep 10",
        "[topic = TOPIC and step = 0] and another [topic = TOPIC and step = 1] within WINDOW keep 10",
    ],
)
def test_messages_a_second_with_a_thousand_patterns(text, sharing):
    messages = list(stream(PATTERNS // sharing))
    batches = [messages[at : at + BATCH] for at in range(0, len(messages), BATCH)]
    seconds = []
    for _ in range(REPEATS):
        recogniser, found = standing(text, sharing), 0
        begin = time.process_time()
        for batch in batches:
            now_ns = batch[-1][0].time_ns
            recogniser.receive(now_ns, batch)
            recogniser.handle_timer(now_ns)
            found += len(recogniser.take())
        recogniser.handle_timer(1 << 60)
        found += len(recogniser.take())
        seconds.append(time.process_time() - begin)
    assert found > 0
    assert set(recogniser.counts) <= {"forgotten"}
    print(
        f"\n{MESSAGES / min(seconds):9,.0f} messages/s of processor time, each for {sharing:3} patterns; "
        f"{found:9,} matches, "
        f"{recogniser.held:6,} kept, {recogniser.counts.total():7,} forgotten: {text}"
    )

"""A slice of `make fuzz-wire`, new at every run; a failure prints the seed that replays it."""

import time
from collections import deque

import pytest

from tests.wire.fuzzing import Figures, FindingError, check_agreement, check_mutations

REPLAY = ".venv/bin/python tests/wire/fuzz_wire.py --seed {seed}"


@pytest.fixture
def fuzz_seed() -> str:
    return str(time.time_ns())


def exhaust(steps, seed):
    try:
        deque(steps, maxlen=0)
    except FindingError as finding:
        pytest.fail(f"{finding}\n  again with: {REPLAY.format(seed=seed)}")


def test_scapy_layers_and_compiled_codec_agree_on_generated_packets(fuzz_seed):
    figures = Figures()
    exhaust(check_agreement(fuzz_seed, 2_000, figures), fuzz_seed)
    assert figures.packets.total() == 2_000
    assert set(figures.packets) == {"Message", "Control", "Hello", "Ack", "Pad", "DatagramSeal"}


def test_mutated_packets_give_a_value_of_the_same_bytes_or_wire_error(fuzz_seed):
    figures = Figures()
    exhaust(check_mutations(fuzz_seed, 20_000, figures), fuzz_seed)
    assert figures.accepted.total() + figures.rejected.total() == 20_000
    # Damage that is always seen would test nothing behind the first check.
    assert figures.accepted.total() > 500
    assert figures.judged_by_scapy == 200

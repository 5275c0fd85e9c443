"""Every attack of `make test-attacks` in memory: nobody ends, nothing is lost, and all is well again soon."""

from __future__ import annotations

import pytest

from nodes.config import LimitConfig, TimerConfig
from tests.attacks.attacker import ATTACKS
from tests.attacks.campaign import play

CLIMB = "climb to the last number"
HELD_MS = TimerConfig().renumber_ms + 1_000
"""A router that has announced no interest wins back its name when the last class has been held."""
LAST_CLASS_MS = 3 * TimerConfig().renumber_ms + 1_000


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != CLIMB])
def test_an_attack_costs_no_delivery_and_ends_nobody(name: str) -> None:
    figures = play(name, ATTACKS[name])
    assert figures.owed > 0
    assert (figures.lost, figures.doubled, figures.exits) == (0, 0, 0)
    assert figures.settled_ms is not None
    assert figures.settled_ms < (HELD_MS if name == "black hole" else 1_000)
    assert figures.held_bytes < LimitConfig().unlisted_bytes
    assert figures.log_lines < 10


def test_the_last_number_with_the_greater_bytes_is_over_when_the_class_is_left() -> None:
    figures = play(CLIMB, ATTACKS[CLIMB])
    assert figures.exits == 0
    assert figures.settled_ms is not None
    assert figures.settled_ms < LAST_CLASS_MS

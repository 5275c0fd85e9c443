"""A slice of `make fuzz-control`: a router fed extreme numbers stays alive and honest, and comes back."""

from __future__ import annotations

import pytest

from tests.attacks.fuzz_control import EPISODE, episode

FOUND = [
    "1/3",
    "1/9",
    "1/11",
    "1/12",
    "1/19",
    "1/33",
    "1/44",
    "1/69",
    "fuzz-A/110",
    "fuzz-B/150",
    "fuzz-E/88",
]
"""Episodes in which routers once disagreed for good, or one stayed withdrawn."""


def test_random_control_payloads_with_extreme_numbers_leave_no_harm(seed: int) -> None:
    for number in range(4):
        episode(f"{seed}/{number}", EPISODE)


@pytest.mark.parametrize("seed", FOUND)
def test_what_once_did_harm_does_none(seed: str) -> None:
    episode(seed, EPISODE)

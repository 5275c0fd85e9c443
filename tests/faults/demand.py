"""Demand that changes quickly, for schemes that adapt to it: now publishers are busy, now subscribers.

Not here: what clients hold for longer (`drawing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.faults.schedules import Subscription

LASTS_MS = (20, 300)
EACH = (8, 20)
"""So many descriptors a busy client has in a step."""


def changing(
    rng: Random, clients: Sequence[str], steps: int, step_ms: int, *, advertised: bool
) -> tuple[list[Subscription], list[Subscription]]:
    """(Subscriptions, advertisements) that come and go during the first half of each step."""
    found: tuple[list[Subscription], list[Subscription]] = [], []
    for step in range(steps + 1):
        which = rng.randrange(2) if advertised else 0
        for client in rng.sample(clients, rng.randint(1, 3)):
            found[which].extend(
                _hurried(rng, client, step * step_ms, step_ms // 2, "k any string and " * which)
            )
    return found


def _hurried(rng: Random, client: str, from_ms: int, for_ms: int, besides: str) -> list[Subscription]:
    began = sorted(from_ms + 1 + rng.randrange(for_ms) for _ in range(rng.randint(*EACH)))
    return [
        Subscription(client, besides + _range(rng), at_ms, at_ms + rng.randint(*LASTS_MS)) for at_ms in began
    ]


def _range(rng: Random) -> str:
    low = rng.randrange(10)
    return f"x >= {low} and x <= {low + rng.randrange(5)}"

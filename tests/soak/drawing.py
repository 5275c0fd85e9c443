"""Draws the scenario of a soak: rounds in which everything breaks, each with a calm in which all is owed.

A round is 45 hold times long or more, and all its times are multiples of the hold time, which is what a
network needs to notice that something is gone. Until `CALM` things break, are repaired and change; then all
has come to rest, messages are published that are owed, and at `LOOK` somebody may look at the network.

Not here: running it (`simulated`, `emulated`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.faults.drawing import TEXTS

CALM, OWED, LOOK = 36, 38, 42
"""In hold times from the begin of a round."""
CHANGES_UNTIL = 33
"""By then clients have made up their minds."""
HELLOS_A_HOLD = 4
LONGEST_WISH = 2.0
"""Rounds."""
FEWEST_CLIENTS = 8
EACH = 6
"""Messages of a client, in each calm."""
CHANGING = 0.2
"""Of the clients, in each round."""


@dataclass(frozen=True)
class Soak:
    """What a soak is to be."""

    seed: int
    routers: int
    rounds: int
    hold_ms: int
    round_holds: int = 45
    scheme: str = "pif"
    captures: bool = False

    @property
    def clients(self) -> int:
        """Fewer than routers, or most of the time would go into their HELLOs."""
        return max(FEWEST_CLIENTS, self.routers * 2 // 5)

    @property
    def round_ms(self) -> int:
        """How long a round is."""
        return self.round_holds * self.hold_ms

    @property
    def lasts_ms(self) -> int:
        """How long all of it is."""
        return self.rounds * self.round_ms

    def ms(self, number: int, holds: float) -> str:
        """A time in a round, as scenarios have it."""
        return f"{number * self.round_ms + round(holds * self.hold_ms)}ms"

    @property
    def looks_ms(self) -> list[int]:
        """When all is at rest: once in each round."""
        return [number * self.round_ms + LOOK * self.hold_ms for number in range(self.rounds)]


def rounds_within(seconds: float, hold_ms: int, round_holds: int) -> int:
    """As many rounds as fit; one at least."""
    return max(1, int(seconds * 1000) // (round_holds * hold_ms))


def scenario(soak: Soak) -> dict[str, Any]:
    """The scenario of a soak, as a file would have it."""
    return {
        "name": f"soak-{soak.routers}-{soak.seed}",
        "seed": soak.seed,
        "scheme": soak.scheme,
        "topology": {
            "generate": "barabasi-albert",
            "size": soak.routers,
            "seed": soak.seed,
            "link_defaults": {"delay": "2ms"},
        },
        "clients": {f"c{n}": _client(soak, n) for n in range(1, soak.clients + 1)},
        "groups": {"frail": "40% of routers", "island": "20% of routers"},
        "faults": [fault for number in range(soak.rounds) for fault in _broken(soak, number)],
        "security": {"neighbours": "required", "messages": "required", "records": "signed"},
        "timers": {"hello_ms": soak.hold_ms // HELLOS_A_HOLD, "hold_ms": soak.hold_ms},
        "timing": {"settle": f"{soak.hold_ms}ms", "ready_timeout": "600s", "drain_timeout": "60s"},
        "record": {"captures": soak.captures},
    }


def _broken(soak: Soak, number: int) -> Iterator[dict[str, Any]]:
    """The faults of a round, in order of time; all of them are repaired by its calm."""

    def hold(times: float) -> str:
        return soak.ms(0, times)

    rows = [
        (1.0, f"crash 5% of frail for {hold(4)}"),
        (2.0, f"link_down 3% of links for {hold(3)}"),
        (8.0, f"flap one of links 3 times every {hold(1)}"),
        (13.0, f"partition island for {hold(4)}"),
        (20.0, f"churn 10% 2 times every {hold(4)}"),
        (29.0, f"pause one of frail for {hold(0.5)}"),
        (31.0, "rekey 10% of links"),
        (31.5, "rekey 10% of access"),
    ]
    for at, what in rows:
        yield {f"at {soak.ms(number, at)}": what}


def _client(soak: Soak, number: int) -> dict[str, Any]:
    rng = Random(f"{soak.seed}/soak/c{number}")
    return {
        "at": f"r{rng.randint(1, soak.routers)}",
        "subscribe": [{"predicate": _wish(rng)}, *_changing(soak, rng)],
        "publish": [each for n in range(soak.rounds) for each in _published(soak, rng, n)],
    }


def _changing(soak: Soak, rng: Random) -> Iterator[dict[str, Any]]:
    """Subscriptions that come and go, within one round or from one to a later one."""
    for number in range(soak.rounds):
        if rng.random() < CHANGING:
            begins, lasts = rng.uniform(0.5, CHANGES_UNTIL), rng.uniform(0.5, LONGEST_WISH * soak.round_holds)
            rounds, ends = divmod(begins + lasts, soak.round_holds)
            ends = min(ends, CHANGES_UNTIL)
            until = soak.ms(number + int(rounds), max(ends, begins + 0.5) if not rounds else ends)
            yield {"predicate": _wish(rng), "at": soak.ms(number, begins), "until": until}


def _wish(rng: Random) -> str:
    """One message in ten is for it."""
    low = rng.randrange(7)
    return f'k = "{rng.choice(TEXTS)}" and x >= {low} and x <= {low + 3}'


def _published(soak: Soak, rng: Random, number: int) -> Iterator[dict[str, Any]]:
    """A message while things break, and those that are owed."""
    for at in (rng.uniform(0, CALM), *(rng.uniform(OWED, LOOK) for _ in range(EACH))):
        message = f'k = "{rng.choice(TEXTS)}", x = {rng.randrange(10)}'
        yield {"at": soak.ms(number, at), "message": message}

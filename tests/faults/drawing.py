"""Draws fault schedules: a pure function of family, variant and seed.

A schedule is a row of steps. In each, something breaks or is repaired, a few
messages are published while the network looks for its state, and many once it
should have found it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.faults.demand import changing
from tests.faults.families import FAMILIES
from tests.faults.schedules import SETTLE_MS, TIMERS, Break, Publication, Schedule, Subscription
from tests.faults.variants import VARIANTS, seeks
from tests.routing.central import BY_SOURCE
from topologies.fault_kinds import KINDS

STEP_MS = 1_300
BURST_AT_MS = STEP_MS - SETTLE_MS - 50
BURST_EACH = 30
"""How often each of the messages of a burst is published."""
WAIT_MS = 600
"""How long messages are waited for where patterns are recognised; longer than any is on its way, twice."""
SECOND_BURST_MS = 150
"""After the first, where patterns are sought: what came first may match what comes second."""
SEEKING_STEP_MS = STEP_MS + SECOND_BURST_MS + WAIT_MS + SETTLE_MS
SEEKING_EACH = 1
EARLY_MS = BURST_AT_MS - SETTLE_MS - 10
"""So long after the begin of a step what clients hold may change without concerning what is published."""
WANTED = ['k = "a"', "x < 4", 'k = "b" and x >= 5', 'x != 7 and k * "c"', "all", "x > 2 and x < 8", "x = 3"]
SOUGHT = [
    "[x = 1] then [x = 2] within 400ms",
    '[k = "a" and x < 3] then [k >* "b" and x > 6] within 2s',
    '[x = 3] and another [k = "a" and x > 5] within 200ms pairing first',
    "([x = 4] and [x < 5]) then [x = 8] within 300ms",
    '([x = 5] or [k = "cab"]) then [x = 6] within 300ms pairing once',
    "[x = 7] then [x = 8] then [x = 9] within 300ms",
    '([k = "a" and x = 1] then [k = "b"] within 200ms) and [x = 0] within 400ms',
]
TEXTS = ["a", "b", "bc", "cab"]
OFFERED = [
    "k any string and x any integer",
    "k any string and x < 5",
    'k = "a" and k = "b" and x any integer',
    "k any string and x = 3 and x = 7",
    'k >* "b" and x > 2',
]


def draw(family: str, variant: str, seed: int) -> Schedule:
    """The schedule of a seed."""
    rng = Random(f"{family}/{variant}/{seed}")
    size = rng.randint(4, 11)
    routers = tuple(f"r{i}" for i in range(1, size + 1))
    links = tuple((routers[a], routers[b], _link(rng)) for a, b in FAMILIES[family](rng, size))
    clients = tuple((f"c{i}", rng.choice(routers)) for i in range(1, rng.randint(5, 10) + 1))
    steps = rng.randint(3, 5)
    step_ms = SEEKING_STEP_MS if seeks(variant) else STEP_MS
    names = [name for name, _ in clients]
    drawn = Schedule(
        name=f"{variant.replace('/', '-')}-{family}-{seed}",
        seed=seed,
        variant=variant,
        routers=routers,
        links=links,
        clients=clients,
        subscriptions=tuple(s for name in names for s in _subscriptions(rng, name, steps * step_ms)),
        publications=tuple(_publications(rng, names, steps, seeking=seeks(variant))),
        faults=_Faults(rng, routers, [(a, b) for a, b, _ in links], clients).drawn(steps, step_ms),
        advertisements=tuple(a for name in names for a in _advertisements(rng, name, steps * step_ms))
        if VARIANTS[variant][1].get("advertisements")
        else (),
        patterns=tuple(p for name in names for p in _patterns(rng, name, steps * step_ms))
        if seeks(variant)
        else (),
    )
    if VARIANTS[variant][0] in BY_SOURCE:
        drawn = _with_changing_demand(drawn, Random(f"{family}/{variant}/{seed}/demand"), steps)
    drawn = _with_new_keys(drawn, Random(f"{family}/{variant}/{seed}/keys"), steps * step_ms)
    drawn = replace(drawn, signed=Random(f"{family}/{variant}/{seed}/signatures").random() < 0.3)
    if not seeks(variant):
        return drawn
    gathered = (
        tuple(_mostly_before_bursts(rng, each) for each in some)
        for some in (drawn.subscriptions, drawn.advertisements, drawn.patterns)
    )
    subscriptions, advertisements, patterns = gathered
    return replace(
        drawn,
        # A queue may overflow, and where links may lose packets no match is owed.
        links=tuple((a, b, tuple(each for each in more if each[0] != "rate")) for a, b, more in links),
        subscriptions=subscriptions,
        advertisements=advertisements,
        patterns=patterns,
    )


def _with_changing_demand(drawn: Schedule, rng: Random, steps: int) -> Schedule:
    advertised = bool(VARIANTS[drawn.variant][1].get("advertisements"))
    names = [name for name, _ in drawn.clients]
    subscriptions, advertisements = changing(rng, names, steps, STEP_MS, advertised=advertised)
    return replace(
        drawn,
        subscriptions=(*drawn.subscriptions, *subscriptions),
        advertisements=(*drawn.advertisements, *advertisements),
    )


def _with_new_keys(drawn: Schedule, rng: Random, ends_ms: int) -> Schedule:
    """In some, neighbours prove who they are, in half of these messages too; keys change at any time."""
    if rng.random() < 0.7:
        return drawn
    links = [
        *(f"{a} - {b}" for a, b, _ in drawn.links),
        *(f"{router} - {name}" for name, router in drawn.clients),
    ]
    times = [rng.randrange(ends_ms) for _ in range(rng.randint(1, 6))]
    chosen = [(at_ms, rng.sample(links, rng.randint(1, len(links)))) for at_ms in times]
    changes = tuple((Break(at_ms, "rekey", link),) for at_ms, some in chosen for link in some)
    proved = rng.random() < 0.5
    return replace(drawn, sealed=True, messages_sealed=proved, faults=(*drawn.faults, *changes))


def _link(rng: Random) -> tuple[tuple[str, Any], ...]:
    """Delays differ, also by direction, and may vary; nothing is lost, or it would be owed and missing."""
    delay_us = rng.randint(100, 4000)
    found: dict[str, Any] = {"cost": rng.randint(1, 3), "delay": f"{delay_us}us"}
    if rng.random() < 0.2:
        found["jitter"] = f"{delay_us // 2}us"
    if rng.random() < 0.2:
        found["reorder"] = 0.05
    if rng.random() < 0.2:
        found["rate"] = f"{rng.randint(20, 100)}mbit"
    if rng.random() < 0.2:
        found["back"] = {"delay": f"{delay_us + rng.randint(0, 3000)}us"}
    return tuple(found.items())


def _subscriptions(rng: Random, client: str, ends_ms: int) -> list[Subscription]:
    return _some(rng, client, WANTED, rng.choice([0, 1, 1, 2, 3]), ends_ms)


def _patterns(rng: Random, client: str, ends_ms: int) -> list[Subscription]:
    texts = [f"{text} wait {WAIT_MS}ms" for text in SOUGHT]
    return _some(rng, client, texts, rng.choice([0, 1, 1, 2, 3]), ends_ms)


def _some(rng: Random, client: str, texts: list[str], count: int, ends_ms: int) -> list[Subscription]:
    found = []
    for predicate in rng.sample(texts, count):
        at_ms = until_ms = None
        if rng.random() < 0.2:
            at_ms = rng.randrange(ends_ms)
        if rng.random() < 0.2:
            until_ms = (at_ms or 0) + rng.randrange(1, ends_ms)
        found.append(Subscription(client, predicate, at_ms, until_ms))
    return found


def _mostly_before_bursts(rng: Random, drawn: Subscription) -> Subscription:
    """While somebody changes what is advertised, no match is owed: let most do so together."""
    at_ms, until_ms = (
        ms
        if ms is None or rng.random() < 0.1
        else ms // SEEKING_STEP_MS * SEEKING_STEP_MS + ms % EARLY_MS + 1
        for ms in (drawn.at_ms, drawn.until_ms)
    )
    if at_ms is not None and until_ms is not None and until_ms <= at_ms:
        until_ms = at_ms + SEEKING_STEP_MS
    return replace(drawn, at_ms=at_ms, until_ms=until_ms)


def _advertisements(rng: Random, client: str, ends_ms: int) -> list[Subscription]:
    """Most clients advertise all they publish for most of the time; the rest is refused."""
    found = [Subscription(client, OFFERED[0])] if rng.random() < 0.4 else []
    return found + _some(rng, client, OFFERED, rng.choice([0, 1, 2, 3]), ends_ms)


def _publications(rng: Random, clients: list[str], steps: int, *, seeking: bool) -> list[Publication]:
    found = []
    step_ms, each = (SEEKING_STEP_MS, SEEKING_EACH) if seeking else (STEP_MS, BURST_EACH)
    for step in range(steps + 1):
        for client in clients:
            burst_ms = step * step_ms + BURST_AT_MS + rng.randrange(20)
            found += [Publication(client, burst_ms, message(rng), each) for _ in range(4)]
            if seeking:
                burst_ms += SECOND_BURST_MS + rng.randrange(20)
                found += [Publication(client, burst_ms, message(rng), each) for _ in range(4)]
            early_ms = step * step_ms + rng.randrange(BURST_AT_MS)
            found.append(Publication(client, early_ms, message(rng), 1))
    return found


def message(rng: Random) -> str:
    """One of forty."""
    return f'k = "{rng.choice(TEXTS)}", x = {rng.randrange(10)}'


@dataclass
class _Faults:
    """What is broken so far, and what breaks next; the first step has no faults."""

    rng: Random
    routers: tuple[str, ...]
    links: list[tuple[str, str]]
    clients: tuple[tuple[str, str], ...]
    units: list[list[Break]] = field(default_factory=list)
    broken: dict[str, list[Break]] = field(default_factory=dict)

    def drawn(self, steps: int, step_ms: int) -> tuple[tuple[Break, ...], ...]:
        for step in range(1, steps + 1):
            at_ms = step * step_ms + self.rng.randrange(100)
            for failed in [name for name in self.broken if self.rng.random() < 0.6]:
                self._repair(failed, at_ms)
            for _ in range(self.rng.choice([1, 1, 2, 3])):
                self.rng.choice(_DRAWN)(self, at_ms + self.rng.randrange(60))
        return tuple(tuple(unit) for unit in self.units)

    def _repair(self, name: str, at_ms: int) -> None:
        unit = self.broken.pop(name)
        unit += [Break(at_ms, KINDS[b.do].repaired_by, b.target) for b in list(unit)]

    def _hit(self, at_ms: int, do: str, targets: list[str], lasts_ms: int | None = None) -> None:
        """Break what works; for a time, or until a later step."""
        fresh = [t for t in targets if not any(b.target == t for unit in self.broken.values() for b in unit)]
        # What was repaired in this very step may be about to come up: leave it alone.
        fresh = [
            t for t in fresh if not any(b.target == t and b.at_ms >= at_ms for u in self.units for b in u)
        ]
        if fresh:
            unit = [Break(at_ms, do, target) for target in fresh]
            self.units.append(unit)
            self.broken[f"{at_ms} {do} {fresh[0]}"] = unit
            if lasts_ms is not None:
                self._repair(f"{at_ms} {do} {fresh[0]}", at_ms + lasts_ms)

    def link(self, at_ms: int) -> None:
        self._hit(at_ms, "link_down", [" - ".join(self.rng.choice(self.links))])

    def crash(self, at_ms: int) -> None:
        lasts_ms = self.rng.choice([None, None, self.rng.randint(1, 400)])
        self._hit(at_ms, "crash", [self.rng.choice(self.routers)], lasts_ms)

    def pause(self, at_ms: int) -> None:
        node = self.rng.choice([*self.routers, *(name for name, _ in self.clients)])
        lasts_ms = self.rng.choice([None, self.rng.randint(1, 2 * TIMERS["hold_ms"])])
        self._hit(at_ms, "pause", [node], lasts_ms)

    def partition(self, at_ms: int) -> None:
        apart = self.rng.sample(self.routers, self.rng.randint(1, len(self.routers) - 1))
        self._hit(at_ms, "link_down", [f"{a} - {b}" for a, b in self.links if (a in apart) != (b in apart)])

    def flap(self, at_ms: int) -> None:
        link, every_ms = " - ".join(self.rng.choice(self.links)), self.rng.randint(20, 150)
        for n in range(self.rng.randint(2, 4)):
            self._hit(at_ms + n * every_ms, "link_down", [link], every_ms // 2)

    def churn(self, at_ms: int) -> None:
        leaving = self.rng.sample(self.clients, self.rng.randint(1, 3))
        lasts_ms = self.rng.choice([None, self.rng.randint(1, 2 * TIMERS["hold_ms"])])
        self._hit(at_ms, "link_down", [f"{router} - {name}" for name, router in leaving], lasts_ms)


_DRAWN = [
    _Faults.link,
    _Faults.link,
    _Faults.crash,
    _Faults.pause,
    _Faults.partition,
    _Faults.flap,
    _Faults.churn,
]

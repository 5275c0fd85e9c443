"""What all routers publish and want, as records that are flooded: COST_ANNOUNCE (MM 5.2; decision 31).

A record says whether a router publishes and subscribes at all, how often its descriptors change, and which
of its links it prefers as s-links. Records go by the rules of all records (`numbers`, `records`). `Rates`
measures our own: exponential smoothing over intervals with jitter. They are announced when they differ by
more than a share and more than chance.

Not here: what is decided by them (`matchmaker_marks`).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from nodes.config import MILLISECOND_NS
from nodes.routing.numbers import Order
from nodes.routing.records import HEAD, Records, head
from nodes.routing.schemes.base import Options, Talk
from nodes.wire.matchmaker_payloads import CostAnnounce
from nodes.wire.packets import Kind

MILLION = 1_000_000
SECOND_NS = 1000 * MILLISECOND_NS
JITTER = 0.1
"""An interval is longer or shorter by up to this share."""
LEAST = 1_000
"""A rate below a thousandth a second is none: smoothing never comes to 0."""


class Answer(NamedTuple):
    """What follows of a record that came."""

    spread: bytes | None
    """To be sent to the other neighbours."""
    back: bytes | None
    """To be sent to who sent it."""
    renew: bool
    """Whether somebody else speaks in our name, so that our own has to be made anew."""


class Costs:
    """The records of all routers."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._records = Records(Kind.COST_ANNOUNCE, talk.node, b"", talk.timers.renumber_ms)
        self._known: dict[int, CostAnnounce] = {}
        self._early: dict[int, bytes] = {}
        self.version = 0
        """Counts all changes."""
        self.ends_version = 0
        """Counts those of who publishes and who subscribes."""
        self.causes_version = 0
        """Counts those of causes."""

    @property
    def settled(self) -> bool:
        """Whether nothing is contradicted, and nothing known that is not taken yet."""
        return self._records.settled

    def next_deadline(self) -> int | None:
        """When `take_due` has something to do."""
        returns_at, early_at = self._records.own.returns_at, self._records.numbering.next_deadline()
        if returns_at is None or early_at is None:
            return early_at if returns_at is None else returns_at
        return min(returns_at, early_at)

    def take_due(self, now_ns: int) -> tuple[list[bytes], bool]:
        """Records that came early, which are taken now, and whether ours has to be made anew."""
        due = self._records.numbering.take_due(now_ns)
        early = [self._early.pop(origin) for origin in due if origin in self._early]
        returned = self._records.own.go_back(now_ns)
        if returned:
            self._records.withdraw()
        for payload in early:
            self._store(now_ns, payload)
        return early, returned

    def announce(self, now_ns: int, record: CostAnnounce) -> bytes | None:
        """Make our own record: the payload to flood, or None if it says what it said."""
        payload = self._records.originate(now_ns, record.encode()[HEAD.size :])
        if payload is not None:
            self._learn(payload)
        return payload

    def of(self, router: int) -> CostAnnounce | None:
        """What is known of a router."""
        return self._known.get(router)

    def payloads(self) -> list[bytes]:
        """All records, for a new neighbour."""
        return [payload for _, payload in self._records.payloads()]

    def payload(self, origin: int) -> bytes | None:
        """The record of a router."""
        return self._records.payload(origin)

    def origins(self) -> Collection[int]:
        """The other routers whose records are held."""
        return self._known.keys() - {self._talk.node}

    def forget(self, origin: int) -> None:
        """A router is gone for good."""
        self._records.forget(origin)
        self._early.pop(origin, None)
        if self._known.pop(origin, None) is not None:
            self.version += 1
            self.ends_version += 1
            self.causes_version += 1

    def digest(self, routers: Iterable[int]) -> str:
        """Over the records of these routers."""
        whole = hashlib.sha256()
        for router in routers:
            whole.update(self._records.payload(router) or b"")
        return whole.hexdigest()[:16]

    def take(self, now_ns: int, interface: int, sender: int, payload: bytes) -> Answer:
        """A record has come.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        CostAnnounce.decode(payload)
        origin, _ = head(payload)
        order = self._records.consider(now_ns, payload)
        if origin == self._talk.node:
            return self._take_ours(order)
        if order is Order.NEWER:
            return self._take_newer(now_ns, interface, payload)
        if order is Order.EARLY:
            self._early[origin] = max(payload, self._early.get(origin, b""))
        unusual = origin == sender or self._records.numbering.is_unusual(origin)
        may_lack = unusual or self._talk.may_be_forgotten(now_ns, origin)
        lacks = order is Order.STALE or (order is Order.OLDER and may_lack)
        return Answer(None, self._records.payload(origin) if lacks else None, renew=False)

    def _take_ours(self, order: Order) -> Answer:
        if order is Order.NEWER:
            self._records.withdraw()
        back = self._records.payload(self._talk.node) if order is Order.STALE else None
        return Answer(None, back, renew=order is Order.NEWER)

    def _take_newer(self, now_ns: int, interface: int, payload: bytes) -> Answer:
        origin, _ = head(payload)
        if not self._talk.hold(now_ns, interface, Kind.COST_ANNOUNCE, origin, len(payload)):
            return Answer(None, None, renew=False)
        returned = self._store(now_ns, payload)
        return Answer(payload, payload if returned else None, renew=False)

    def _store(self, now_ns: int, payload: bytes) -> bool:
        self._learn(payload)
        self._early.pop(head(payload)[0], None)
        return self._records.store(now_ns, payload)

    def _learn(self, payload: bytes) -> None:
        record = CostAnnounce.decode(payload)
        before = self._known.get(record.origin)
        self._known[record.origin] = record
        self.version += 1
        ends = record.publishes, record.subscribes
        self.ends_version += before is None or (before.publishes, before.subscribes) != ends
        self.causes_version += before is None or before.causes != record.causes


@dataclass(frozen=True, slots=True)
class Measuring:
    """The options of how rates are measured and when they are announced.

    If changes come by chance, the standard deviation of their number is its root. Rates that differ by fewer
    deviations than given may be the same.
    """

    interval_ms: int
    alpha: float
    """The weight of the latest interval."""
    share: float
    """By what share a rate has to differ from the announced one,"""
    deviations: float
    """and by how many standard deviations."""
    restart: float
    """By how many an interval has to differ from what is smoothed to begin the smoothing anew; 0: never."""

    @classmethod
    def of(cls, options: Options) -> Measuring:
        """As a scenario gives them."""
        return cls(
            int(options["interval_ms"]),
            float(options["alpha"]),
            float(options["announce_share"]),
            float(options["announce_deviations"]),
            float(options["restart_deviations"]),
        )

    def deviation(self, rate: float, intervals: float) -> float:
        """What chance makes of a rate, in millionths a second, that is the mean of so many intervals."""
        return sqrt(max(rate, 0) * 1000 * MILLION / (self.interval_ms * intervals))


class Rate:
    """How often descriptors of one sort change, in millionths a second."""

    def __init__(self, measuring: Measuring) -> None:
        self._measuring = measuring
        self._intervals = 0
        """How many there were since the smoothing began anew; 0: it never has."""
        self.value = 0
        self.announced = 0

    def take(self, latest: int) -> None:
        """An interval has ended, and this was its rate.

        Smoothed exponentially. If the interval differs by more than chance, demand has jumped: the mean of
        those since then is taken, until the smoothing has as long a memory.
        """
        rules = self._measuring
        jump = rules.restart * rules.deviation(max(latest, self.value), 1)
        if rules.restart and abs(latest - self.value) > jump:
            self._intervals = 1
        elif self._intervals:
            self._intervals += 1
        weight = self._weight
        smoothed = round((1 - weight) * self.value + weight * latest)
        self.value = smoothed if smoothed >= LEAST else 0

    @property
    def _weight(self) -> float:
        """Of the latest interval."""
        alpha = self._measuring.alpha
        return max(alpha, 1 / self._intervals) if self._intervals else alpha

    @property
    def differs(self) -> bool:
        """Whether it differs by so much from what was announced that everybody should know (MM 5.2)."""
        if not self.value:  # Nothing has changed for long.
            return self.announced > 0
        rules, difference = self._measuring, abs(self.value - self.announced)
        # Of n intervals smoothed with a weight w each, as many are in effect as in a mean of 2 / w - 1; of a
        # mean of n it is n, and w = 1 / n.
        in_effect = 1 / self._weight if self._weight > rules.alpha else 2 / rules.alpha - 1
        chance = rules.deviation((self.value + self.announced) / 2, in_effect)
        return difference > rules.share * self.announced and difference > rules.deviations * chance


class Rates:
    """How often our descriptors change: f for those of publishers, g for those of subscribers.

    Args:
        measuring: How.
        rng: Of the jitter.
    """

    def __init__(self, measuring: Measuring, rng: random.Random) -> None:
        self._interval_ms = measuring.interval_ms
        self._rng = rng
        self._counts = [0, 0]
        self._began = 0
        self.at: int | None = None
        """When the interval ends; None while nothing changes."""
        self._rates = Rate(measuring), Rate(measuring)

    @property
    def announced(self) -> tuple[int, int]:
        """The rates f and g as last announced, in millionths a second."""
        return self._rates[0].announced, self._rates[1].announced

    def count(self, now_ns: int, published: int, wanted: int) -> None:
        """So many of ours have changed."""
        self._counts[0] += published
        self._counts[1] += wanted
        if self.at is None and published + wanted:
            self._begin(now_ns)

    def take(self, now_ns: int) -> bool:
        """End the interval, if it is time; whether anything is to be announced."""
        if self.at is None or now_ns < self.at:
            return False
        for rate, count in zip(self._rates, self._counts, strict=True):
            rate.take(count * MILLION * SECOND_NS // (now_ns - self._began))
        self._counts = [0, 0]
        self.at = None
        if any(rate.value for rate in self._rates):
            self._begin(now_ns)
        if not any(rate.differs for rate in self._rates):
            return False
        for rate in self._rates:
            rate.announced = rate.value
        return True

    def _begin(self, now_ns: int) -> None:
        self._began = now_ns
        factor = 1 + JITTER * (2 * self._rng.random() - 1)
        self.at = now_ns + max(1, round(self._interval_ms * factor * MILLISECOND_NS))

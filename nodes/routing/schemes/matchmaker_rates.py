"""How often a router's own descriptors change, and when that is announced (MM 5.2; K8; decision 31).

Changes are counted over intervals with jitter, and their rates smoothed exponentially. If the latest
intervals together, be it one or several, differ by more than chance from what was smoothed before them,
demand has jumped, and smoothing begins anew with them. So the smoothing itself can have a long memory, in
which chance averages out. A rate is announced when it differs from the announced one by more than a share and
more than chance.

Not here: the records that announce it (`matchmaker_costs`).
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log, sqrt

from nodes.config import MILLISECOND_NS
from nodes.routing.schemes.base import Options

MILLION = 1_000_000
SECOND_NS = 1000 * MILLISECOND_NS
JITTER = 0.1
"""An interval is longer or shorter by up to this share."""
LEAST = 1_000
"""A rate below a thousandth a second is none: smoothing never comes to 0."""


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
    """By how many the latest intervals have to differ from what was smoothed before them, to begin anew; 0:
    never."""

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

    @property
    def memory(self) -> float:
        """Of how many intervals a mean has as much chance in it as what is smoothed: 2 / weight - 1."""
        return 2 / self.alpha - 1

    def deviation(self, rate: float, intervals: float) -> float:
        """What chance makes of a rate, in millionths a second, that is the mean of so many intervals."""
        return sqrt(max(rate, 0) * 1000 * MILLION / (self.interval_ms * intervals))


@dataclass(frozen=True, slots=True)
class Seen:
    """How many changes were seen in how many seconds."""

    count: float
    seconds: float

    def differs_by(self, other: Seen) -> float:
        """By how many standard deviations two rates differ, if changes come by chance.

        The root of twice the logarithm of the ratio of two likelihoods: that of a rate of its own for either,
        and that of one for both. For large numbers that is the difference by its standard deviation; unlike
        that it holds for few changes, and for none.
        """
        if not self.seconds or not other.seconds:
            return inf if self.count or other.count else 0.0
        rate = (self.count + other.count) / (self.seconds + other.seconds)
        ratio = sum(
            each.count * log(each.count / (rate * each.seconds)) for each in (self, other) if each.count
        )
        return sqrt(2 * max(ratio, 0.0))


@dataclass(frozen=True, slots=True)
class Interval:
    """What was counted in an interval, and what is remembered of the time before it."""

    count: int
    length_ns: int
    before: Seen


@dataclass(frozen=True, slots=True)
class Run:
    """The latest intervals together, and by how much they differ from what is remembered from before them."""

    intervals: int
    rate: int
    differs_by: float


class Rate:
    """How often descriptors of one sort change, in millionths a second."""

    def __init__(self, measuring: Measuring) -> None:
        self._measuring = measuring
        self._intervals = 0
        """How many there were since the smoothing began anew; 0: it never has."""
        self._latest = deque[Interval](maxlen=int(measuring.memory) if measuring.restart else 0)
        """Those since then, the latest first, as far as smoothing remembers."""
        self.value = 0
        self.announced = 0

    def take(self, count: int, length_ns: int) -> None:
        """An interval has ended, in which so many have changed.

        After a jump of demand the mean of the intervals since then is taken, until the smoothing has as long
        a memory.
        """
        self._latest.appendleft(Interval(count, length_ns, self._remembered))
        jump = max(self._runs(), key=lambda run: run.differs_by, default=None)
        if jump is not None and jump.differs_by > self._measuring.restart:
            self._latest.clear()
            self._intervals, self.value = jump.intervals, jump.rate
            return
        self._intervals += self._intervals > 0
        weight = self._weight
        smoothed = round((1 - weight) * self.value + weight * per_second(count, length_ns))
        self.value = smoothed if smoothed >= LEAST else 0

    def _runs(self) -> Iterator[Run]:
        """The latest interval, the latest two, and so on."""
        count = length_ns = 0
        for intervals, interval in enumerate(self._latest, 1):
            count += interval.count
            length_ns += interval.length_ns
            differs_by = Seen(count, length_ns / SECOND_NS).differs_by(interval.before)
            yield Run(intervals, per_second(count, length_ns), differs_by)

    @property
    def _remembered(self) -> Seen:
        """As if the smoothed rate was counted over the intervals that are in effect; at first, nothing."""
        seconds = self._in_effect * self._measuring.interval_ms / 1000 if self._intervals else 0.0
        return Seen(self.value * seconds / MILLION, seconds)

    @property
    def _weight(self) -> float:
        """Of the latest interval."""
        alpha = self._measuring.alpha
        return max(alpha, 1 / self._intervals) if self._intervals else alpha

    @property
    def _in_effect(self) -> float:
        """Of how many intervals the smoothed rate is worth the mean; of a mean of n the weight is 1 / n."""
        return min(self._intervals or self._measuring.memory, self._measuring.memory)

    @property
    def differs(self) -> bool:
        """Whether it differs by so much from what was announced that everybody should know (MM 5.2)."""
        if not self.value:  # Nothing has changed for long.
            return self.announced > 0
        rules, difference = self._measuring, abs(self.value - self.announced)
        chance = rules.deviation((self.value + self.announced) / 2, self._in_effect)
        return difference > rules.share * self.announced and difference > rules.deviations * chance


def per_second(count: int, length_ns: int) -> int:
    """In millionths."""
    return count * MILLION * SECOND_NS // length_ns


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
            rate.take(count, now_ns - self._began)
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

"""`workload: dis`: entities of a distributed simulation that walk about in a world (MM 6, K10).

Here: reading the world, and what its entities do as actions of the clients they belong
to. Not here: how they walk (`waypoint`). Decision 32 says what an entity's ids are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, takewhile, zip_longest
from math import inf, log, pi
from random import Random
from typing import Any

from nodes.config import Action
from nodes.model import format_message
from testbed.plan.moments import Times
from testbed.plan.problems import Key
from testbed.plan.source import Source
from testbed.plan.waypoint import Gait, Square, crossings, random_point, square_of, walk
from topologies.quantities import duration_ns, per_second

NAME = "dis"
KEY: Key = ("workload", NAME)
BEFORE_START_NS = -1
_SECOND = 1_000_000_000
_VERBS = {
    "publish": ("advertise",),
    "subscribe": ("subscribe",),
    "both": ("advertise", "subscribe"),
}
Step = tuple[int, Square]
"""A square, and when an entity enters it."""
_PUBLISHES = "advertise"
"""What those do who publish."""
_BACK = {"advertise": "unadvertise", "subscribe": "unsubscribe"}
DEFAULT_SPEEDS: Mapping[str, Any] = {
    "high": {"share": 1, "metres_per_second": [150, 250]},
    "medium": {"share": 3, "metres_per_second": [10, 20]},
    "low": {"share": 6, "metres_per_second": [1, 2]},
}


@dataclass(frozen=True, slots=True)
class SpeedClass:
    """A kind of entities."""

    share: float
    """How many of them there are, beside the shares of the others."""
    metres_per_second: tuple[float, float]
    """Between which the speed of each leg is drawn."""

    @property
    def average(self) -> float:
        """Over time: slow legs last longer."""
        low, high = self.metres_per_second
        return (high - low) / log(high / low) if high > low else low


@dataclass(frozen=True, slots=True)
class World:
    """What the entities of all clients walk about in."""

    squares: int
    side_m: float
    around: int
    """How many squares an entity sees in each direction: 1 is 3x3."""
    entities: tuple[int, int]
    """Of a client at first, and on average later: between these."""
    arrivals: float
    """New entities of a client in a second."""
    messages: float
    """Of an entity in a second."""
    pause_s: float
    begin_s: float
    """When the first entities come; below 0: they are there before the start."""
    until_ns: int
    overlap_ns: int | None
    """How long an old descriptor stays beside the new one; None: the new one takes its id."""
    speeds: tuple[SpeedClass, ...]

    @property
    def until_s(self) -> float:
        """When all of it ends."""
        return self.until_ns / _SECOND

    def likely_actions(self, role: str) -> float:
        """About how many actions the entities of a client with this role come to."""
        shares = sum(each.share for each in self.speeds)
        mean = sum(each.share * each.average for each in self.speeds) / shares
        # Somebody who walks a metre in a random direction gets 4/pi metres on along the axes.
        changes = mean * 4 / pi / (self.side_m / self.squares)
        actions = len(_VERBS[role]) * (1 if self.overlap_ns is None else 2)
        messages = self.messages if _PUBLISHES in _VERBS[role] else 0
        lasts_s = self.until_s - max(self.begin_s, 0.0)
        return sum(self.entities) / 2 * (changes * actions + messages) * lasts_s


@dataclass(frozen=True, slots=True)
class _Life:
    """An entity's time, in seconds; one that is there at first begins below 0."""

    begin_s: float
    end_s: float
    """Infinite where nobody comes or leaves."""

    @property
    def begin_ns(self) -> int:
        """As scripts have it."""
        return BEFORE_START_NS if self.begin_s < 0 else int(self.begin_s * _SECOND)


def read_world(source: Source, data: Mapping[str, Any], times: Times) -> World | None:
    """The world of `workload: dis`; None if there is none, or it makes no sense."""
    workload = data.get("workload") or {}
    if workload != NAME and NAME not in workload:
        return None
    spec = {} if isinstance(workload, str) else workload[NAME] or {}
    known = len(source.problems)
    until_ns = times.moment(spec.get("until", "30min"), (*KEY, "until"))
    from_ns = times.moment(spec["from"], (*KEY, "from")) if "from" in spec else BEFORE_START_NS
    classes = spec.get("speeds") or DEFAULT_SPEEDS
    if until_ns <= max(from_ns, 0) and len(source.problems) == known:
        source.complain((*KEY, "until"), "it would end before it begins", "a time after from")
    _check(source, spec, classes)
    if len(source.problems) > known or not all(map(_in_shape, classes.values())):
        return None
    low, high = spec.get("entities", (50, 150))
    if low is None or high is None:
        return None
    return World(
        squares=spec.get("squares", 1000),
        side_m=1000 * float(spec.get("side_km", 1000)),
        around=spec.get("around", 1),
        entities=(low, high),
        arrivals=float(per_second(spec.get("arrivals", "1/min"))),
        messages=float(per_second(spec.get("messages", "1/min"))),
        pause_s=duration_ns(spec.get("pause", "0s")) / _SECOND,
        begin_s=from_ns / _SECOND,
        until_ns=until_ns,
        overlap_ns=duration_ns(spec["overlap"]) if "overlap" in spec else None,
        speeds=tuple(
            SpeedClass(float(about["share"]), (about["metres_per_second"][0], about["metres_per_second"][1]))
            for about in classes.values()
        ),
    )


def _check(source: Source, spec: Mapping[str, Any], classes: Mapping[str, Any]) -> None:
    low, high = spec.get("entities", (1, 1))
    if None not in {low, high} and not 1 <= low <= high:
        message = f"a client cannot have from {low} to {high} entities"
        source.complain((*KEY, "entities"), message, "the least, from 1 on, and the most")
    for name, about in classes.items():
        if _in_shape(about) and about["metres_per_second"][0] > about["metres_per_second"][1]:
            key: Key = (*KEY, "speeds", name, "metres_per_second")
            source.complain(key, "the least speed is above the greatest", "the least, and the greatest")


def _in_shape(about: Mapping[str, Any]) -> bool:
    """Whether the check of the shape has left all of a class."""
    return "share" in about and None not in about.get("metres_per_second", [None])


def entity_name(client: str, number: int) -> str:
    """What its messages carry as their payload."""
    return f"{client}/{number}"


@dataclass(frozen=True, slots=True)
class Entities:
    """The entities of one client.

    Args:
        world: What they are in.
        seed: The scenario's; each entity has random streams of its own.
        client: The client's name.
        role: `publish`, `subscribe` or `both`.
    """

    world: World
    seed: int
    client: str
    role: str

    def actions(self, ids: Iterator[int]) -> Iterator[Action]:
        """What they do, one entity after another; their descriptors take these ids."""
        for number, life in enumerate(self._lives(), 1):
            yield from self._of_one(number, life, ids)

    def _rng(self, *what: object) -> Random:
        return Random("/".join(map(str, (self.seed, self.client, NAME, *what))))

    def _lives(self) -> Iterator[_Life]:
        """First those that are there from the start, then those that come; time has no memory for either."""
        world, rng = self.world, self._rng("lives")
        count = rng.randint(*world.entities)
        rate = world.arrivals / count
        begin_s = max(world.begin_s, 0.0)
        for _ in range(count):
            yield _Life(world.begin_s, begin_s + rng.expovariate(rate) if rate else inf)
        arrivals = (begin_s + after_s for after_s in _poisson(self._rng("arrivals"), world.arrivals))
        for at_s in takewhile(lambda at_s: at_s < world.until_s, arrivals):
            yield _Life(at_s, at_s + rng.expovariate(rate))

    def _of_one(self, number: int, life: _Life, ids: Iterator[int]) -> Iterator[Action]:
        path = list(self._path(number, life))
        end_ns = int(min(life.end_s, 2 * self.world.until_s) * _SECOND)
        for verb in _VERBS[self.role]:
            describe = self._renewed if self.world.overlap_ns is not None else self._replaced
            yield from describe(verb, path, end_ns, ids)
        if _PUBLISHES in _VERBS[self.role]:
            yield from self._messages(number, life, path)

    def _replaced(self, verb: str, path: Sequence[Step], end_ns: int, ids: Iterator[int]) -> Iterator[Action]:
        """One id, which is given the new descriptor: the old one goes without a word (MM 5.4)."""
        own = next(ids)
        yield from (Action(at_ns, verb, own, self._text(verb, square)) for at_ns, square in path)
        yield from self._withdrawn(verb, own, end_ns)

    def _renewed(self, verb: str, path: Sequence[Step], end_ns: int, ids: Iterator[int]) -> Iterator[Action]:
        """An id for each descriptor: the old one stays for a while beside the new one."""
        assert self.world.overlap_ns is not None
        for (at_ns, square), then in zip_longest(path, path[1:]):
            own = next(ids)
            yield Action(at_ns, verb, own, self._text(verb, square))
            gone_ns = end_ns if then is None else min(then[0] + self.world.overlap_ns, end_ns)
            yield from self._withdrawn(verb, own, gone_ns)

    def _withdrawn(self, verb: str, own: int, at_ns: int) -> Iterator[Action]:
        """Unless the world has ended by then."""
        if at_ns < self.world.until_ns:
            yield Action(at_ns, _BACK[verb], own)

    def _path(self, number: int, life: _Life) -> Iterator[Step]:
        """The squares where it is, and from when on; one that it leaves in the same instant is none."""
        world, rng = self.world, self._rng(number)
        (speeds,) = rng.choices(
            [each.metres_per_second for each in world.speeds], [each.share for each in world.speeds]
        )
        start, until_s = random_point(rng), min(life.end_s, world.until_s)
        legs = walk(rng, Gait(world.side_m, speeds, world.pause_s), max(life.begin_s, 0.0), start)
        way = chain.from_iterable(crossings(leg, world.squares) for leg in legs)
        entered = [(life.begin_ns, square_of(start, world.squares))]
        entered += [(int(at_s * _SECOND), to) for at_s, to in takewhile(lambda now: now[0] < until_s, way)]
        yield from (now for now, then in pairwise(entered) if now[0] != then[0])
        yield entered[-1]

    def _messages(self, number: int, life: _Life, path: Sequence[Step]) -> Iterator[Action]:
        begin_s, until_s = max(life.begin_s, 0.0), min(life.end_s, self.world.until_s)
        times = [at_ns for at_ns, _ in path]
        after = _poisson(self._rng(number, "messages"), self.world.messages)
        for after_s in takewhile(lambda after_s: begin_s + after_s < until_s, after):
            at_ns = int((begin_s + after_s) * _SECOND)
            x, y = path[bisect_right(times, at_ns) - 1][1]
            text, payload = format_message({"x": x, "y": y}), entity_name(self.client, number)
            yield Action(at_ns, "publish", text=text, payload=payload)

    def _text(self, verb: str, square: Square) -> str:
        """What is around a square; in canonical form."""
        (left, right), (low, high) = map(self._span, square)
        if verb == "subscribe":
            return f"x <= {right} and x >= {left} and y <= {high} and y >= {low}"
        # Constraints of an advertisement on one attribute are alternatives (M5).
        columns, rows = range(left, right + 1), range(low, high + 1)
        return " and ".join([*(f"x = {x}" for x in columns), *(f"y = {y}" for y in rows)])

    def _span(self, position: int) -> tuple[int, int]:
        around, last = self.world.around, self.world.squares - 1
        return max(position - around, 0), min(position + around, last)


def _poisson(rng: Random, rate: float) -> Iterator[float]:
    """Times of a Poisson process from 0 on, in seconds; none at a rate of 0."""
    at_s = 0.0
    while rate:
        at_s += rng.expovariate(rate)
        yield at_s

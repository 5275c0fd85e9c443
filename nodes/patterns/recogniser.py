"""Many patterns: which messages concern which, put in order of publication before monitors see them.

A message is held back until `wait_ns` of a pattern after its publish time, by the clock of whoever calls.
What comes too late to be put in order, comes twice or is from the future is not used, and counted.

A pattern that was taken apart (`factoring`) has places that the matches of other monitors fill. A match is
put in order as its latest component is.

Not here: matches of one pattern (`monitor`), sockets and clocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from fastpath.fib import ForwardingTable
from nodes.model.patterns import Components, Expression, Occurrence, Part, Pattern
from nodes.patterns.monitor import Monitor
from nodes.wire.codec import encode_filter

HELD_MAX = 65_536
"""Messages held back for patterns of one waiting time; beyond that the oldest are taken early."""
AHEAD_NS = 1_000_000_000
"""A message from further in the future is not believed: it would make all others late."""


class Found(NamedTuple):
    """A match."""

    number: int
    """Of the pattern."""
    components: Components


class Recogniser:
    """Recognises patterns, each under a number."""

    def __init__(self) -> None:
        self._orders: dict[int, _Order] = {}
        self._of: dict[int, _Order] = {}
        self._past: Counter[str] = Counter()
        self._found: list[Found] = []

    def __len__(self) -> int:
        return len(self._of)

    def add(
        self,
        number: int,
        pattern: Pattern,
        places: Sequence[Expression] | None = None,
        not_from: int | None = None,
    ) -> None:
        """Seek a pattern from now on; one of the same number is sought no longer.

        Of that, places of both go on with what was kept for them.

        Args:
            number: What it is called.
            pattern: What is sought.
            places: Which of its expressions are fed, from left to right; None: its elementary parts. What is
                no elementary part is fed by `feed`.
            not_from: A source whose messages are not used.
        """
        before = self._of.get(number)
        kept = None if before is None else before.monitors[number]
        if before is not None:
            self._past += before.remove(number)
        order = self._orders.setdefault(pattern.wait_ns, _Order(pattern.wait_ns))
        order.add(number, pattern, tuple(pattern.parts if places is None else places), not_from)
        self._of[number] = order
        if before is not None and kept is not None:
            self._past["lost"] += order.monitors[number].adopt(kept)
            self._close_unused(before)

    def remove(self, number: int) -> None:
        """Seek a pattern no longer; one that does not exist is fine."""
        order = self._of.pop(number, None)
        if order is None:
            return
        self._past += order.remove(number)
        self._close_unused(order)

    def _close_unused(self, order: _Order) -> None:
        if not order.monitors:
            self._past += order.counts
            del self._orders[order.wait_ns]

    def receive(self, now_ns: int, messages: Sequence[tuple[Occurrence, bytes]]) -> None:
        """Messages have arrived: what each is, and its packet."""
        for order in self._orders.values():
            order.receive(now_ns, messages)
            self._collect(now_ns, order)

    def feed(self, now_ns: int, number: int, places: Iterable[int], components: Components) -> None:
        """A match of another monitor has arrived, which fills these places of a pattern."""
        order = self._of[number]
        order.feed(now_ns, number, tuple(places), components)
        self._collect(now_ns, order)

    def _collect(self, now_ns: int, order: _Order) -> None:
        """What can be told without waiting, or was found early."""
        if not order.wait_ns:
            self._found += order.due(now_ns)
        elif order.early:
            self._found += order.early
            order.early = []

    def handle_timer(self, now_ns: int) -> None:
        """Take what has been held back for long enough."""
        for order in self._orders.values():
            self._found += order.due(now_ns)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted."""
        deadlines = (order.deadline_ns for order in self._orders.values())
        return min((each for each in deadlines if each is not None), default=None)

    def take(self) -> list[Found]:
        """The matches that were found since the last time."""
        found, self._found = self._found, []
        return found

    @property
    def counts(self) -> Counter[str]:
        """What was not used, or not looked for, by why.

        Of messages `late`, `ahead`, `duplicate`, and `early` (taken before their time); `forgotten` and
        `curtailed` of monitors, and `lost`: what they had kept for places that they have no more.
        """
        counts = +self._past
        for order in self._orders.values():
            counts += order.counts
            for monitor in order.monitors.values():
                counts += _counts(monitor)
        return counts

    @property
    def held(self) -> int:
        """How many messages are held back or remembered, each as often as it is."""
        return sum(order.held for order in self._orders.values())


class _Order:
    """The patterns of one waiting time."""

    def __init__(self, wait_ns: int) -> None:
        self.wait_ns = wait_ns
        self.monitors: dict[int, Monitor] = {}
        self.counts: Counter[str] = Counter()
        self.early: list[Found] = []
        self._table = ForwardingTable()
        self._filters: dict[int, list[int]] = {}
        """By pattern: what it has in the table."""
        self._concerned: dict[int, tuple[int, int]] = {}
        """By number in the table: the pattern and its place."""
        self._numbers: dict[int, list[int]] = {}
        """By pattern: its numbers in the table."""
        self._last_number = 0
        self._waiting: list[tuple[Occurrence, tuple[int, ...]]] = []
        """A heap."""
        self._ids: set[Occurrence] = set()
        self._last: Occurrence | None = None
        self._matches: dict[Occurrence, dict[tuple[int, Components], tuple[int, ...]]] = {}
        """Matches held back: by latest component, then by pattern, the places that they fill."""
        self._matches_held = 0
        self._not_from: dict[int, int] = {}
        """By pattern: a source whose messages it does not use."""

    @property
    def held(self) -> int:
        waiting = len(self._waiting) + self._matches_held
        return waiting + sum(monitor.kept for monitor in self.monitors.values())

    @property
    def deadline_ns(self) -> int | None:
        return self._waiting[0][0].time_ns + self.wait_ns if self._waiting else None

    def add(
        self, number: int, pattern: Pattern, places: tuple[Expression, ...], not_from: int | None
    ) -> None:
        self.monitors[number] = Monitor(pattern, places)
        self._filters[number], self._numbers[number] = [], []
        if not_from is not None:
            self._not_from[number] = not_from
        for place, part in enumerate(places):
            if not isinstance(part, Part):
                continue
            self._last_number += 1
            self._concerned[self._last_number] = number, place
            self._numbers[number].append(self._last_number)
            encoded = (encode_filter(filter_) for filter_ in part.predicate.filters)
            self._filters[number] += [self._table.add(self._last_number, one) for one in encoded]
        self._table.commit()

    def remove(self, number: int) -> Counter[str]:
        for one in self._filters.pop(number):
            self._table.remove(one)
        self._table.commit()
        for one in self._numbers.pop(number):
            del self._concerned[one]
        self._not_from.pop(number, None)
        return _counts(self.monitors.pop(number))

    def receive(self, now_ns: int, messages: Sequence[tuple[Occurrence, bytes]]) -> None:
        matched = self._table.match_many([packet for _, packet in messages])
        latest_ns, waiting, ids = now_ns + AHEAD_NS, self._waiting, self._ids
        for (occurrence, _), numbers in zip(messages, matched, strict=True):
            if not numbers:
                continue
            if self._last is not None and occurrence <= self._last:
                self.counts["duplicate" if occurrence == self._last else "late"] += 1
            elif occurrence in ids:
                self.counts["duplicate"] += 1
            elif occurrence.time_ns > latest_ns:
                self.counts["ahead"] += 1
            else:
                ids.add(occurrence)
                heappush(waiting, (occurrence, numbers))
                if len(waiting) > HELD_MAX:
                    self.counts["early"] += 1
                    self._evaluate(self.early)

    def feed(self, now_ns: int, number: int, places: tuple[int, ...], components: Components) -> None:
        latest = max(components)
        waiting = self._matches.get(latest)
        if self._last is not None and latest <= self._last:
            self.counts["duplicate" if latest == self._last else "late"] += 1
        elif latest.time_ns > now_ns + AHEAD_NS:
            self.counts["ahead"] += 1
        else:
            if waiting is None:
                waiting = self._matches[latest] = {}
                heappush(self._waiting, (latest, ()))
            self._matches_held += (number, components) not in waiting
            waiting[number, components] = places
            if self._matches_held > HELD_MAX:
                self.counts["early"] += 1
                self._evaluate(self.early)

    def due(self, now_ns: int) -> list[Found]:
        found, self.early = self.early, []
        waiting, until_ns = self._waiting, now_ns - self.wait_ns
        while waiting and waiting[0][0].time_ns <= until_ns:
            self._evaluate(found)
        return found

    def _evaluate(self, found: list[Found]) -> None:
        """Take the oldest that waits."""
        if self._matches or self._not_from:
            self._evaluate_all(found)
            return
        occurrence, numbers = heappop(self._waiting)
        self._ids.discard(occurrence)
        self._last = occurrence
        concerned, monitors = self._concerned, self.monitors
        if len(numbers) == 1:
            if (one := concerned.get(numbers[0])) is not None:
                for match in monitors[one[0]].take(one[1:], (occurrence,)):
                    found.append(Found(one[0], match))
            return
        for number, places in _by_pattern(concerned[n] for n in numbers if n in concerned):
            found += [Found(number, match) for match in monitors[number].take(places, (occurrence,))]

    def _evaluate_all(self, found: list[Found]) -> None:
        """The same with the matches that end with it, and where patterns leave messages out."""
        occurrence, numbers = heappop(self._waiting)
        while self._waiting and self._waiting[0][0] == occurrence:
            numbers += heappop(self._waiting)[1]
        self._ids.discard(occurrence)
        self._last = occurrence
        fills: dict[int, list[tuple[Sequence[int], Components]]] = {}
        for number, places in _by_pattern(self._concerned[n] for n in numbers if n in self._concerned):
            if self._not_from.get(number) != occurrence.source:
                fills.setdefault(number, []).append((places, (occurrence,)))
        matches = self._matches.pop(occurrence, {})
        self._matches_held -= len(matches)
        for (number, components), filled in sorted(matches.items()):
            if number in self.monitors:
                fills.setdefault(number, []).append((filled, components))
        for number, each in sorted(fills.items()):
            found += [Found(number, match) for match in self.monitors[number].take_all(each)]


def _by_pattern(places: Iterable[tuple[int, int]]) -> Iterable[tuple[int, list[int]]]:
    by_pattern: dict[int, list[int]] = {}
    for number, place in places:
        by_pattern.setdefault(number, []).append(place)
    return by_pattern.items()


def _counts(monitor: Monitor) -> Counter[str]:
    return +Counter(forgotten=monitor.forgotten, curtailed=monitor.curtailed)

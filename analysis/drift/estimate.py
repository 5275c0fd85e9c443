"""Offset and drift of the clock of each host, from the least delays of every link in both directions.

Nothing arrives before it was sent, nor sooner than its link delays it; so for two hosts that share a link,
each least delay bounds the difference of their clocks (`analysis.drift.lines`). From one host, the reference,
the others are reached over the links whose bounds are closest, and the bounds add up: that is how uncertain
each clock is. Of all lines within them the simplest is taken: none, if a clock can be right; else a constant;
else a line. So clocks that are right are not found to be off.

A clock that was set while it ran is no line. It is found by bounds that contradict each other, taken to be of
the host with most of these, and left out.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from analysis.drift.correction import Clock
from analysis.drift.least import LeastDelays, Longs
from analysis.drift.lines import (
    FAR_NS,
    MOST_DRIFT,
    ZERO,
    Bounds,
    Box,
    Floats,
    Line,
    Points,
    box_of,
    middle_of,
)

ROUNDS = 3
"""A time is known only after its clock is: each round has it a thousand times as well as the one before."""
ROUNDED_NS = 2.0


class Pair(NamedTuple):
    """Two hosts that share links."""

    a: str
    b: str


@dataclass(frozen=True, slots=True)
class _Traffic:
    """The least delays between two hosts: integers, as captured."""

    to_b: tuple[Longs, Longs]
    """When it was sent, by the clock of `a`, and by how much `b` can be ahead."""
    to_a: tuple[Longs, Longs]
    """The same, seen from `b`."""

    def constant(self) -> tuple[float, float]:
        """If neither clock drifts: by how much `b` is ahead, at least and at most."""
        low = -int(self.to_a[1].min()) if len(self.to_a[1]) else -np.inf
        high = int(self.to_b[1].min()) if len(self.to_b[1]) else np.inf
        return low, high


@dataclass(slots=True)
class _Guess:
    """What is known of a host's clock so far."""

    line: Line
    box: Box

    @property
    def uncertainty_ns(self) -> float:
        return self.box.farthest_ns(self.line)


def estimate(
    least: LeastDelays,
    certain_ns: Mapping[tuple[int, int], int],
    hosts: Mapping[int, str],
    tolerance_ns: int,
) -> dict[str, Clock]:
    """The clock of each host that shares a link with another, by host.

    Args:
        least: Of all links.
        certain_ns: What a direction of a link certainly delays; 0 for those that are not named.
        hosts: Whose clock a node reads.
        tolerance_ns: Packets may arrive so much too early and nothing is wrong.
    """
    traffic = _by_pair(least, certain_ns, hosts)
    set_while_running: dict[str, float] = {}
    found: dict[str, Clock] = {}
    while traffic:
        network = _solved(traffic, tolerance_ns)
        if not network.broken:
            found = network.clocks()
            break
        host = _culprit(network.broken, traffic, network.references)
        set_while_running[host] = max(ns for pair, ns in network.broken.items() if host in pair)
        traffic = {pair: rows for pair, rows in traffic.items() if host not in pair}
    for host, residual_ns in set_while_running.items():
        found[host] = Clock(host, 0, 0.0, 0, None, round(residual_ns), even=False)
    return dict(sorted(found.items()))


def _solved(traffic: Mapping[Pair, _Traffic], tolerance_ns: int) -> _Network:
    """From the reference with which most clocks are right; any one shows which that is."""
    network = _Network(traffic, tolerance_ns, ())
    preferred = network.preferred()
    return network if preferred == network.references else _Network(traffic, tolerance_ns, preferred)


def _by_pair(
    least: LeastDelays, certain_ns: Mapping[tuple[int, int], int], hosts: Mapping[int, str]
) -> dict[Pair, _Traffic]:
    found: dict[Pair, tuple[list[tuple[Longs, Longs]], list[tuple[Longs, Longs]]]] = {}
    for (from_id, to_id), sent_ns, least_ns in _directions(least):
        a, b = hosts[from_id], hosts[to_id]
        if a != b:
            # A clock that is fast shows a delay as longer, one that is slow as shorter.
            certain = int(certain_ns.get((from_id, to_id), 0) * (1 - MOST_DRIFT))
            sides = found.setdefault(Pair(min(a, b), max(a, b)), ([], []))
            sides[a > b].append((sent_ns, least_ns - certain))
    return {pair: _Traffic(_joined(there), _joined(back)) for pair, (there, back) in sorted(found.items())}


def _directions(least: LeastDelays) -> Iterator[tuple[tuple[int, int], Longs, Longs]]:
    if not len(least.from_id):
        return
    order = np.lexsort([least.window, least.to_id, least.from_id])
    from_id, to_id = least.from_id[order], least.to_id[order]
    edges = np.flatnonzero((from_id[1:] != from_id[:-1]) | (to_id[1:] != to_id[:-1])) + 1
    for rows in np.split(order, edges):
        yield (
            (int(least.from_id[rows[0]]), int(least.to_id[rows[0]])),
            least.sent_ns[rows],
            least.least_ns[rows],
        )


def _joined(parts: list[tuple[Longs, Longs]]) -> tuple[Longs, Longs]:
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    sent_ns, ahead_ns = zip(*parts, strict=True)
    return np.concatenate(sent_ns), np.concatenate(ahead_ns)


def _culprit(
    broken: Mapping[Pair, float], traffic: Mapping[Pair, _Traffic], references: Collection[str]
) -> str:
    """The host that explains most of the contradictions: then one with few links that are right."""
    wrong = Counter(host for pair in broken for host in pair)
    links = Counter(host for pair in traffic for host in pair)
    return max(
        sorted(wrong), key=lambda host: (wrong[host] / links[host], wrong[host], host not in references)
    )


@dataclass
class _Network:
    """Hosts and the bounds between them."""

    traffic: Mapping[Pair, _Traffic]
    tolerance_ns: int
    wanted: Sequence[str]
    """The references, if it is known who they are; else those with most links."""
    references: list[str] = field(default_factory=list)
    """One in each part of the network."""
    broken: dict[Pair, float] = field(default_factory=dict)
    """Hosts that contradict each other, and by how much."""
    _rough: dict[str, int] = field(default_factory=dict)
    """Offsets as integers, which need not be right: what is left is small."""
    _guesses: dict[str, _Guess] = field(default_factory=dict)
    _bounds: dict[Pair, Bounds] = field(default_factory=dict)
    _boxes: dict[Pair, Box] = field(default_factory=dict)
    _span: tuple[int, int] = (0, 1)
    _parts: list[list[str]] = field(default_factory=list)
    _links: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._rough_estimate()
        for _ in range(ROUNDS):
            self._round()

    def preferred(self) -> list[str]:
        """The host in each part with whose clock most others agree; of several the one with most links."""
        chosen = []
        for part in self._parts:
            lines = np.array([self._whole_line(host) for host in part])
            unsure = np.array([self._guesses[host].uncertainty_ns for host in part])
            apart = np.abs(lines[:, None] - lines[None]).max(axis=2)
            agreeing = (apart <= unsure[:, None] + unsure[None] + self.tolerance_ns).sum(axis=1)
            best = max(range(len(part)), key=lambda n: (agreeing[n], self._links[part[n]], -n))
            chosen.append(part[best])
        return chosen

    def clocks(self) -> dict[str, Clock]:
        """What was found."""
        start_ns, length_ns = self._span
        residuals = dict.fromkeys(self._guesses, 0.0)
        for pair, violation_ns in self._violations():
            for host in pair:
                residuals[host] = max(residuals[host], violation_ns)
        found = {}
        for host, guess in self._guesses.items():
            uncertain = guess.uncertainty_ns * (1 + 2 * MOST_DRIFT) + ROUNDED_NS
            offset_ns = self._rough[host] + round(guess.line.first)
            drift = (guess.line.last - guess.line.first) / length_ns
            known = None if uncertain > FAR_NS / 4 else round(uncertain)
            found[host] = Clock(host, offset_ns, drift, start_ns, known, round(residuals[host]))
        return found

    def _whole_line(self, host: str) -> Line:
        rough = float(self._rough[host])
        return self._guesses[host].line.plus(Line(rough, rough))

    def _rough_estimate(self) -> None:
        """Constants over a tree of the closest bounds."""
        constants = {pair: rows.constant() for pair, rows in self.traffic.items()}
        tree = _tree({pair: max(high - low, 0.0) for pair, (low, high) in constants.items()})
        self._links = Counter(host for pair in self.traffic for host in pair)
        self._parts = [sorted(part) for part in _parts(tree)]
        for part in self._parts:
            wanted = [host for host in part if host in self.wanted]
            reference = wanted[0] if wanted else max(part, key=lambda host: self._links[host])
            self.references.append(reference)
            self._rough[reference] = 0
            for a, b in _outwards(reference, tree):
                low, high = constants[Pair(a, b)] if a < b else _negated(constants[Pair(b, a)])
                known = [bound for bound in (low, high) if np.isfinite(bound)]
                self._rough[b] = self._rough[a] + round(sum(known) / len(known))

    def _round(self) -> None:
        """Bounds with times as they are known by now, and from them all lines again."""
        self._bounds = self._bounds_now()
        self.broken = {}
        self._boxes = {}
        lines: dict[Pair, list[Line]] = {}
        for pair, bounds in self._bounds.items():
            slack_ns = bounds.slack_ns(self.tolerance_ns)
            if slack_ns is None:
                slack_ns = bounds.slack_ns(FAR_NS / 4)
                self.broken[pair] = FAR_NS / 4 if slack_ns is None else slack_ns
            lines[pair] = bounds.lines(FAR_NS / 2 if slack_ns is None else slack_ns)
            self._boxes[pair] = box_of(lines[pair])
        self._guesses = {}
        for reference in self.references:
            self._spread(reference, lines)
        allowed = self.tolerance_ns + ROUNDED_NS
        for pair, violation_ns in self._violations():
            if violation_ns > allowed + sum(self._guesses[host].uncertainty_ns for host in pair):
                self.broken[pair] = max(violation_ns, self.broken.get(pair, 0.0))

    def _violations(self) -> Iterator[tuple[Pair, float]]:
        for pair, bounds in self._bounds.items():
            ahead = self._guesses[pair.b].line.minus(self._guesses[pair.a].line)
            yield pair, max(bounds.violation_ns(ahead), 0.0)

    def _spread(self, reference: str, lines: Mapping[Pair, list[Line]]) -> None:
        """From the reference outwards, over the links that add least uncertainty."""
        near: dict[str, list[tuple[str, Pair]]] = {}
        for pair in self._bounds:
            near.setdefault(pair.a, []).append((pair.b, pair))
            near.setdefault(pair.b, []).append((pair.a, pair))
        waiting: list[tuple[float, str, str]] = [(0.0, reference, reference)]
        while waiting:
            width, host, before = heapq.heappop(waiting)
            if host in self._guesses:
                continue
            self._guesses[host] = self._guess(before, host, lines)
            for other, pair in near[host]:
                if other not in self._guesses:
                    heapq.heappush(waiting, (width + self._boxes[pair].width_ns, other, host))

    def _guess(self, before: str, host: str, lines: Mapping[Pair, list[Line]]) -> _Guess:
        if before == host:
            return _Guess(ZERO, Box(ZERO, ZERO))
        pair = Pair(*sorted((before, host)))
        forwards = before == pair.a
        bounds = self._bounds[pair] if forwards else _mirrored(self._bounds[pair])
        box = self._boxes[pair] if forwards else self._boxes[pair].reversed()
        known = self._guesses[before]
        right = Line(-float(self._rough[host]), -float(self._rough[host]))
        if bounds.violation_ns(right.minus(known.line)) <= self.tolerance_ns:
            line = right
        elif (constant := bounds.constant_beside(known.line)) is not None:
            line = Line(constant, constant)
        else:
            middle = middle_of(lines[pair])
            line = known.line.plus(middle if forwards else ZERO.minus(middle))
        return _Guess(line, known.box.plus(box))

    def _bounds_now(self) -> dict[Pair, Bounds]:
        times = {
            pair: (self._times(pair.a, rows.to_b[0]), self._times(pair.b, rows.to_a[0]))
            for pair, rows in self.traffic.items()
        }
        first = min(float(each.min()) for pair in times.values() for each in pair if len(each))
        last = max(float(each.max()) for pair in times.values() for each in pair if len(each))
        origin = self._origin
        self._span = (origin + round(first), max(round(last - first), 1))
        slope_ns = 2 * MOST_DRIFT * self._span[1]
        return {
            pair: Bounds(
                self._points(pair.a, pair.b, there - first, self.traffic[pair].to_b[1], 1),
                self._points(pair.b, pair.a, back - first, self.traffic[pair].to_a[1], -1),
                slope_ns,
            )
            for pair, (there, back) in times.items()
        }

    @property
    def _origin(self) -> int:
        """What times are counted from, so that they fit into floating point."""
        pair, rows = next(iter(self.traffic.items()))
        host, sent_ns = (pair.a, rows.to_b[0]) if len(rows.to_b[0]) else (pair.b, rows.to_a[0])
        return int(sent_ns[0]) - self._rough[host]

    def _times(self, host: str, sent_ns: Longs) -> Floats:
        """By the reference, since the origin."""
        times = (sent_ns - (self._rough[host] + self._origin)).astype(np.float64)
        if host not in self._guesses:
            return times
        start_ns, length_ns = self._span
        return times - self._guesses[host].line.at((times - (start_ns - self._origin)) / length_ns)

    def _points(self, sender: str, receiver: str, time: Floats, ahead_ns: Longs, sign: int) -> Points:
        """Bounds of what is left of the difference of two clocks."""
        left_ns = (ahead_ns - (self._rough[receiver] - self._rough[sender])).astype(np.float64)
        known = self._guesses.get(sender)
        unsure_ns = 2 * MOST_DRIFT * min(known.uncertainty_ns, FAR_NS / 4) if known else 0.0
        return Points(time / self._span[1], sign * (left_ns + unsure_ns))


def _negated(bounds: tuple[float, float]) -> tuple[float, float]:
    return -bounds[1], -bounds[0]


def _mirrored(bounds: Bounds) -> Bounds:
    """Of the difference with the other sign."""
    return Bounds(
        Points(bounds.below.share, -bounds.below.ns),
        Points(bounds.above.share, -bounds.above.ns),
        bounds.most_slope_ns,
    )


def _tree(widths: Mapping[Pair, float]) -> dict[str, list[str]]:
    """By host: its neighbours in a tree of the closest bounds."""
    near: dict[str, list[str]] = {host: [] for pair in widths for host in pair}
    group = {host: host for host in near}

    def of(host: str) -> str:
        while group[host] != host:
            group[host] = host = group[group[host]]
        return host

    for pair in sorted(widths, key=lambda pair: (widths[pair], pair)):
        a, b = of(pair.a), of(pair.b)
        if a != b:
            group[b] = a
            near[pair.a].append(pair.b)
            near[pair.b].append(pair.a)
    return near


def _parts(near: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """The hosts that are connected with each other."""
    left = dict.fromkeys(near)
    while left:
        first = next(iter(left))
        part = [first, *(b for _, b in _outwards(first, near))]
        for host in part:
            del left[host]
        yield part


def _outwards(first: str, near: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Each host that can be reached, with the one before it."""
    seen, frontier = {first}, [first]
    while frontier:
        a = frontier.pop()
        for b in near[a]:
            if b not in seen:
                seen.add(b)
                frontier.append(b)
                yield a, b

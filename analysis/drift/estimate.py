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

from analysis.drift.correction import HostClock
from analysis.drift.graph import Pair, outwards, parts, tree_of
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
UNKNOWN_NS = FAR_NS / 4
"""Who is less certain than that knows nothing: there is traffic in one direction alone."""


class Bounding(NamedTuple):
    """Least delays from one host to another: integers, as captured."""

    sent_ns: Longs
    """By the sender's clock."""
    ahead_ns: Longs
    """By so much the receiver's clock can be ahead, if the link delays what it certainly delays."""
    unsure_ns: Longs
    """By so much more, since nobody knows by whose clock the link delays."""


@dataclass(frozen=True, slots=True)
class _Traffic:
    """The least delays between two hosts: integers, as captured."""

    to_b: Bounding
    """What `b` got from `a`."""
    to_a: Bounding
    """What `a` got from `b`."""

    def constant(self) -> tuple[float, float]:
        """If neither clock drifts: by how much `b` is ahead, at least and at most."""
        low = -int(self.to_a.ahead_ns.min()) if len(self.to_a.ahead_ns) else -np.inf
        high = int(self.to_b.ahead_ns.min()) if len(self.to_b.ahead_ns) else np.inf
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
    reference: str = "",
) -> dict[str, HostClock]:
    """The clock of each host that shares a link with another, by host.

    Args:
        least: Of all links.
        certain_ns: What a direction of a link certainly delays; 0 for those that are not named.
        hosts: Whose clock a node reads.
        tolerance_ns: Packets may arrive so much too early and nothing is wrong.
        reference: The host by whose clock all times are wanted; empty: the one with whose clock most agree.
    """
    traffic = _by_pair(least, certain_ns, hosts)
    set_while_running: dict[str, float] = {}
    found: dict[str, HostClock] = {}
    while traffic:
        network = _solved(traffic, tolerance_ns, reference)
        if not network.broken:
            found = network.clocks()
            break
        host = _culprit(network.broken, traffic, network.references, reference)
        set_while_running[host] = max(ns for pair, ns in network.broken.items() if host in pair)
        traffic = {pair: rows for pair, rows in traffic.items() if host not in pair}
    for host, residual_ns in set_while_running.items():
        found[host] = HostClock(host, 0, 0.0, 0, None, round(residual_ns), even=False)
    return dict(sorted(found.items()))


def _solved(traffic: Mapping[Pair, _Traffic], tolerance_ns: int, reference: str) -> _Network:
    """From the reference with which most clocks are right; any one shows which that is."""
    network = _Network(traffic, tolerance_ns, (reference,))
    preferred = [
        reference if reference in part else best
        for part, best in zip(network.connected, network.preferred(), strict=True)
    ]
    return network if preferred == network.references else _Network(traffic, tolerance_ns, preferred)


def _by_pair(
    least: LeastDelays, certain_ns: Mapping[tuple[int, int], int], hosts: Mapping[int, str]
) -> dict[Pair, _Traffic]:
    found: dict[Pair, tuple[list[Bounding], list[Bounding]]] = {}
    for (from_id, to_id), sent_ns, least_ns in _directions(least):
        a, b = hosts[from_id], hosts[to_id]
        if a != b:
            certain = certain_ns.get((from_id, to_id), 0)
            unsure = np.full(len(sent_ns), int(certain * MOST_DRIFT) + 1 if certain else 0)
            sides = found.setdefault(Pair(min(a, b), max(a, b)), ([], []))
            sides[a > b].append(Bounding(sent_ns, least_ns - certain, unsure))
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


def _joined(parts: list[Bounding]) -> Bounding:
    if not parts:
        return Bounding(*(np.empty(0, np.int64) for _ in Bounding._fields))
    return Bounding(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _culprit(
    broken: Mapping[Pair, float],
    traffic: Mapping[Pair, _Traffic],
    references: Collection[str],
    trusted: str,
) -> str:
    """The host that explains most of the contradictions: then one with few links that are right.

    It is never the one by whose clock all is judged.
    """
    wrong = Counter(host for pair in broken for host in pair)
    links = Counter(host for pair in traffic for host in pair)
    return max(
        sorted({*wrong} - {trusted}),
        key=lambda host: (wrong[host] / links[host], wrong[host], host not in references),
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
    """What is certain."""
    _nominal: dict[Pair, Bounds] = field(default_factory=dict)
    """Closer ones, if all is as it should be: a line within both is better than one within these alone."""
    _boxes: dict[Pair, Box] = field(default_factory=dict)
    _span: tuple[int, int] = (0, 1)
    connected: list[list[str]] = field(default_factory=list)
    _links: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._rough_estimate()
        for _ in range(ROUNDS):
            self._round()

    def preferred(self) -> list[str]:
        """The host in each part with whose clock most others agree; of several the one with most links."""
        chosen = []
        for part in self.connected:
            lines = np.array([self._whole_line(host) for host in part])
            unsure = np.array([self._guesses[host].uncertainty_ns for host in part])
            apart = np.abs(lines[:, None] - lines[None]).max(axis=2)
            agree = apart <= unsure[:, None] + unsure[None] + self.tolerance_ns
            agree[:, unsure > UNKNOWN_NS] = agree[unsure > UNKNOWN_NS] = False
            agreeing = agree.sum(axis=1)
            best = max(range(len(part)), key=lambda n: (agreeing[n], self._links[part[n]], -n))
            chosen.append(part[best])
        return chosen

    def clocks(self) -> dict[str, HostClock]:
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
            known = None if uncertain > UNKNOWN_NS else round(uncertain)
            found[host] = HostClock(host, offset_ns, drift, start_ns, known, round(residuals[host]))
        return found

    def _whole_line(self, host: str) -> Line:
        rough = float(self._rough[host])
        return self._guesses[host].line.plus(Line(rough, rough))

    def _rough_estimate(self) -> None:
        """Constants over a tree of the closest bounds."""
        constants = {pair: rows.constant() for pair, rows in self.traffic.items()}
        near = tree_of({pair: max(high - low, 0.0) for pair, (low, high) in constants.items()})
        both_ways = (pair for pair, bounds in constants.items() if np.isfinite(bounds).all())
        self._links = Counter(host for pair in both_ways for host in pair)
        self.connected = [sorted(part) for part in parts(near)]
        for part in self.connected:
            wanted = [host for host in part if host in self.wanted]
            reference = wanted[0] if wanted else max(part, key=lambda host: self._links[host])
            self.references.append(reference)
            self._rough[reference] = 0
            for a, b in outwards(reference, near):
                low, high = constants[Pair(a, b)] if a < b else _negated(constants[Pair(b, a)])
                known = [bound for bound in (low, high) if np.isfinite(bound)]
                self._rough[b] = self._rough[a] + round(sum(known) / len(known))

    def _round(self) -> None:
        """Bounds with times as they are known by now, and from them all lines again."""
        self._set_bounds()
        self.broken = {}
        self._boxes = {}
        lines: dict[Pair, list[Line]] = {}
        for pair, bounds in self._bounds.items():
            lines[pair] = bounds.lines() or self._contradictory(pair, bounds)
            self._boxes[pair] = box_of(lines[pair])
        self._guesses = {}
        for reference in self.references:
            self._spread(reference, lines)
        allowed = self.tolerance_ns + ROUNDED_NS
        for pair, violation_ns in self._violations():
            if violation_ns > allowed + sum(self._guesses[host].uncertainty_ns for host in pair):
                self.broken[pair] = max(violation_ns, self.broken.get(pair, 0.0))

    def _contradictory(self, pair: Pair, bounds: Bounds) -> list[Line]:
        """The lines with the least slack, between bounds that leave none without; note it if that is much."""
        slack_ns = bounds.slack_ns(self.tolerance_ns)
        if slack_ns is None:
            slack_ns = bounds.slack_ns(UNKNOWN_NS)
            self.broken[pair] = UNKNOWN_NS if slack_ns is None else slack_ns
        return bounds.lines(FAR_NS / 2 if slack_ns is None else slack_ns)

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
        box = self._boxes[pair] if forwards else self._boxes[pair].reversed()
        known = self._guesses[before]
        both = [
            bounds[pair] if forwards else _mirrored(bounds[pair]) for bounds in (self._nominal, self._bounds)
        ]
        line = self._simple(host, known, both)
        if line is None:
            middle = middle_of(lines[pair])
            line = known.line.plus(middle if forwards else ZERO.minus(middle))
        return _Guess(line, known.box.plus(box))

    def _simple(self, host: str, before: _Guess, bounds: Sequence[Bounds]) -> Line | None:
        """That the clock is right, or else a constant, by the first bounds that allow it; None: none do.

        A clock can be right as well if that contradicts no more than how uncertain the one before it is.
        """
        right = Line(-float(self._rough[host]), -float(self._rough[host]))
        unsure_ns = before.uncertainty_ns if before.uncertainty_ns < UNKNOWN_NS else 0.0
        allowed_ns = self.tolerance_ns + unsure_ns
        if any(each.violation_ns(right.minus(before.line)) <= allowed_ns for each in bounds):
            return right
        constants = (each.constant_beside(before.line) for each in bounds)
        return next((Line(found, found) for found in constants if found is not None), None)

    def _set_bounds(self) -> None:
        times = {
            pair: (self._times(pair.a, rows.to_b.sent_ns), self._times(pair.b, rows.to_a.sent_ns))
            for pair, rows in self.traffic.items()
        }
        first = min(float(each.min()) for pair in times.values() for each in pair if len(each))
        last = max(float(each.max()) for pair in times.values() for each in pair if len(each))
        self._span = (self._origin + round(first), max(round(last - first), 1))
        unsure_ns = {host: 2 * MOST_DRIFT * guess.uncertainty_ns for host, guess in self._guesses.items()}
        for pair, (there, back) in times.items():
            shares = (there - first) / self._span[1], (back - first) / self._span[1]
            unsure = max(unsure_ns.get(host, 0.0) for host in pair)
            unsure = unsure if unsure < 2 * MOST_DRIFT * UNKNOWN_NS else 0.0
            self._nominal[pair] = self._bounds_of(pair, shares, (0, 0.0))
            self._bounds[pair] = self._bounds_of(pair, shares, (1, unsure))

    def _bounds_of(self, pair: Pair, shares: tuple[Floats, Floats], loose: tuple[int, float]) -> Bounds:
        """Of what is left of the difference of two clocks; how loose they are is a factor and a term."""
        rows, rough_ns = self.traffic[pair], self._rough[pair.b] - self._rough[pair.a]
        above = (rows.to_b.ahead_ns - rough_ns + loose[0] * rows.to_b.unsure_ns).astype(np.float64)
        below = (rows.to_a.ahead_ns + rough_ns + loose[0] * rows.to_a.unsure_ns).astype(np.float64)
        return Bounds(
            Points(shares[0], above + loose[1]),
            Points(shares[1], -(below + loose[1])),
            2 * MOST_DRIFT * self._span[1],
        )

    @property
    def _origin(self) -> int:
        """What times are counted from, so that they fit into floating point."""
        pair, rows = next(iter(self.traffic.items()))
        host, sent_ns = (pair.a, rows.to_b.sent_ns) if len(rows.to_b.sent_ns) else (pair.b, rows.to_a.sent_ns)
        return int(sent_ns[0]) - self._rough[host]

    def _times(self, host: str, sent_ns: Longs) -> Floats:
        """By the reference, since the origin."""
        times = (sent_ns - (self._rough[host] + self._origin)).astype(np.float64)
        if host not in self._guesses:
            return times
        start_ns, length_ns = self._span
        return times - self._guesses[host].line.at((times - (start_ns - self._origin)) / length_ns)


def _negated(bounds: tuple[float, float]) -> tuple[float, float]:
    return -bounds[1], -bounds[0]


def _mirrored(bounds: Bounds) -> Bounds:
    """Of the difference with the other sign."""
    return Bounds(
        Points(bounds.below.share, -bounds.below.ns),
        Points(bounds.above.share, -bounds.above.ns),
        bounds.most_slope_ns,
    )

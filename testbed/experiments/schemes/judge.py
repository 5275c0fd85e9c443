"""From what was observed to a row: what was owed, how far from the ideal (T1, E8), what is held (T6, E9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from nodes.routing.schemes.state import Held, State, measured
from nodes.scheme_formulas import formula
from testbed.experiments.schemes.networks import Links, Load, links_of, load_of
from testbed.experiments.schemes.observed import Crossing, Observed
from testbed.experiments.schemes.rows import Row
from testbed.experiments.schemes.sweep import Case
from topologies.ideal import ShortestPaths

MILLISECOND = 1_000_000
ACCESS_NS = 2_000
"""From the sender to its router, and from the last router to the receiver."""
Message = tuple[int, int]
"""(source, sequence)."""


@dataclass(frozen=True)
class Oracle:
    """What is owed in a case, and what it takes at least: the same for all schemes."""

    case: Case
    seed: int

    @cached_property
    def links(self) -> Links:
        """The links of the network."""
        return links_of(self.case, self.seed)

    @cached_property
    def load(self) -> Load:
        """Who sends and wants what."""
        return load_of(self.case, self.seed)

    @cached_property
    def paths(self) -> dict[int, ShortestPaths]:
        """From each sender's router."""
        edges = [(a, b, cost) for (a, b), cost in self.links.items()]
        return {sender: ShortestPaths(edges, sender) for sender in self.load.senders}

    @cached_property
    def ideal(self) -> tuple[int, int]:
        """Links of all messages' ideal trees, and how many of these are not known to be the smallest."""
        trees = [
            self.paths[sender].ideal(self.load.receivers_of(at))
            for at, (sender, _) in enumerate(self.load.published)
        ]
        return sum(tree.size for tree in trees), sum(not tree.exact for tree in trees)


def row_of(oracle: Oracle, scheme: str, seen: Observed) -> Row:
    """The row of a scheme in a case."""
    case = oracle.case
    owed, got = _owed(oracle, seen), _delivered(seen)
    stretches = _stretches(oracle, seen)
    ideal, inexact = oracle.ideal
    return Row(
        shape=case.shape,
        routers=case.routers,
        links=len(oracle.links),
        senders=case.senders,
        receivers=case.receivers,
        messages=case.messages,
        scheme=scheme,
        owed=owed.total(),
        missing=(owed - got).total(),
        duplicate=sum(copies - 1 for copies in got.values()),
        spurious=len(got.keys() - owed.keys()),
        crossings=len(seen.crossings),
        wasted=wasted(seen.crossings, _places(seen)),
        ideal=ideal,
        inexact=inexact,
        stretch_mean=round(fmean(stretches), 4) if stretches else 1.0,
        stretch_max=round(max(stretches, default=1.0), 4),
        message_bytes=seen.message_bytes,
        fib_bytes=seen.fib_bytes,
        classes=seen.all_classes.classes,
        constraints=seen.all_classes.shared.constraints,
        unreduced=seen.all_classes.shared.parts_constraints,
        apart=seen.all_classes.apart.constraints,
        state_bits=_bits(measured(scheme, seen.state, seen.figures)),
        unreduced_bits=_bits(measured(scheme, _unreduced(seen.state), seen.figures)),
        formula_bits=_bits(formula(scheme, seen.figures)),
        control_packets=seen.control_packets,
        control_bytes=seen.control_bytes,
        converged_ms=seen.converged_ns / MILLISECOND,
    )


def _bits(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _unreduced(state: State) -> State:
    """The state as it were with alpha = 1."""
    return replace(state, shared=_plain(state.shared), apart=_plain(state.apart))


def _plain(held: Held) -> Held:
    return replace(held, bits=held.parts_bits, constraints=held.parts_constraints)


def _owed(oracle: Oracle, seen: Observed) -> Counter[tuple[Message, str]]:
    """Publications in order of time are those of the load."""
    return Counter(
        ((event["source"], event["sequence"]), f"d{receiver}")
        for at, event in enumerate(seen.publications)
        for receiver in oracle.load.receivers_of(at)
    )


def _delivered(seen: Observed) -> Counter[tuple[Message, str]]:
    return Counter(((e["source"], e["sequence"]), e["node"]) for e in seen.deliveries)


def _places(seen: Observed) -> set[tuple[Message, int, int]]:
    """(Message, router, hop count) where a delivery left the network; a receiver's router has its number."""
    return {
        ((e["source"], e["sequence"]), int(e["node"].removeprefix("d")), e["hop_count"])
        for e in seen.deliveries
    }


def wasted(crossings: Iterable[Crossing], delivered: set[tuple[Message, int, int]]) -> int:
    """How many crossings no delivery descends from; a copy leaves a router with one hop more."""
    fruitful, count = set(delivered), 0
    for crossing in sorted(crossings, key=lambda c: -c.hop_count):
        message = crossing.source, crossing.sequence
        if (message, crossing.end, crossing.hop_count + 1) in fruitful:
            fruitful.add((message, crossing.start, crossing.hop_count))
        else:
            count += 1
    return count


def _stretches(oracle: Oracle, seen: Observed) -> list[float]:
    """Of each delivery beyond the sender's own router."""
    sender = {(e["source"], e["sequence"]): int(e["node"].removeprefix("s")) for e in seen.publications}
    found = []
    for event in seen.deliveries:
        paths = oracle.paths[sender[event["source"], event["sequence"]]]
        least_ms = paths.distance[int(event["node"].removeprefix("d"))]
        if least_ms:
            found.append((event["latency_ns"] - ACCESS_NS) / (least_ms * MILLISECOND))
    return found

"""How the network converged: after its start, and after each disturbance.

A disturbance is a time in which the network was not settled (`analysis.history`), from a fault on; faults
that no fixpoint separates are one. Not here: whether the network was right to say so (`calm`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.columns import Numbers
from analysis.course.moments import Intervals
from analysis.findings import NO_CONTROL
from analysis.history import FOREVER, Disturbance, NetworkChange
from analysis.messages.rows import numbers
from analysis.rundir import Run
from nodes.wire.packets import PacketType
from topologies.fault_kinds import KINDS

START = "start"
UNKNOWN_NS = 0


@dataclass(frozen=True, slots=True)
class Episode:
    """The network's start, or a disturbance, until the network had converged."""

    causes: str
    from_ns: int
    """When the network was started, or the first fault happened; UNKNOWN_NS: nobody noted the start."""
    last_ns: int
    """When the last of the faults happened."""
    settled_ns: int
    """When the network had converged by its own word; FOREVER: not any more."""
    took_ns: int | None
    """From the last moment of faults until then, as the network measured it; None: it did not."""
    restarted: tuple[tuple[str, int], ...] = ()
    """Nodes that started again, and when."""

    @property
    def end_ns(self) -> int:
        """The first nanosecond after it."""
        return self.settled_ns + (self.settled_ns != FOREVER)

    def moments(self) -> Iterator[int]:
        """Where it is cut into intervals."""
        yield from (self.from_ns, self.last_ns, self.end_ns)
        yield from (time_ns for _, time_ns in self.restarted)


def episodes_of(run: Run, disturbances: Sequence[Disturbance]) -> list[Episode]:
    """The start first, then the disturbances in order of time."""
    took = {int(e["since_ns"]): e["took_ns"] for e in run.manifest.get("convergence", ())}
    since_ns = min(took, default=UNKNOWN_NS)
    settled_ns = run.start_ns if run.started else FOREVER
    first = Episode(START, since_ns, since_ns, settled_ns, took.get(since_ns))
    return [first, *(_episode(each, took) for each in disturbances)]


def _episode(disturbance: Disturbance, took: dict[int, int | None]) -> Episode:
    causes = disturbance.causes
    measured = [took.get(cause.time_ns) for cause in causes]
    return Episode(
        named(causes),
        disturbance.from_ns,
        causes[-1].time_ns,
        disturbance.until_ns,
        next((each for each in reversed(measured) if each is not None), None),
        tuple((cause.target, cause.time_ns) for cause in causes if _starts_anew(cause)),
    )


def named(causes: Sequence[NetworkChange]) -> str:
    """The faults, as the verdict names them."""
    return ", ".join(f"{cause.do} {cause.target}" for cause in causes)


def _starts_anew(cause: NetworkChange) -> bool:
    repairs = KINDS[cause.do].repairs
    return repairs is not None and repairs.effect == "stops" and repairs.target == "router"


@dataclass(frozen=True, slots=True)
class Costs:
    """Control traffic by interval: of all kinds, and of control payloads alone. The sums can be added."""

    packets: Numbers
    bytes: Numbers
    payload_packets: Numbers
    payload_bytes: Numbers

    def __add__(self, other: Costs) -> Costs:
        """Of both parts."""
        return Costs(*(getattr(self, name) + getattr(other, name) for name in Costs.__slots__))

    def within(self, intervals: slice) -> dict[str, int]:
        """The sums over some intervals."""
        return {name: int(getattr(self, name)[intervals].sum()) for name in Costs.__slots__}


def no_costs(intervals: Intervals) -> Costs:
    """Of no traffic."""
    return Costs(*(np.zeros(intervals.count, dtype=np.int64) for _ in Costs.__slots__))


def costs_of(rows: pa.Table, intervals: Intervals) -> Costs:
    """Over packets; each counts once for each link, as in table `control`."""
    once = pc.or_kleene(rows["sent"], rows["peer_is_client"])
    control = pc.invert(pc.is_in(rows["type"], pa.array(NO_CONTROL, pa.int32())))
    chosen = rows.select(["time_ns", "packet_bytes", "type"]).filter(pc.and_(once, control))
    which = intervals.of(numbers(chosen["time_ns"]))
    sizes = numbers(chosen["packet_bytes"])
    payload = numbers(chosen["type"]) == int(PacketType.CONTROL)
    ones = np.ones(len(which))
    weights = (ones, sizes, payload, np.where(payload, sizes, 0))
    found = (np.bincount(which, weights=each, minlength=intervals.count) for each in weights)
    return Costs(*(each.astype(np.int64) for each in found))

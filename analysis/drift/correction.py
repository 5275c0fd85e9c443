"""Times as the clock of the reference would have stamped them.

A clock that is ahead by a line shows `T + offset + drift * (T - start)` at time T. Times since 1970 do not
fit into floating point; so what is large stays an integer, and only the small part by which a clock has
drifted since the start is computed as a fraction, and rounded to a nanosecond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]


class Timed(Protocol):
    """A dataclass with a time."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def time_ns(self) -> int:
        """By the clock of some node."""


T = TypeVar("T", bound=Timed)


@dataclass(frozen=True, slots=True)
class HostClock:
    """The clock of a host, against that of the reference."""

    host: str
    offset_ns: int
    """By how much it is ahead at the start."""
    drift: float
    """How much faster it runs: 1e-6 gains a microsecond each second."""
    start_ns: int
    """The moment of the offset, by the clock of the reference."""
    uncertainty_ns: int | None
    """Corrected times are right to within this, from the start to the end; None: nobody can say."""
    residual_ns: int
    """By how much packets still arrive too early, with corrected times, at most."""
    even: bool = True
    """Whether it runs as a line; else it was set while it ran, and cannot be corrected."""

    @property
    def off(self) -> bool:
        """Whether its times are not those of the reference."""
        return bool(self.offset_ns or self.drift or not self.even)

    @property
    def correctable(self) -> bool:
        """Whether corrected times say something."""
        return self.even and self.uncertainty_ns is not None

    @property
    def drift_ppm(self) -> float:
        """In parts per million."""
        return self.drift * 1e6


def corrected(node_id: Longs, time_ns: Longs, clocks: Mapping[int, HostClock]) -> Longs:
    """Times of the reference, for times by the clocks of nodes.

    Args:
        node_id: By whose clock each time is.
        time_ns: The times.
        clocks: By node; times of nodes that are not in it, or that cannot be corrected, stay as they are.
    """
    known = sorted(node for node, clock in clocks.items() if clock.off and clock.correctable)
    if not known:
        return time_ns
    place = np.searchsorted(known, node_id)
    place[place == len(known)] = 0
    concerned = np.asarray(known, np.int64)[place] == node_id
    chosen = [clocks[node] for node in known]
    offset, start, gain = (
        np.array(column)[place]
        for column in (
            [clock.offset_ns for clock in chosen],
            [clock.start_ns for clock in chosen],
            [clock.drift / (1 + clock.drift) for clock in chosen],
        )
    )
    without_offset = time_ns - offset
    gained = np.rint((without_offset - start) * gain).astype(np.int64)
    return np.where(concerned, without_offset - gained, time_ns)


def with_corrected_times(
    rows: Sequence[T], node_of: Callable[[T], int], clocks: Mapping[int, HostClock]
) -> list[T]:
    """Rows with times of the reference; `node_of` says by whose clock each has its time."""
    if not clocks:
        return list(rows)
    nodes = np.array([node_of(row) for row in rows], np.int64)
    times = corrected(nodes, np.array([row.time_ns for row in rows], np.int64), clocks)
    return [replace(row, time_ns=time_ns) for row, time_ns in zip(rows, times.tolist(), strict=True)]

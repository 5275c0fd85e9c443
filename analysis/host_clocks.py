"""Clocks of hosts, from captures that come without a plan: who is ahead of whom, and by how much.

The two ends of a link bound the difference of two clocks, as where there is a plan (`analysis.drift`). Nobody
knows here what a link delays, so it is taken to delay nothing: that is less certain, and never wrong. Two
things have to be known of a step over a link. Which end sent it: hop counts in the routers say that, times do
not, since they are what is asked about. And which captures are of one host: their names say that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.drift.correction import HostClock
from analysis.drift.estimate import estimate
from analysis.drift.least import LeastDelays, merged, window_ns
from topologies.quantities import duration_text

TOLERANCE_NS = 1_000_000
"""A message may arrive so much before it left: so late, or early, a busy machine takes the time."""

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Windows(NamedTuple):
    """The time of all captures in parts, of each of which the least delays are wanted."""

    start_ns: int
    length_ns: int
    number: int

    @classmethod
    def of(cls, start_ns: int, end_ns: int) -> Windows:
        """Between the first and the last time of any capture."""
        length_ns = window_ns(end_ns - start_ns)
        return cls(start_ns, length_ns, (end_ns - start_ns) // length_ns + 1)

    def at(self, time_ns: Longs) -> Longs:
        """The number of the part in which each time is."""
        return ((time_ns - self.start_ns) // self.length_ns).clip(0, self.number - 1)


class Times(NamedTuple):
    """How the times of captures are read."""

    windows: Windows
    clocks: Mapping[int, HostClock] = {}
    """Those by which times are corrected, by the number of the capture."""


def least_of_steps(
    ends: tuple[Longs, Longs], times: tuple[Longs, Longs], linked: Flags, windows: Windows
) -> LeastDelays:
    """The least delays of steps over links, by direction and window.

    Args:
        ends: The numbers of the captures where each was sent and where it arrived.
        times: When, by the clocks there.
        linked: By two numbers: whether they are the two ends of a link.
        windows: Of the whole.
    """
    direction = np.cumsum(linked).reshape(linked.shape) - 1
    window, delay_ns = windows.at(times[0]), times[1] - times[0]
    key = direction[ends] * windows.number + window
    least = np.full((int(linked.sum()) + 1) * windows.number, np.iinfo(np.int64).max)
    np.minimum.at(least, key, delay_ns)
    kept = delay_ns == least[key]
    columns = (ends[0], ends[1], window, delay_ns, times[0])
    return merged([LeastDelays(*(column[kept] for column in columns))])


@dataclass(frozen=True, slots=True)
class HostClocks:
    """What captures say of the clocks of the hosts on which they were made."""

    by_host: Mapping[str, HostClock]
    """Of hosts that share a link with another host, seen at both ends."""
    by_place: Mapping[int, HostClock]
    """Those by which times can be corrected, by the number of the capture."""

    @classmethod
    def of(cls, least: LeastDelays, hosts: Sequence[str | None]) -> HostClocks:
        """From the least delays between captures, and the host of each; None: its name does not say it."""
        known = np.array([host is not None for host in hosts], bool)
        usable = known[least.from_id] & known[least.to_id]
        rows = LeastDelays(*(column[usable] for column in least))
        names = {number: host for number, host in enumerate(hosts) if host is not None}
        found = estimate(rows, {}, names, TOLERANCE_NS)
        corrected = {
            number: found[host]
            for number, host in names.items()
            if host in found and found[host].off and found[host].correctable
        }
        return cls(found, corrected)

    def rows(self) -> list[dict[str, Any]]:
        """For the summary: of each host."""
        corrected = {clock.host for clock in self.by_place.values()}
        return [
            {
                "host": clock.host,
                "offset_ns": clock.offset_ns if clock.even else None,
                "drift_ppm": round(clock.drift_ppm, 3) if clock.even else None,
                "uncertainty_ns": clock.uncertainty_ns,
                "residual_ns": clock.residual_ns,
                "even": clock.even,
                "corrected": clock.host in corrected,
            }
            for clock in self.by_host.values()
        ]

    def notes(self) -> list[str]:
        """By which clocks times were corrected."""
        hosts = {clock.host: clock for clock in self.by_place.values()}
        return [_corrected(clock) for clock in hosts.values()]

    def problems(self) -> list[str]:
        """Which clocks cannot be corrected."""
        return [
            f"the clock of {clock.host} was set while the captures went on, or does not run evenly: "
            f"messages arrive {duration_text(clock.residual_ns)} too early however its times are corrected"
            for clock in self.by_host.values()
            if not clock.even
        ]

    def without(self, hosts: Iterable[str]) -> list[str]:
        """Those of these hosts of whose clocks nothing can be said."""
        known = {clock.host for clock in self.by_host.values() if not clock.even or clock.correctable}
        return sorted({*hosts} - known)


def _corrected(clock: HostClock) -> str:
    ahead = "ahead of" if clock.offset_ns > 0 else "behind"
    drift = f" and drifts by {clock.drift_ppm:+.1f} ppm" if clock.drift else ""
    return (
        f"the clock of {clock.host} is {duration_text(abs(clock.offset_ns))} {ahead} the others{drift}: "
        f"its times were corrected, and are right to within {duration_text(clock.uncertainty_ns or 0)}"
    )

"""What became of messages on links and within routers: what got lost, was wasted, and how long it stayed.

Counted from crossings, of which all of one message are there together; the sums can be added. How a message
is followed is in `analysis.messages.crossings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.columns import Numbers, groups, sums
from analysis.course.moments import slice_of
from analysis.distribution import Distribution
from analysis.findings import Slices

OF_CROSSINGS = (
    "source", "sequence", "from_id", "to_id", "access", "time_ns", "hop_count", "copies", "received_ns",
    "arrived", "wasted",
)  # fmt: skip
OF_PUBLICATIONS = ("source", "sequence", "node_id", "time_ns", "hop_count")
"""Columns of the tables."""
MESSAGE = ("source", "sequence")


@dataclass(slots=True)
class Ways:
    """Sums over crossings."""

    lost: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    """Copies that never arrived, by the nodes from and to which they were sent, and by slice."""
    wasted: Counter[int] = field(default_factory=Counter)
    """Copies from which no delivery descends, by the router to which they were sent."""
    residence: dict[int, Distribution] = field(default_factory=dict)
    """By router: from when a message came until it was sent on, for each link over which it was."""

    def add(self, other: Ways) -> None:
        """Take in those of another part."""
        self.lost.update(other.lost)
        self.wasted.update(other.wasted)
        for router, distribution in other.residence.items():
            self.residence.setdefault(router, Distribution()).add(distribution)


def ways_of(crossings: pa.RecordBatch, publications: pa.RecordBatch, slices: Slices) -> Ways:
    """The sums over crossings of whole messages; the publications are those of these messages, or more."""
    residence = dict(_residence(crossings, publications))
    return Ways(_lost(crossings, slices), _wasted(crossings), residence)


def _lost(crossings: pa.RecordBatch, slices: Slices) -> Counter[tuple[int, int, int]]:
    """Of links between routers; what a client received is in no capture."""
    lost = _numbers(crossings, "copies") - _numbers(crossings, "arrived")
    between = ~crossings["access"].to_numpy(zero_copy_only=False)
    rows = crossings.filter(pa.array(between & (lost > 0)))
    lost = lost[between & (lost > 0)]
    columns = (
        _numbers(rows, "from_id"),
        _numbers(rows, "to_id"),
        slice_of(_numbers(rows, "time_ns"), slices),
    )
    return Counter({(key[0], key[1], key[2]): copies for key, copies in sums(columns, lost)})


def _wasted(crossings: pa.RecordBatch) -> Counter[int]:
    rows = crossings.filter(pc.and_(crossings["wasted"], pc.invert(crossings["access"])))
    found = sums((_numbers(rows, "to_id"),), _numbers(rows, "copies"))
    return Counter({router: copies for (router,), copies in found})


def _residence(crossings: pa.RecordBatch, publications: pa.RecordBatch) -> Iterator[tuple[int, Distribution]]:
    """A router sends on with one hop more, so what left it had come with one hop less."""
    came = crossings.filter(pc.is_valid(crossings["received_ns"]))
    entered = publications.filter(pc.is_valid(publications["time_ns"]))
    left = crossings.filter(pc.is_valid(crossings["time_ns"]))
    arrivals = [
        np.concatenate([_numbers(came, of_crossing), _numbers(entered, of_publication)])
        for of_crossing, of_publication in _PLACES
    ]
    departures = [*(_numbers(left, name) for name in (*MESSAGE, "from_id")), _numbers(left, "hop_count") - 1]
    if not len(departures[0]):
        return
    place, _ = groups(*(np.concatenate(pair) for pair in zip(arrivals[:4], departures, strict=True)))
    count = len(arrivals[0])
    first_ns = np.full(int(place.max()) + 1, UNKNOWN_NS)
    np.minimum.at(first_ns, place[:count], arrivals[4])
    came_ns = first_ns[place[count:]]
    known = came_ns != UNKNOWN_NS
    stayed_ns, router = (_numbers(left, "time_ns") - came_ns)[known], departures[2][known]
    for each in np.unique(router):
        yield int(each), Distribution.of(stayed_ns[router == each])


UNKNOWN_NS = np.iinfo(np.int64).max
_PLACES = (
    ("source", "source"),
    ("sequence", "sequence"),
    ("to_id", "node_id"),
    ("hop_count", "hop_count"),
    ("received_ns", "time_ns"),
)
"""Where and when a message came to a router: columns of crossings and of publications."""


def _numbers(rows: pa.RecordBatch, name: str) -> Numbers:
    column = rows[name].cast(pa.int64())
    found: Numbers = (column.fill_null(0) if column.null_count else column).to_numpy()
    return found

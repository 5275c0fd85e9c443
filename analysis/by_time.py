"""What went where, how long and how far deliveries went, and what clients got, by time of publication.

For the report, in which a part of the run is chosen: its figures are sums over slices of time. Not here: how
they are counted (`messages.times`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.columns import Numbers
from analysis.findings import Slices

MOST_NUMBERS = 350_000
"""Of links, clients and routers, in a page: about 0.7 MB. 100 routers with 300 clients have fewer."""
BINS_A_DECADE = 24
"""Of latencies: a bin is 10 % wide. Coarser than those of `distribution`, for a page holds many of them."""
OF_CLIENT = (
    "published", "wanted", "owed", "delivered", "missing", "duplicate", "spurious", "lost", "unknown",
)  # fmt: skip
"""What is counted of each client, in the order of the report's table."""
OF_ROUTER = ("entered", "received", "forwarded", "delivered", "wasted")
"""What is counted of each router, in the order of the report's table."""


@dataclass(frozen=True, slots=True)
class ByTime:
    """Counts by slice; those of slices in which there was nothing are left out."""

    slices: Slices
    links: Mapping[tuple[int, int], Mapping[int, Sequence[int]]]
    """By the link's two nodes, the smaller first: to the second, to the first, wasted."""
    clients: Mapping[int, Mapping[int, Sequence[int]]]
    """In the order of `OF_CLIENT`."""
    latencies: Mapping[int, Mapping[int, int]]
    """How many were in each bin (`bin_of`)."""
    hops: Mapping[int, Mapping[int, int]]
    """How many deliveries passed so many routers."""
    routers: Mapping[int, Mapping[int, Sequence[int]]]
    """In the order of `OF_ROUTER`."""


def bin_of(latency_ns: Numbers) -> Numbers:
    """The number of each latency's bin: those of one have the same tens and, about, the same first digits."""
    found: Numbers = np.floor(BINS_A_DECADE * np.log10(np.maximum(latency_ns, 1))).astype(np.int64)
    return found


def bin_start_ns(number: int) -> float:
    """The least latency in a bin."""
    return math.pow(10, number / BINS_A_DECADE)

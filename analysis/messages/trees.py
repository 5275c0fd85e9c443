"""Delivery trees beside the ideal ones, and latencies beside the fastest paths' (RTE 2.2, 2.3; T1, E8).

The ideal tree is the smallest of those that reach everybody over a shortest path by the links' costs, in the
network as planned: what broke during the run is not taken out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from analysis.columns import Numbers, groups
from analysis.counts import ARRIVED
from analysis.messages.context import Context
from analysis.messages.counting import Outcomes
from analysis.messages.crossings import Crossings
from analysis.messages.numbering import UNKNOWN_NS, Flags, Messages
from analysis.messages.pairs import Pairs
from analysis.messages.rows import numbers
from topologies.ideal import Edge, ShortestPaths

REMEMBERED = 100_000
"""Trees that a task keeps: messages of one source often go to the same routers."""
TO_GET = (*ARRIVED, "missing", "unknown")
"""Verdicts of the pairs whose clients were to get a message, or got it rightly."""


@dataclass(frozen=True, slots=True)
class Trees:
    """Columns: a message that reached a router, its crossings, and those of its ideal tree."""

    message: Numbers
    router: Numbers
    destinations: Numbers
    """How many routers have clients that were to get it, or got it rightly."""
    crossings: Numbers
    wasted: Numbers
    ideal: Numbers
    exact: Flags


def trees_of(
    messages: Messages, pairs: Pairs, outcomes: Outcomes, crossings: Crossings, context: Context
) -> Trees:
    """The trees of all messages that a router captured coming in."""
    which = np.flatnonzero(messages.entered_ns != UNKNOWN_NS)
    router = numbers(messages.entered["node_id"])[which]
    destinations = _destinations(messages, pairs, outcomes, context)
    wanted = [destinations[at] for at in which.tolist()]
    paths = lru_cache(None)(lambda source: ShortestPaths(context.costs, source))

    @lru_cache(REMEMBERED)
    def ideal(source: int, destinations: tuple[int, ...]) -> tuple[int, bool]:
        tree = paths(source).ideal(destinations)
        return tree.size, tree.exact

    found = [ideal(*each) for each in zip(router.tolist(), wanted, strict=True)]
    met = crossings.met
    copies = np.where(met.access, 0, met.copies)
    crossed, wasted = (_sums(met.message, each, messages) for each in (copies, copies * crossings.wasted))
    return Trees(
        which,
        router,
        np.array([len(each) for each in wanted], np.int64),
        crossed[which],
        wasted[which],
        np.array([size for size, _ in found], np.int64),
        np.array([exact for _, exact in found], np.bool_),
    )


def _sums(message: Numbers, values: Numbers, messages: Messages) -> Numbers:
    return np.bincount(message, values, minlength=len(messages.source)).astype(np.int64)


def _destinations(
    messages: Messages, pairs: Pairs, outcomes: Outcomes, context: Context
) -> list[tuple[int, ...]]:
    """By message: the routers of those who were to get it, ascending."""
    homes = context.homes
    clients = np.array(sorted(homes), np.int64)
    routers = np.array([homes[client] for client in clients.tolist()], np.int64)
    chosen = np.flatnonzero(outcomes.is_one_of(TO_GET) & np.isin(pairs.client, clients))
    router = routers[np.searchsorted(clients, pairs.client[chosen])]
    message = pairs.message[chosen]
    _, first = groups(message, router)
    message, router = message[first], router[first]
    order = np.lexsort((router, message))
    ends = np.searchsorted(message[order], np.arange(len(messages.source) + 1)).tolist()
    ordered = router[order].tolist()
    return [tuple(ordered[begin:end]) for begin, end in pairwise(ends)]


def stretches_of(
    messages: Messages, pairs: Pairs, latency_ns: Numbers, delays: Sequence[Edge]
) -> NDArray[np.float64]:
    """Each timed delivery beyond the first router: its latency over the delays of the fastest path.

    Args:
        messages: All messages.
        pairs: Pairs of them with clients.
        latency_ns: By pair.
        delays: Links between routers, with their delays in nanoseconds; none, if these are not known.
    """
    if not delays:
        return np.empty(0)
    first = numbers(messages.entered["node_id"])[pairs.message]
    timed = np.flatnonzero((latency_ns != UNKNOWN_NS) & (first != pairs.router))
    way, example = groups(first[timed], pairs.router[timed])
    paths = lru_cache(None)(lambda source: ShortestPaths(delays, source))
    ends = zip(first[timed][example].tolist(), pairs.router[timed][example].tolist(), strict=True)
    distances = np.array([paths(begin).distance[end] for begin, end in ends], np.float64)
    stretches: NDArray[np.float64] = latency_ns[timed] / distances[way]
    return stretches

"""Pairs of a message and a client: what was due, what left a router, and what the client reports.

What the analysis does with joins in Spark is done here with numbers for messages, clients and dues, in
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis import AnalysisError
from analysis.columns import coded
from analysis.contents import content_of
from analysis.dues import BulkOracle, Dues
from analysis.matching import TooMuchError
from analysis.oracle import Due, Oracle
from analysis.quick.sightings import Column, Seen, Sightings

MOST_CANDIDATES = 200_000_000
"""Pairs of a message and a filter that may match, some 10 s: more is left to the analysis."""
UNKNOWN_NS = np.iinfo(np.int64).min
"""A time that is not known."""


@dataclass(frozen=True, slots=True)
class Messages:
    """All messages that were seen anywhere, by number; those of `published` are publications."""

    source: Column
    sequence: Column
    entered_ns: Column
    """UNKNOWN_NS: no router captured it coming in."""
    announced_ns: Column
    """UNKNOWN_NS: its client does not report it."""
    content: Sequence[tuple[bytes | None, int, str | None]]

    @property
    def published(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which are publications."""
        return np.not_equal(np.maximum(self.entered_ns, self.announced_ns), UNKNOWN_NS)

    @property
    def time_ns(self) -> Column:
        """When each was published."""
        return np.where(self.entered_ns == UNKNOWN_NS, self.announced_ns, self.entered_ns)


class Numbered(NamedTuple):
    """The messages, and which of them each row of the sightings is about."""

    messages: Messages
    left: Column
    reported: Column


@dataclass(frozen=True, slots=True)
class Pairs:
    """Columns: each pair once."""

    message: Column
    client: Column
    due: Column
    """A position in `dues`."""
    copies: Column
    reports: Column
    left_ns: Column
    """When the first copy left, UNKNOWN_NS: none did."""
    hop_count: Column
    """Of that copy."""
    dues: Sequence[Due]
    deviating: Sequence[tuple[int, int]]
    """Of a sample: messages and clients of which the reference model says that something else was due."""


def numbered(seen: Sightings) -> Numbered:
    """Give every message a number."""
    kinds = (seen.entered, seen.announced, seen.left, seen.reported)
    codes = _codes(kinds)
    entered, announced, left, reported = codes
    count = 1 + max((int(each.max()) for each in codes if len(each)), default=-1)
    source, sequence = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for code, each in zip(codes, kinds, strict=True):
        source[code], sequence[code] = each.source, each.sequence
    content: list[tuple[bytes | None, int, str | None]] = [(None, 0, None)] * count
    times = []
    for code, each in ((announced, seen.announced), (entered, seen.entered)):
        first = firsts(code, each.time_ns)
        time_ns = np.full(count, UNKNOWN_NS)
        time_ns[code[first]] = each.time_ns[first]
        times.append(time_ns)
        for message, row in zip(code[first].tolist(), first.tolist(), strict=True):
            content[message] = each.content[row]
    return Numbered(Messages(source, sequence, times[1], times[0], content), left, reported)


def _codes(kinds: Sequence[Seen]) -> list[Column]:
    """A number for each (source, sequence), by row."""
    source = coded(np.concatenate([each.source for each in kinds]))
    sequence = coded(np.concatenate([each.sequence for each in kinds]))
    both = coded(sequence * (1 + source.max(initial=0)) + source)
    return np.split(both, np.cumsum([len(each.source) for each in kinds])[:-1])


def firsts(key: Column, time_ns: Column) -> Column:
    """The row of each key with the least time."""
    order = np.lexsort((time_ns, key))
    ascending = key[order]
    return order[np.flatnonzero(np.diff(ascending, prepend=-1))]


def pairs_of(oracle: Oracle, seen: Sightings, found: Numbered) -> Pairs:
    """Every pair that was due, of which a copy left, or that is reported.

    Raises:
        AnalysisError: It is too much work to find out what was due.
    """
    which, dues, deviating = _due(oracle, found.messages)
    message = which[dues.message]
    messages = np.concatenate([message, found.left, found.reported])
    clients = np.concatenate([dues.client, seen.left.client, seen.reported.client])
    most = 1 + int(clients.max(initial=0))
    number = coded(messages * most + clients)
    count = 1 + int(number.max(initial=-1))
    of_due, of_left, of_reported = np.split(number, np.cumsum([len(message), len(found.left)]))
    first = firsts(of_left, seen.left.time_ns)
    return Pairs(
        _spread(count, number, messages),
        _spread(count, number, clients),
        _spread(count, of_due, dues.due),
        np.bincount(of_left, minlength=count),
        np.bincount(of_reported, minlength=count),
        _spread(count, of_left[first], seen.left.time_ns[first], UNKNOWN_NS),
        _spread(count, of_left[first], seen.left.hop_count[first]),
        dues.kinds,
        deviating,
    )


def _due(oracle: Oracle, messages: Messages) -> tuple[Column, Dues, list[tuple[int, int]]]:
    """The publications, what is due of them, and where the reference model says something else."""
    which = np.flatnonzero(messages.published)
    contents = [content_of(*messages.content[at]) for at in which.tolist()]
    asked = (messages.source[which], messages.time_ns[which], contents)
    bulk = BulkOracle(oracle, MOST_CANDIDATES)
    try:
        dues = bulk.dues(*asked)
    except TooMuchError:
        raise AnalysisError(
            "too many messages nearly match too many predicates here; `cbn analyze` judges any run"
        ) from None
    return which, dues, [(int(which[at]), client) for at, client in bulk.deviating(*asked, dues)]


def _spread(count: int, at: Column, values: Column, otherwise: int = 0) -> Column:
    spread = np.full(count, otherwise, dtype=np.int64)
    spread[at] = values
    return spread

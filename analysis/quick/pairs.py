"""Pairs of a message and a client: what was due, what left a router, and what the client reports.

What the analysis does with joins in Spark is done here with numbers for messages, clients and dues, in
columns. What is due is asked of the oracle, once for all messages of which it must be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from analysis.contents import content_of
from analysis.history import FOREVER
from analysis.oracle import Due, Oracle
from analysis.quick.matching import Matcher
from analysis.quick.sightings import Column, Seen, Sightings

NOTHING_DUE = Due(None, False)
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
    source = _coded(np.concatenate([each.source for each in kinds]))
    sequence = _coded(np.concatenate([each.sequence for each in kinds]))
    both = _coded(sequence * (1 + source.max(initial=0)) + source)
    return np.split(both, np.cumsum([len(each.source) for each in kinds])[:-1])


def _coded(values: Column) -> Column:
    """Small numbers, the same for the same values."""
    encoded = pa.array(values).dictionary_encode()
    codes: Column = encoded.indices.to_numpy().astype(np.int64)
    return codes


def firsts(key: Column, time_ns: Column) -> Column:
    """The row of each key with the least time."""
    order = np.lexsort((time_ns, key))
    ascending = key[order]
    return order[np.flatnonzero(np.diff(ascending, prepend=-1))]


def pairs_of(oracle: Oracle, seen: Sightings, found: Numbered) -> Pairs:
    """Every pair that was due, of which a copy left, or that is reported."""
    message, client, due, dues = _due(oracle, found.messages)
    messages = np.concatenate([message, found.left, found.reported])
    clients = np.concatenate([client, seen.left.client, seen.reported.client])
    most = 1 + int(clients.max(initial=0))
    number = _coded(messages * most + clients)
    count = 1 + int(number.max(initial=-1))
    of_due, of_left, of_reported = np.split(number, np.cumsum([len(message), len(found.left)]))
    first = firsts(of_left, seen.left.time_ns)
    return Pairs(
        _spread(count, number, messages),
        _spread(count, number, clients),
        _spread(count, of_due, due),
        np.bincount(of_left, minlength=count),
        np.bincount(of_reported, minlength=count),
        _spread(count, of_left[first], seen.left.time_ns[first], UNKNOWN_NS),
        _spread(count, of_left[first], seen.left.hop_count[first]),
        dues,
    )


def _spread(count: int, at: Column, values: Column, otherwise: int = 0) -> Column:
    spread = np.full(count, otherwise, dtype=np.int64)
    spread[at] = values
    return spread


def _due(oracle: Oracle, messages: Messages) -> tuple[Column, Column, Column, list[Due]]:
    """Message, client and due of each pair that the oracle knows; and the dues: the first is none."""
    which = np.flatnonzero(messages.published)
    matching, sets = _matching(oracle, [messages.content[at] for at in which.tolist()])
    group, first = _groups(messages.source[which], _cells(oracle, messages.time_ns[which]), matching)
    answers = [
        oracle.judge(int(messages.source[at]), int(messages.time_ns[at]), oracle.claims_of(sets[of]))
        for at, of in zip(which[first].tolist(), matching[first].tolist(), strict=True)
    ]
    dues = {NOTHING_DUE: 0}
    clients = np.array([client for answer in answers for client in answer], dtype=np.int64)
    codes = [dues.setdefault(due, len(dues)) for answer in answers for due in answer.values()]
    sizes = np.array([len(answer) for answer in answers], dtype=np.int64)
    begins = np.cumsum(sizes) - sizes
    each = sizes[group] if len(group) else np.empty(0, np.int64)
    within = np.arange(int(each.sum())) - np.repeat(np.cumsum(each) - each, each)
    place = np.repeat(begins[group], each) + within if len(group) else within
    return np.repeat(which, each), clients[place], np.array(codes, dtype=np.int64)[place], list(dues)


def _matching(
    oracle: Oracle, contents: Sequence[tuple[bytes | None, int, str | None]]
) -> tuple[Column, list[tuple[int, ...]]]:
    """Of each content the number of its set of matching predicates; and the sets."""
    matcher = Matcher(oracle.predicates)
    sets: dict[tuple[int, ...], int] = {(): 0}
    found = np.zeros(len(contents), dtype=np.int64)
    for at, content in enumerate(contents):
        attributes = content_of(*content)
        if attributes is not None:
            found[at] = sets.setdefault(matcher.matching(attributes), len(sets))
    return found, list(sets)


def _cells(oracle: Oracle, time_ns: Column) -> Column:
    """Where each time is among the oracle's bounds: at one, or between two."""
    bounds = np.array([min(max(bound, UNKNOWN_NS), FOREVER) for bound in oracle.bounds()], dtype=np.int64)
    return np.searchsorted(bounds, time_ns, "left") + np.searchsorted(bounds, time_ns, "right")


def _groups(*columns: Column) -> tuple[Column, Column]:
    """The number of each row's group of equals, and a row of each group."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        code = _coded(column)
        key = _coded(key * (1 + code.max(initial=0)) + code)
    _, first = np.unique(key, return_index=True)
    return key, first

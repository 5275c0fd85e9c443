"""Every message once, with a number, and what is known of its publication.

A message counts as published where its source's own access interface shows it, or where its client reports
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from analysis.columns import Numbers, coded
from analysis.contents import content_of
from analysis.messages.rows import Rows, numbers
from analysis.oracle import Pair
from nodes.model import PredicateSyntaxError, Value, format_message, parse_message

UNKNOWN_NS = np.iinfo(np.int64).min
"""A time that is not known."""
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
_NOWHERE = -1


@dataclass(frozen=True)
class Messages:
    """All messages that were seen anywhere, by number; those of `published` are publications."""

    source: Numbers
    sequence: Numbers
    entered: pa.Table
    """By number the first capture of each coming in (`rows.ENTERED`); nulls where there is none."""
    announced: pa.Table
    """Likewise the first report of its client (`rows.ANNOUNCED`)."""

    @cached_property
    def entered_ns(self) -> Numbers:
        """UNKNOWN_NS: no router captured it coming in."""
        return numbers(self.entered["time_ns"], UNKNOWN_NS)

    @cached_property
    def announced_ns(self) -> Numbers:
        """UNKNOWN_NS: its client does not report it."""
        return numbers(self.announced["time_ns"], UNKNOWN_NS)

    @cached_property
    def published(self) -> Flags:
        """Which are publications."""
        return np.not_equal(np.maximum(self.entered_ns, self.announced_ns), UNKNOWN_NS)

    @cached_property
    def time_ns(self) -> Numbers:
        """When each was published."""
        return np.where(self.entered_ns == UNKNOWN_NS, self.announced_ns, self.entered_ns)

    @cached_property
    def contents(self) -> Sequence[Mapping[str, Value] | None]:
        """What each says, by its capture, or else by what its client announced; None: it cannot be read."""
        return [content_of(*row) for row in self._texts()]

    def as_announced(self) -> list[bool | None]:
        """Whether what was captured is what the client reports; None if one of them is missing."""
        rows = zip(self._texts(), self.contents, strict=True)
        return [_agree(row[0], content, row[2]) for row, content in rows]

    def named(self, pairs: Iterable[tuple[int, int]]) -> list[Pair]:
        """Pairs of messages and clients, with the ids of the messages."""
        return [(int(self.source[at]), int(self.sequence[at]), client) for at, client in pairs]

    def _texts(self) -> list[tuple[bytes | None, int, str | None]]:
        columns = (self.entered["attributes"], self.entered["attribute_count"].fill_null(0))
        texts = (*columns, self.announced["message"])
        return list(zip(*(column.to_pylist() for column in texts), strict=True))


def _agree(
    attributes: bytes | None, captured: Mapping[str, Value] | None, message: str | None
) -> bool | None:
    if attributes is None or message is None:
        return None
    if captured is None:
        return False
    try:
        return format_message(captured) == message or parse_message(message) == captured
    except PredicateSyntaxError:
        return False


class Numbered(NamedTuple):
    """The messages, and which of them each row is about."""

    messages: Messages
    moved: Numbers
    reported: Numbers


def numbered(rows: Rows) -> Numbered:
    """Give every message a number."""
    kinds = (rows.entered, rows.announced, rows.moved, rows.reported)
    sources, sequences = ([numbers(each[name]) for each in kinds] for name in ("source", "sequence"))
    source, sequence = np.concatenate(sources), np.concatenate(sequences)
    codes = _codes(source, sequence)
    count = 1 + int(codes.max(initial=-1))
    of_source, of_sequence = np.zeros(count, np.int64), np.zeros(count, np.int64)
    of_source[codes], of_sequence[codes] = source, sequence
    ends = np.cumsum([len(each) for each in sources])[:-1]
    entered, announced, moved, reported = np.split(codes, ends)
    messages = Messages(
        of_source,
        of_sequence,
        _by_number(count, entered, rows.entered),
        _by_number(count, announced, rows.announced),
    )
    return Numbered(messages, moved, reported)


def _codes(source: Numbers, sequence: Numbers) -> Numbers:
    """A number for each (source, sequence)."""
    of_source = coded(source)
    return coded(coded(sequence) * (1 + of_source.max(initial=0)) + of_source)


def firsts(key: Numbers, time_ns: Numbers) -> Numbers:
    """The row of each key with the least time, in order of the keys."""
    order = np.lexsort((time_ns, key))
    ascending = key[order]
    found: Numbers = order[np.flatnonzero(np.diff(ascending, prepend=-1))]
    return found


def _by_number(count: int, code: Numbers, rows: pa.Table) -> pa.Table:
    first = firsts(code, numbers(rows["time_ns"]))
    row = np.full(count, _NOWHERE)
    row[code[first]] = first
    return rows.combine_chunks().take(pa.array(row, mask=row == _NOWHERE))

"""Pairs of a message and a client: what was due, what left a router, and what the client reports.

All of it with numbers for messages, clients and dues, in columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.columns import Numbers, coded
from analysis.dues import BulkOracle, Dues
from analysis.messages.numbering import UNKNOWN_NS, Messages, Numbered, firsts
from analysis.messages.rows import Rows, flags, numbers
from analysis.oracle import Due


@dataclass(frozen=True, slots=True)
class Pairs:
    """Columns: each pair once."""

    message: Numbers
    client: Numbers
    due: Numbers
    """A position in `dues`."""
    copies: Numbers
    reports: Numbers
    left_ns: Numbers
    """When the first copy left, UNKNOWN_NS: none did."""
    hop_count: Numbers
    """Of that copy."""
    router: Numbers
    """From which they left: the one with the least id."""
    reported_ns: Numbers
    """When the client first reported it, UNKNOWN_NS: it does not."""
    dues: Sequence[Due]
    expected: Dues
    """What was due, by positions among the publications."""
    deviating: Sequence[tuple[int, int]]
    """Of a sample: messages and clients of which the reference model says that something else was due."""

    def latencies(self, messages: Messages) -> Numbers:
        """From the first capture coming in to the first going out; UNKNOWN_NS where one is lacking."""
        entered_ns = messages.entered_ns[self.message]
        known = (entered_ns != UNKNOWN_NS) & (self.left_ns != UNKNOWN_NS)
        return np.where(known, self.left_ns - np.where(known, entered_ns, 0), UNKNOWN_NS)


def pairs_of(oracle: BulkOracle, rows: Rows, found: Numbered) -> Pairs:
    """Every pair that was due, of which a copy left, or that is reported.

    Raises:
        TooMuchError: The oracle was to say so.
    """
    which, dues, deviating = _due(oracle, found.messages)
    leaving = np.flatnonzero(flags(rows.moved["access"]) & flags(rows.moved["sent"]))
    left = rows.moved.select(["node_id", "peer_id", "time_ns", "hop_count"]).take(leaving)
    router, to, left_ns, hop_count = (numbers(left[name]) for name in left.schema.names)
    reported_ns = numbers(rows.reported["time_ns"])
    message = which[dues.message]
    messages = np.concatenate([message, found.moved[leaving], found.reported])
    clients = np.concatenate([dues.client, to, numbers(rows.reported["client"])])
    most = 1 + int(clients.max(initial=0))
    number = coded(messages * most + clients)
    count = 1 + int(number.max(initial=-1))
    of_due, of_left, of_reported = np.split(number, np.cumsum([len(message), len(leaving)]))
    first, first_report = firsts(of_left, left_ns), firsts(of_reported, reported_ns)
    return Pairs(
        _spread(count, number, messages),
        _spread(count, number, clients),
        _spread(count, of_due, dues.due),
        np.bincount(of_left, minlength=count),
        np.bincount(of_reported, minlength=count),
        _spread(count, of_left[first], left_ns[first], UNKNOWN_NS),
        _spread(count, of_left[first], hop_count[first]),
        _least(count, of_left, router),
        _spread(count, of_reported[first_report], reported_ns[first_report], UNKNOWN_NS),
        dues.kinds,
        dues,
        deviating,
    )


def _due(oracle: BulkOracle, messages: Messages) -> tuple[Numbers, Dues, list[tuple[int, int]]]:
    """The publications, what is due of them, and where the reference model says something else."""
    which = np.flatnonzero(messages.published)
    contents = [messages.contents[at] for at in which.tolist()]
    asked = (messages.source[which], messages.time_ns[which], contents)
    dues = oracle.dues(*asked)
    return which, dues, [(int(which[at]), client) for at, client in oracle.deviating(*asked, dues)]


def _spread(count: int, at: Numbers, values: Numbers, otherwise: int = 0) -> Numbers:
    spread = np.full(count, otherwise, dtype=np.int64)
    spread[at] = values
    return spread


def _least(count: int, at: Numbers, values: Numbers) -> Numbers:
    least = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(least, at, values)
    return least

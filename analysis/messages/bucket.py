"""What became of the messages of a bucket: all that tables and sums are made of, from all rows about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.columns import Numbers
from analysis.messages.context import Context
from analysis.messages.counting import Outcomes, outcomes_of
from analysis.messages.crossings import Crossings, crossings_of, entries_of, exits_of, moves_of
from analysis.messages.hops import Hops, control_hops, hops_of
from analysis.messages.matches import Made, made_of
from analysis.messages.numbering import Messages, numbered
from analysis.messages.pairs import Pairs, pairs_of
from analysis.messages.rows import Rows
from analysis.messages.trees import Trees, stretches_of, trees_of


@dataclass(frozen=True)
class Judged:
    """The messages of a bucket, and what became of them."""

    context: Context
    messages: Messages
    pairs: Pairs
    outcomes: Outcomes
    crossings: Crossings
    control: Hops
    """Of CONTROL packets between routers."""
    made: Made
    """Matches of descriptors."""

    @cached_property
    def agree(self) -> Sequence[bool | None]:
        """Whether what was captured of each message is what its client announced."""
        return self.messages.as_announced()

    @cached_property
    def latency_ns(self) -> Numbers:
        """By pair."""
        return self.pairs.latencies(self.messages)

    @cached_property
    def interval(self) -> Numbers:
        """By message: in which part of the run it was published."""
        return self.context.timeline.interval(self.messages)

    @cached_property
    def slot(self) -> Numbers:
        """By message: in which slice of the run it was published; -1: in none."""
        slices = self.context.slices
        found = (self.messages.time_ns - slices.from_ns) // slices.width_ns
        known = self.messages.published & (found >= 0) & (found < slices.count)
        return np.where(known, found, -1)

    @cached_property
    def hops(self) -> Hops:
        """Every message over every link."""
        return hops_of(self.messages, self.pairs, self.crossings, self.context.homes)

    @cached_property
    def trees(self) -> Trees:
        """Of the messages that reached a router."""
        return trees_of(self.messages, self.pairs, self.outcomes, self.crossings, self.context)

    @cached_property
    def stretches(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Of deliveries beyond the first router."""
        return stretches_of(self.messages, self.pairs, self.latency_ns, self.context.delays)


def judged(context: Context, rows: Rows) -> Judged:
    """Judge the messages that some rows are about; the rows must be all that there are of them."""
    found = numbered(rows)
    messages = found.messages
    pairs = pairs_of(context.oracle(), rows, found)
    return Judged(
        context,
        messages,
        pairs,
        outcomes_of(pairs, context.excused),
        crossings_of(moves_of(rows, found.moved), entries_of(messages), exits_of(pairs)),
        control_hops(rows.control),
        made_of(rows.told),
    )

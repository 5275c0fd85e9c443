"""When nothing changed for the routers that recognise a pattern (`patterns: factored`, decision 30).

Nobody is sent the messages of such a pattern: routers keep what may become a match. What they have kept is
lost if they or their neighbours fail, and if advertisements change who is asked for which part. A match is
owed if nothing of the kind happened from its first message until it was told.

Not here: which matches there are (`patterns`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.advertising import Advertising
from analysis.history import History
from nodes.model import Predicate


@dataclass(frozen=True, slots=True)
class Calm:
    """When nothing changed for one pattern.

    Args:
        history: When the network was settled.
        changes_ns: When advertisements changed that concern the pattern, ascending.
        wait_ns: How long after its last message a match is told.
    """

    history: History
    changes_ns: Sequence[int]
    wait_ns: int

    def throughout(self, first_ns: int, last_ns: int) -> bool:
        """Whether nothing changed for a match whose messages were published from then until then."""
        settle_ns = self.history.settle_ns
        told_ns = last_ns + self.wait_ns + settle_ns
        period = self.history.period_of(first_ns)
        if period is None or told_ns > period.until_ns:
            return False
        following = bisect_left(self.changes_ns, first_ns - settle_ns)
        return following == len(self.changes_ns) or self.changes_ns[following] > told_ns


def calm_of(history: History, advertising: Advertising | None, parts: Predicate, wait_ns: int) -> Calm:
    """For a pattern of these parts."""
    changes_ns = [] if advertising is None else advertising.changes_concerning(parts)
    return Calm(history, changes_ns, wait_ns)

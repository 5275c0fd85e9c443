"""What became of messages that were published in any time of a run: sums over intervals."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.columns import Numbers
from analysis.messages.counting import Tally, Timeline


@dataclass(frozen=True, slots=True)
class Outcomes:
    """By interval of a timeline."""

    timeline: Timeline
    published: Numbers
    pairs: Tally
    late: Numbers

    def within(self, from_ns: int, until_ns: int) -> dict[str, int]:
        """The sums from one of its edges until before another."""
        intervals = self.timeline.between(from_ns, until_ns)
        counts = self.pairs.over(intervals)
        return {
            "published": int(self.published[intervals.start : intervals.stop].sum()),
            "wanted": counts.wanted,
            "owed": counts.owed,
            "arrived": counts.arrived,
            "missing": counts.missing,
            "lost": counts.lost,
            "cut_off": counts.cut_off,
            "unknown": counts.unknown,
            "duplicate": counts.duplicate + counts.duplicate_allowed,
            "late": int(self.late[intervals.start : intervals.stop].sum()),
        }

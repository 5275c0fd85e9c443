"""What became of the matches of patterns, in numbers and words.

Not here: which matches were owed (`patterns`), which needs packages that runs do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

MOST_MATCHES = 1_000_000
"""Of one pattern: of one that has more it is not found out what was owed."""


@dataclass(frozen=True, slots=True)
class PatternCounts:
    """What became of the matches of one pattern of one client."""

    client: str
    pattern: str
    owed: int = 0
    delivered: int = 0
    """Those that were owed, and those that were allowed."""
    missing: int = 0
    duplicate: int = 0
    """Matches that were told more than once."""
    spurious: int = 0
    """What was told and is no match that may be told."""
    judged: bool = True
    """Whether there were few enough matches to find out; else all counts are 0."""


COUNTED = ("owed", "delivered", "missing", "duplicate", "spurious")


def as_verdict(counts: Sequence[PatternCounts] | None) -> dict[str, int] | None:
    """The value of the key `patterns`; None: no pattern was sought."""
    if counts is None:
        return None
    rows = [asdict(each) for each in counts]
    return {"sought": len(rows), **{name: sum(row[name] for row in rows) for name in COUNTED}}


def are_wrong(counts: Sequence[PatternCounts] | None) -> bool:
    """Whether something is missing, or was told that should not have been."""
    return any(each.missing or each.duplicate or each.spurious for each in counts or ())


def unjudged(counts: Sequence[PatternCounts] | None) -> list[str]:
    """A sentence for each pattern of which it is not known what was owed."""
    return [
        f"What was owed of a pattern of {each.client} is not known: more than {MOST_MATCHES:,} matches of "
        f"{each.pattern}."
        for each in counts or ()
        if not each.judged
    ]

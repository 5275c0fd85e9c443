"""What became of the matches of patterns, in numbers and words.

Not here: which matches were owed (`patterns`), which needs packages that runs do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

MOST_MATCHES = 1_000_000
"""Of one pattern: of one that has more it is not found out what was owed."""
MOST_SHOWN = 40
"""Matches of one pattern that are kept for the report, those with something wrong first."""

MOST_WAITED = 3
"""Patterns that could have no match that are named."""

Ids = tuple[tuple[int, int], ...]
"""A match, by the ids of its components."""


@dataclass(frozen=True, slots=True)
class ShownMatch:
    """What became of one match."""

    components: Ids
    verdict: str
    """delivered, missing, duplicate, spurious or lost."""
    owed: bool
    told_ns: int | None
    """When its client was first told; None: it was not."""


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
    lost: int = 0
    """What would have been owed, was not told, and need not be: the network changed meanwhile."""
    judged: bool = True
    """Whether there were few enough matches to find out; else all counts are 0."""
    shown: Sequence[ShownMatch] = ()
    refused: str = ""
    """Why the client's router did not seek it, at some time."""
    lacking: Sequence[str] = ()
    """Parts that nobody ever advertised, if there could be no match without."""


VERDICTS = ("missing", "spurious", "duplicate", "lost", "delivered")
"""The worst first."""
COUNTED = ("owed", "delivered", "missing", "duplicate", "spurious", "lost")


def as_verdict(counts: Sequence[PatternCounts] | None) -> dict[str, int] | None:
    """The value of the key `patterns`; None: no pattern was sought."""
    if counts is None:
        return None
    return {"sought": len(counts), **{name: sum(getattr(each, name) for each in counts) for name in COUNTED}}


def shown(
    told_ns: Mapping[Ids, Sequence[int]], owed: Set[Ids], allowed: Set[Ids], lost: Set[Ids]
) -> list[ShownMatch]:
    """Some matches of one pattern.

    Args:
        told_ns: When the client was told of each.
        owed: Those that had to be told.
        allowed: Those that could be told.
        lost: Those that were not told and need not be.
    """
    found = [
        ShownMatch(
            each,
            _verdict(told_ns.get(each, ()), may=each in allowed, must=each in owed),
            each in owed,
            min(told_ns.get(each, ()), default=None),
        )
        for each in {*told_ns, *owed, *lost}
    ]
    return sorted(found, key=lambda each: (VERDICTS.index(each.verdict), each.told_ns or 0, each.components))[
        :MOST_SHOWN
    ]


def _verdict(told_ns: Sequence[int], *, may: bool, must: bool) -> str:
    if not told_ns:
        return "missing" if must else "lost"
    if not may:
        return "spurious"
    return "duplicate" if len(told_ns) > 1 else "delivered"


def refused(counts: Sequence[PatternCounts] | None) -> list[str]:
    """A sentence for all patterns that a client's router did not seek, for each reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in counts or ():
        if each.refused:
            found.setdefault((each.client, each.refused), []).append(each.pattern)
    return [
        f"The router of {client} did not seek {len(patterns):,} of its patterns ({reason}), such as "
        f"{patterns[0]}: whatever was owed of them is missing."
        for (client, reason), patterns in found.items()
    ][:MOST_WAITED]


def waited(counts: Sequence[PatternCounts] | None) -> list[str]:
    """A sentence for each of the first patterns that could have no match, and how many more there are."""
    found = [each for each in counts or () if each.lacking]
    sentences = []
    for each in found[:MOST_WAITED]:
        parts = " or ".join(each.lacking)
        sentences.append(f"{each.client} waited in vain for {each.pattern}: nobody else advertised {parts}.")
    if len(found) > MOST_WAITED:
        sentences.append(f"... and {len(found) - MOST_WAITED:,} more patterns could have no match either.")
    return sentences


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

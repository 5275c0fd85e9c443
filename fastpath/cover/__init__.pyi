"""Covering, overlap and reduction of encoded filters (M7, D2, E14, S1). See docs/covering.md."""

from collections.abc import Iterable

from fastpath.wire.codec import WireError

__all__ = [
    "PredicateSet",
    "WireError",
    "contradictory",
    "count",
    "covers",
    "difference",
    "digest",
    "overlaps",
    "reduce",
    "reduce_filter",
    "union",
]

# All functions take canonical bytes (docs/wire-format.md) and raise WireError if they are not.

def covers(wide: bytes, narrow: bytes) -> bool:
    """Whether every message that matches the filter `narrow` matches the filter `wide` (M7).

    Never a false yes. Exact, unless `narrow` has suffixes or substrings on strings.
    """

def overlaps(left: bytes, right: bytes) -> bool:
    """Whether some message may match both filters; never a false no (E14)."""

def contradictory(filter: bytes) -> bool:  # noqa: A002
    """Whether the filter can match no message: surely so if true."""

def reduce_filter(filter: bytes) -> bytes:  # noqa: A002
    """The filter without constraints that its others imply; a contradictory one as it is."""

def reduce(predicate: bytes) -> bytes:
    """The predicate without redundant constraints, covered filters and contradictory filters (D2).

    Matches the same messages. Of filters that say the same, one stays: the
    first by encoded bytes, unless they differ in string patterns' ranges.
    """

def union(predicates: Iterable[bytes]) -> bytes:
    """All filters of all predicates, none twice; not reduced."""

def difference(predicate: bytes, without: bytes) -> bytes:
    """The filters of the first predicate that the second does not have, byte for byte."""

def digest(predicate: bytes) -> bytes:
    """SHA-256 of the canonical bytes: equal digests, equal predicates."""

def count(predicate: bytes) -> tuple[int, int]:
    """How many filters it has, and how many constraints these have together."""

class PredicateSet:
    """A predicate whose filters come and go, with its reduction kept at hand (S1, S2, E15).

    Its roots are what `reduce` would leave of all filters. Every other filter
    hangs below one that covers it. A filter is known by what `reduce_filter`
    makes of it, and one that was added twice stays until it is removed twice.
    Contradictory filters are held and never become roots.
    """

    def __init__(self) -> None: ...
    def add(self, filter: bytes) -> bool:  # noqa: A002
        """Add a filter; whether the roots changed. WireError if malformed."""

    def remove(self, filter: bytes) -> None:  # noqa: A002
        """Withdraw a filter. KeyError if it is not there, WireError if malformed.

        What it alone covered becomes a root again (E15).
        """

    def cover_of(self, filter: bytes) -> bytes | None:  # noqa: A002
        """The filter below which this one hangs; None for a root and for a contradictory filter.

        KeyError if the filter is not there.
        """

    def roots(self) -> bytes:
        """The encoded predicate of the filters that no other covers."""

    def changes(self) -> tuple[list[bytes], list[bytes]]:
        """(Filters that became roots, filters that ceased to be) since this was last asked, ascending."""

    def root_count(self) -> int:
        """How many roots there are."""

    def __contains__(self, filter: bytes) -> bool: ...  # noqa: A002
    def __len__(self) -> int:
        """How many different filters there are, roots or not."""

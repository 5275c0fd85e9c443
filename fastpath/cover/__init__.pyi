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

def covers(wide: bytes, narrow: bytes) -> bool: ...
def overlaps(left: bytes, right: bytes) -> bool: ...
def contradictory(filter: bytes) -> bool: ...  # noqa: A002
def reduce_filter(filter: bytes) -> bytes: ...  # noqa: A002
def reduce(predicate: bytes) -> bytes: ...
def union(predicates: Iterable[bytes]) -> bytes: ...
def difference(predicate: bytes, without: bytes) -> bytes: ...
def digest(predicate: bytes) -> bytes: ...
def count(predicate: bytes) -> tuple[int, int]: ...

class PredicateSet:
    def __init__(self) -> None: ...
    def add(self, filter: bytes) -> bool: ...  # noqa: A002
    def remove(self, filter: bytes) -> None: ...  # noqa: A002
    def cover_of(self, filter: bytes) -> bytes | None: ...  # noqa: A002
    def roots(self) -> bytes: ...
    def changes(self) -> tuple[list[bytes], list[bytes]]: ...
    def root_count(self) -> int: ...
    def __contains__(self, filter: bytes) -> bool: ...  # noqa: A002
    def __len__(self) -> int: ...

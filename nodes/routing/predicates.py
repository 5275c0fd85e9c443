"""Predicates in their encoded form: unions and reductions without a Python object per constraint.

Filters are canonical bytes (docs/wire-format.md), so sets of them are sets of
bytes, and the compiled kernel reduces them (D2, docs/covering.md). That takes a
few milliseconds a thousand filters and is therefore done for predicates of some
size alone, which costs nothing in correctness: a predicate that is not reduced
matches the same messages.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from fastpath import codec, cover

COUNT = struct.Struct(">I")
NOTHING = COUNT.pack(0)
REDUCED_FILTERS_MAX = 4_096
"""Above so many filters a union is only deduplicated: it is made anew at each change, in some 20 ms."""


def filter_count(predicate: bytes | memoryview) -> int:
    """How many filters an encoded predicate claims to have; 0 if it is too short to say."""
    return int(COUNT.unpack_from(predicate)[0]) if len(predicate) >= COUNT.size else 0


def filters_of(predicate: bytes | memoryview) -> list[bytes]:
    """The encoded filters of an encoded predicate.

    Raises:
        WireError: It is malformed.
    """
    return codec.split_predicate(bytes(predicate))


def union(predicates: Iterable[bytes | memoryview]) -> tuple[bytes, ...]:
    """The distinct filters of all, in canonical order."""
    found: set[bytes] = set()
    for predicate in predicates:
        found.update(filters_of(predicate))
    return tuple(sorted(found))


def reduced_union(predicates: Iterable[bytes]) -> bytes:
    """An encoded predicate that matches where one of these does, reduced if it is small."""
    joined = cover.union(bytes(predicate) for predicate in predicates)
    return cover.reduce(joined) if filter_count(joined) <= REDUCED_FILTERS_MAX else joined

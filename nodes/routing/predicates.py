"""Predicates in their encoded form: unions and reductions without a Python object per constraint.

Filters are canonical bytes (docs/wire-format.md), and the compiled kernel reduces
them (D2, docs/covering.md). That takes a few milliseconds a thousand filters and
is therefore done for predicates of some size alone, which costs nothing in
correctness: a predicate that is not reduced matches the same messages.

Here: whole predicates as bytes. Those that stay and change are `store`'s.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from fastpath import cover
from fastpath.wire import codec

COUNT = struct.Struct(">I")
NOTHING = COUNT.pack(0)
REDUCED_FILTERS_MAX = 4_096
"""Above so many filters a union is only deduplicated: to reduce is to look at all, in some 20 ms."""


def filter_count(predicate: bytes | memoryview) -> int:
    """How many filters an encoded predicate claims to have; 0 if it is too short to say."""
    return int(COUNT.unpack_from(predicate)[0]) if len(predicate) >= COUNT.size else 0


def filters_of(predicate: bytes | memoryview) -> list[bytes]:
    """The encoded filters of an encoded predicate.

    Raises:
        WireError: It is malformed.
    """
    return codec.split_predicate(bytes(predicate))


def predicate_of(filters: Iterable[bytes]) -> bytes:
    """The encoded predicate of these filters, each once."""
    each_once = sorted(set(filters))
    return COUNT.pack(len(each_once)) + b"".join(each_once)


def reduced_union(predicates: Iterable[bytes]) -> bytes:
    """An encoded predicate that matches where one of these does, reduced if it is small."""
    joined = cover.union(bytes(predicate) for predicate in predicates)
    return cover.reduce(joined) if filter_count(joined) <= REDUCED_FILTERS_MAX else joined

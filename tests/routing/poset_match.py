"""Matching over the filters poset as the paper does it (ADR 3.7; S5): for comparison, not for traffic.

A filter can match only if all that cover it do. So one that does not match
spares the evaluation of all its descendants. Messages are forwarded by the
compiled table instead (`fastpath.fib`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nodes.model import Value, matches_filter
from nodes.routing.schemes.siena_poset import Node, Poset
from nodes.wire.codec import decode_filter


class Match(NamedTuple):
    """What a message matches, and what finding it cost."""

    subscribers: int
    """The interfaces with a filter that matches, as a mask."""
    filters: list[bytes]
    """The filters that match, ascending."""
    evaluated: int
    """How many filters were compared with the message."""


def match(poset: Poset, message: Mapping[str, Value]) -> Match:
    """Go down from the roots, and below a filter only if it matches."""
    waiting, matched, evaluated = poset.roots(), set[Node](), 0
    while waiting:
        node = waiting.pop()
        evaluated += 1
        if matches_filter(decode_filter(node.filter), message):
            matched.add(node)
            # The last of its predecessors to match sends us down to a filter: it comes up once.
            waiting += [each for each in node.below if each.above <= matched]
    subscribers = 0
    for node in matched:
        subscribers |= node.subscribers
    return Match(subscribers, sorted(node.filter for node in matched), evaluated)

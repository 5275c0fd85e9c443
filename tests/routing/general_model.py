"""The general model of addressing and routing (ADR 2.2 and 2.3; M8), as plain as it is written.

A routing table maps addresses to sets of next hops. A message goes to

    X_n = {x in dom(R) : x covers n}
    H_n = union of H over x -> H, x in X_n

and of s1 -> H1 and s2 -> H2 the second is not needed if s1 covers s2 and H1
holds all of H2: the subnet rule. What an address is, and what it covers, makes
the instance: in unicast it is a node and has one next hop, in multicast a
group, and a message is covered by the address it bears; in content-based
routing it is a filter.

This is the definition, for tests that ask what a table would be or what it costs.
Routers forward by the compiled FIB; `nodes.routing.schemes.multicast` explains how
the one is the other, and `groups` gives the rows that it does not keep.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fastpath import cover
from nodes.model import Value, matches_filter
from nodes.routing.schemes.base import Source, View
from nodes.routing.schemes.pif import by_next_hop
from nodes.wire.codec import decode_filter

Address = TypeVar("Address")
Message = TypeVar("Message")
Hops = frozenset[int]
FiltersOf = Callable[[Source], Collection[bytes]]
"""The encoded filters of a predicate, as `PredicateStore.filters`."""


@dataclass(frozen=True, slots=True)
class Addressing(Generic[Address, Message]):
    """What addresses are to messages and to each other."""

    addresses: Callable[[Address, Message], bool]
    """Whether an address covers a message."""
    covers: Callable[[Address, Address], bool]
    """Whether the first covers the second, surely; a no may be wrong (M7)."""


def _holds(filter_: bytes, message: Mapping[str, Value]) -> bool:
    return matches_filter(decode_filter(filter_), message)


BY_EQUALITY: Addressing[Any, Any] = Addressing(operator.eq, operator.eq)
"""Unicast and multicast: a message bears an address, and no address stands for another."""
BY_CONTENT: Addressing[bytes, Mapping[str, Value]] = Addressing(_holds, cover.covers)
"""Encoded filters."""


def covering(
    table: Mapping[Address, Hops], how: Addressing[Address, Message], message: Message
) -> list[Address]:
    """X_n: the addresses of the table that cover a message."""
    return [address for address in table if how.addresses(address, message)]


def next_hops(table: Mapping[Address, Hops], how: Addressing[Address, Message], message: Message) -> Hops:
    """H_n: where the message is sent."""
    return frozenset[int]().union(*(table[address] for address in covering(table, how, message)))


def subnets(table: Mapping[Address, Hops], how: Addressing[Address, Message]) -> dict[Address, Hops]:
    """The table without what the subnet rule drops; of rows that make each other needless one stays.

    It takes as many comparisons as there are pairs of rows.
    """
    kept = dict(table)
    for narrow, hops in table.items():
        others = ((wide, more) for wide, more in kept.items() if wide != narrow)
        if any(hops <= more and how.covers(wide, narrow) for wide, more in others):
            del kept[narrow]
    return kept


def groups(view: View, filters: FiltersOf) -> dict[bytes, Hops]:
    """The routing table x -> H, by ascending x: every filter and the interfaces towards who wants it."""
    table: dict[bytes, set[int]] = {}
    for interface, sources in {**by_next_hop(view), **view.client_tables}.items():
        for source in sources:
            for filter_ in filters(source):
                table.setdefault(filter_, set()).add(interface)
    return {filter_: frozenset(table[filter_]) for filter_ in sorted(table)}


def mappings(view: View, filters: FiltersOf) -> tuple[int, int]:
    """How many rows the table has, and how many the subnet rule leaves."""
    table = groups(view, filters)
    return len(table), len(subnets(table, BY_CONTENT))

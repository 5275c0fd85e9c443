"""The general model of addressing and routing (ADR 2.2 and 2.3; M8), as plain as it is written.

A routing table maps addresses to sets of next hops. A message goes to

    X_n = {x in dom(R) : x covers n}
    H_n = union of H over x -> H, x in X_n

and of s1 -> H1 and s2 -> H2 the second is not needed if s1 covers s2 and H1
holds all of H2: the subnet rule. What an address is, and what it covers, makes
the instance: in unicast it is a node and has one next hop, in multicast a
group, and a message is covered by the address it bears; in content-based
routing it is a filter.

This is the definition, for whoever asks what a table would be or what it costs;
routers forward by the compiled FIB (`multicast` says how the one is the other).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fastpath import cover
from nodes.model import Value, matches_filter
from nodes.wire.codec import decode_filter

Address = TypeVar("Address")
Message = TypeVar("Message")
Hops = frozenset[int]


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

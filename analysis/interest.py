"""What routers announced that their clients want, beside what these had subscribed to.

Both by what was captured: a router's own INTEREST and INTEREST_CHANGE, and the subscriptions. Predicates
are compared by meaning, as encoded filters (docs/covering.md). Not here: which routers have seen which
announcement (`calm`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from analysis.network import COUNT_BYTES
from analysis.oracle import SubscriptionChange, predicate_of
from analysis.payloads import Payload
from fastpath import cover
from fastpath.interests import FilterPool, read_change
from fastpath.wire.codec import WireError, split_predicate
from nodes.model import PredicateSyntaxError, parse_pattern
from nodes.wire.codec import encode_filter, encode_predicate
from nodes.wire.packets import Kind

HEAD_BYTES = 12
"""Of a record: its origin and its sequence."""
MOST_FILTERS = 10_000
"""Larger predicates are not compared; to reduce one takes some milliseconds a thousand filters."""
MOST_COMPARISONS = 1_000_000
"""Of single filters: predicates that would take more are taken as equal."""
Filters = frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a router announced of its clients' interest, when it first sent it."""

    time_ns: int
    sequence: int
    filters: Filters | None
    """None: it cannot be told, since it is a change of something that was not captured."""


def announcements_of(payloads: Iterable[Payload]) -> dict[int, list[Announcement]]:
    """By origin, in order of time; payloads that cannot be read are left out.

    A router that has restarted may use a number again, for something else.
    """
    first_ns: dict[tuple[int, bytes], int] = {}
    for payload in payloads:
        if payload.kind in (Kind.INTEREST, Kind.INTEREST_CHANGE) and len(payload.data) >= HEAD_BYTES:
            key = (payload.kind, payload.data)
            first_ns[key] = min(payload.time_ns, first_ns.get(key, payload.time_ns))
    found: dict[int, list[Announcement]] = {}
    for (kind, data), time_ns in sorted(first_ns.items(), key=lambda item: item[1]):
        origin, sequence = head_of(data)
        so_far = found.setdefault(origin, [])
        before = next((each.filters for each in reversed(so_far) if each.sequence == sequence - 1), None)
        so_far.append(Announcement(time_ns, sequence, _filters_after(before, kind, data)))
    return found


def head_of(record: bytes) -> tuple[int, int]:
    """Origin and sequence."""
    return int.from_bytes(record[:4], "big"), int.from_bytes(record[4:HEAD_BYTES], "big")


def _filters_after(before: Filters | None, kind: int, data: bytes) -> Filters | None:
    """What is wanted from an announcement on."""
    try:
        if kind == Kind.INTEREST:
            return frozenset(split_predicate(data[HEAD_BYTES:]))
        if before is None:
            return None
        _, _, _, removed, added = read_change(FilterPool(), data)
        return (before - {*split_predicate(removed.encode())}) | {*split_predicate(added.encode())}
    except WireError:
        return None


def wanted_at(time_ns: int, changes: Iterable[SubscriptionChange]) -> dict[str, Filters]:
    """The filters of all subscriptions, or advertisements, in force then, by client; changes in order."""
    held: dict[tuple[str, int], str] = {}
    for change in changes:
        if change.time_ns > time_ns:
            break
        if change.predicate is None:
            held.pop((change.client, change.subscription), None)
        else:
            held[change.client, change.subscription] = change.predicate
    found: dict[str, Filters] = {}
    for (client, _), predicate in held.items():
        found[client] = found.get(client, frozenset()) | _filters(predicate)
    return found


@lru_cache(maxsize=4096)
def _filters(predicate: str) -> Filters:
    try:
        return frozenset(split_predicate(encode_predicate(predicate_of(predicate))))
    except PredicateSyntaxError:
        return frozenset()  # named where claims are made


def overlapping(filters: Filters, advertisements: Filters) -> Filters:
    """The filters that an advertisement overlaps; all, if there is too much to compare."""
    if len(filters) * len(advertisements) > MOST_COMPARISONS:
        return filters
    return frozenset(
        f for f in filters if any(cover.advertisement_overlaps(each, f) for each in advertisements)
    )


def same_meaning(one: Filters, other: Filters) -> bool:
    """Whether two predicates match the same messages, as far as covering can tell."""
    if one == other or max(len(one), len(other)) > MOST_FILTERS:
        return True
    return _reduced(one) == _reduced(other) or (_within(one, other) and _within(other, one))


def within(narrow: Filters, wide: Filters) -> bool:
    """Whether one predicate matches nothing that another does not, as far as covering can tell."""
    return max(len(narrow), len(wide)) > MOST_FILTERS or _within(narrow, wide)


def parts_of(patterns: Iterable[str]) -> Filters:
    """What routers may want that recognise patterns: the filters of their parts. What is none is left out."""
    found: set[bytes] = set()
    for text in dict.fromkeys(patterns):
        try:
            found.update(encode_filter(each) for each in parse_pattern(text).union.filters)
        except PredicateSyntaxError:
            continue
    return frozenset(found)


def _reduced(filters: Filters) -> bytes:
    return cover.reduce(len(filters).to_bytes(COUNT_BYTES, "big") + b"".join(sorted(filters)))


def _within(narrow: Filters, wide: Filters) -> bool:
    """Whether each filter of one predicate is covered by one of another, or by one that is so covered."""
    left = [each for each in narrow - wide if not cover.contradictory(each)]
    covers: Sequence[bytes] = [*wide]
    if len(left) * len(covers) > MOST_COMPARISONS:
        return True
    while left:
        still = [each for each in left if not any(cover.covers(wider, each) for wider in covers)]
        if len(still) == len(left):
            return False
        covers = [each for each in left if each not in still]
        left = still
    return True

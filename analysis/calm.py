"""Whether the network had converged when it said so, by the control traffic that was captured.

`converged` events are the network's own word. Routers flood records of their links, of their
clients' interest and, where publishers have to advertise, of what they advertise; each has an origin and
a sequence that grows. At a fixpoint, all connected routers must have sent or received the same last record of
each of them, and each must have announced the links that it has by the plan and the faults, and what its
clients had subscribed to (of it what others advertised, where they have to). A
scheme that does not flood interest has no such records. Not here: when the network was settled (`history`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from analysis.history import FOREVER, History, NetworkChange
from analysis.interest import (
    Announcement,
    Filters,
    announcements_of,
    head_of,
    overlapping,
    parts_of,
    same_meaning,
    wanted_at,
    within,
)
from analysis.oracle import SubscriptionChange
from analysis.patterns import Sought
from analysis.payloads import Payload
from analysis.rundir import Run
from nodes.wire.packets import Kind
from topologies.fault_kinds import Failures

LINKS, INTEREST, OFFERS = 0, 1, 2
RECORDS = {
    Kind.LINK_STATE: LINKS,
    Kind.INTEREST: INTEREST,
    Kind.INTEREST_CHANGE: INTEREST,
    Kind.OFFER: OFFERS,
    Kind.OFFER_CHANGE: OFFERS,
}
"""Of which kind of record a control payload is."""
LAST_CLASS = 2**62
"""Sequences from here on belong to forged records, and to owners on their way back (docs/protocols.md)."""
_HEAD_BYTES = 14
_PAIR_BYTES = 8
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fixpoint:
    """A moment at which the network said that it had converged, and what it was to have found out."""

    time_ns: int
    parts: Sequence[Sequence[int]]
    """The routers that run and are connected, part by part."""
    neighbours: Mapping[int, frozenset[int]]
    """Of each router that runs: the routers at the other ends of its links that are up."""
    clients: Mapping[int, frozenset[str]]
    """Likewise the clients."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A fixpoint, or the settled period that it began, that the captures deny; and the first reason found."""

    time_ns: int
    why: str
    later: bool = False
    """Whether it was right at first."""


def fixpoints_of(run: Run, changes: Iterable[NetworkChange]) -> list[Fixpoint]:
    """What the network was to be like at each `converged` event."""
    failures, found = Failures(), []
    for change in changes:
        if change.do:
            failures.note(change.do, change.target)
        else:
            found.append(_fixpoint(run, change.time_ns, {*failures.stopped()}))
    return found


def _fixpoint(run: Run, time_ns: int, stopped: set[str]) -> Fixpoint:
    ids = {name: number for name, number in run.router_ids.items() if name not in stopped}
    near: dict[int, set[int]] = {number: set() for number in ids.values()}
    clients: dict[int, set[str]] = {number: set() for number in ids.values()}
    for link in (each for each in run.plan.links if each.name not in stopped):
        if link.a in ids and link.b in ids:
            near[ids[link.a]].add(ids[link.b])
            near[ids[link.b]].add(ids[link.a])
        elif link.a in ids and link.b in run.client_ids and link.b not in stopped:
            clients[ids[link.a]].add(link.b)
    return Fixpoint(time_ns, list(_parts(near)), _frozen(near), _frozen(clients))


def _frozen(sets: Mapping[int, set[T]]) -> dict[int, frozenset[T]]:
    return {key: frozenset(each) for key, each in sets.items()}


def _parts(near: Mapping[int, set[int]]) -> Iterator[list[int]]:
    left = dict.fromkeys(near)
    while left:
        part = [next(iter(left))]
        del left[part[0]]
        for node in part:  # grows while it is walked
            for other in near[node]:
                if other in left:
                    del left[other]
                    part.append(other)
        yield sorted(part)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the captures and events show of a run's control traffic."""

    run: Run
    records: Mapping[str, NDArray[np.int64]]
    """The columns of `analysis.course.records.staged`."""
    announced: Sequence[Payload]
    """What routers announced of their own links and interest."""
    changes: Sequence[SubscriptionChange]
    """Of subscriptions; where there was one less than S before, interest may be on its way."""
    partial: Collection[int]
    """Routers of which not all was captured."""
    offers: Sequence[SubscriptionChange] | None = None
    """Changes of advertisements, where interest is announced only of what others advertise; else None."""
    sought: Sequence[Sought] = ()
    """The patterns that routers recognise; they may want their parts, beside what their clients want."""


def contradictions(seen: Seen, fixpoints: Sequence[Fixpoint]) -> list[Contradiction]:
    """The fixpoints that the captures deny, each with the first reason."""
    ids = np.array(sorted(seen.run.router_ids.values()), dtype=np.int64)
    last = np.full((len(_WHAT), len(ids), len(ids)), -1, dtype=np.int64)
    links, interest = _announced_links(seen.announced), announcements_of(seen.announced)
    found: list[Contradiction] = []
    for stage, fixpoint in enumerate(fixpoints):
        _learn(last, seen.records, stage, ids)
        why = next(_denials(seen, fixpoint, _Held(last, ids, seen.run.names), links, interest), None)
        if why is not None:
            found.append(Contradiction(fixpoint.time_ns, why))
    return found


def all_contradictions(seen: Seen, fixpoints: Sequence[Fixpoint], history: History) -> list[Contradiction]:
    """The fixpoints that the captures deny, and those after which the network did not stay settled."""
    if not fixpoints or len(seen.run.plan.routers) < 2:
        return []
    denied = contradictions(seen, fixpoints)
    at_once = {each.time_ns for each in denied}
    later = restless(seen.run, history, seen.announced)
    return [*denied, *(each for each in later if each.time_ns not in at_once)]


def restless(run: Run, history: History, announced: Sequence[Payload]) -> list[Contradiction]:
    """The settled periods in which routers announced other links, though no fault had happened."""
    links = _announced_links(announced)
    found: list[Contradiction] = []
    for period in history.settled if run.started else ():
        last_ns = period.until_ns - history.settle_ns
        times = {
            origin: _announcements(records, period.after_ns, last_ns) for origin, records in links.items()
        }
        busiest = max(times, key=lambda origin: (times[origin], -origin), default=0)
        if times.get(busiest):
            anew = f"announced its links anew {times[busiest]:,} times"
            why = f"{run.names[busiest]} {anew}, and nothing had failed"
            found.append(Contradiction(period.after_ns, why, later=True))
    return found


def busiest(run: Run, history: History, announced: Sequence[Payload]) -> str:
    """Who announced its links most often since the network did not settle any more; empty: it did."""
    if run.started and history.settled and history.settled[-1].until_ns == FOREVER:
        return ""
    since_ns = history.disturbances[-1].from_ns if history.disturbances else run.start_ns
    links = _announced_links(announced)
    times = {origin: _announcements(records, since_ns, FOREVER) for origin, records in links.items()}
    most = max(times, key=lambda origin: (times[origin], -origin), default=0)
    if not times.get(most):
        return ""
    return (
        f"Since then {run.names[most]} announced its links {times[most]:,} times, more than any other router."
    )


def _announcements(records: Sequence[LinkRecord], after_ns: int, until_ns: int) -> int:
    """How many records first appeared in a time."""
    return sum(after_ns < record.time_ns <= until_ns for record in records)


def _learn(
    last: NDArray[np.int64], records: Mapping[str, NDArray[np.int64]], stage: int, ids: NDArray[np.int64]
) -> None:
    """Add what was captured between the fixpoint before and this one, but for routers that are in no plan."""
    wanted = (records["stage"] == stage) & np.isin(records["origin"], ids) & np.isin(records["router"], ids)
    of, sequence = records["of"][wanted], records["sequence"][wanted]
    origin, router = (np.searchsorted(ids, records[name][wanted]) for name in ("origin", "router"))
    np.maximum.at(last, (of, origin, router), sequence)


def _changed_lately(seen: Seen, changes: Sequence[SubscriptionChange], time_ns: int) -> set[int]:
    """Routers at which what a client holds changed so lately that not everybody need know."""
    plan = seen.run.plan
    since_ns = time_ns - plan.timing.settle_ns
    clients = {c.client for c in changes if since_ns <= c.time_ns <= time_ns}
    return {seen.run.router_ids[link.a] for link in plan.links if link.b in clients}


def _sought_lately(seen: Seen, time_ns: int) -> bool:
    since_ns = time_ns - seen.run.plan.timing.settle_ns
    return any(since_ns <= each.time_ns <= time_ns for each in seen.sought)


class LinkRecord(NamedTuple):
    """What a router announced of its links."""

    time_ns: int
    sequence: int
    neighbours: frozenset[int]


Announced = Mapping[int, Sequence[LinkRecord]]
"""By origin."""


def _denials(
    seen: Seen,
    fixpoint: Fixpoint,
    held: _Held,
    links: Announced,
    interest: Mapping[int, Sequence[Announcement]],
) -> Iterator[str]:
    changed = _changed_lately(seen, seen.changes, fixpoint.time_ns)
    offering = _changed_lately(seen, seen.offers or (), fixpoint.time_ns)
    wanted = wanted_at(fixpoint.time_ns, seen.changes)
    offered = None if seen.offers is None else wanted_at(fixpoint.time_ns, seen.offers)
    parts = parts_of(each.pattern for each in seen.sought)
    # A pattern may concern any router; it is withdrawn as a subscription is.
    seeking = bool(seen.sought) and bool(changed or _sought_lately(seen, fixpoint.time_ns))
    for part in fixpoint.parts:
        routers = [router for router in part if router not in seen.partial]
        # What anybody here advertises is what the others here may have to announce interest in.
        anywhere = seeking or not offering.isdisjoint(part)
        fresh = changed.union(part) if anywhere else changed
        if len(part) > 1:
            yield from held.unequal(LINKS, routers, routers)
            yield from held.unequal(INTEREST, [r for r in routers if r not in fresh], routers)
            yield from held.unequal(OFFERS, [r for r in routers if r not in offering], routers)
        for origin in routers:
            yield from _untrue(origin, fixpoint, links.get(origin, ()), seen.run.names)
            if origin not in fresh:
                known = _filters_at(interest.get(origin, ()), fixpoint.time_ns, held.own(INTEREST, origin))
                whole = _of_clients([origin], fixpoint, wanted)
                told = whole
                if offered is not None:
                    others = _of_clients([each for each in part if each != origin], fixpoint, offered)
                    told = overlapping(whole, others)
                if known is not None and parts and within(told, known) and within(known, whole | parts):
                    continue
                yield from _unwanted(origin, known, told, whole, seen.run.names)


@dataclass(frozen=True, slots=True)
class _Held:
    """The greatest sequence that each router had of each origin, for all kinds of records."""

    last: NDArray[np.int64]
    ids: NDArray[np.int64]
    names: Mapping[int, str]

    def own(self, of: int, origin: int) -> int:
        """The greatest sequence of its own that a router sent or received."""
        at = np.searchsorted(self.ids, origin)
        return int(self.last[of, at, at])

    def unequal(self, of: int, origins: Sequence[int], routers: Sequence[int]) -> Iterator[str]:
        """Who did not have what others had."""
        if not origins:
            return
        places = (np.searchsorted(self.ids, np.array(each)) for each in (origins, routers))
        held: Any = self.last[of][np.ix_(*places)]
        for row in np.flatnonzero(held.max(axis=1) != held.min(axis=1)):
            behind = self.names[routers[int(held[row].argmin())]]
            had, newest = int(held[row].min()), int(held[row].max())
            knew = "no announcement" if had < 0 else f"announcement {had}"
            what = f"the {_WHAT[of]} of {self.names[origins[int(row)]]}"
            yield f"{behind} had seen {knew} of {what}, and others number {newest}"


_WHAT = {LINKS: "links", INTEREST: "interest", OFFERS: "advertisements"}


def _untrue(
    origin: int, fixpoint: Fixpoint, announced: Sequence[LinkRecord], names: Mapping[int, str]
) -> Iterator[str]:
    until_now = [record for record in announced if record.time_ns <= fixpoint.time_ns]
    if not until_now:
        return  # nobody to announce it to
    listed = until_now[-1].neighbours
    true = fixpoint.neighbours[origin]
    if listed != true:
        texts = [
            ", ".join(names.get(n, str(n)) for n in sorted(ends)) or "no router" for ends in (listed, true)
        ]
        yield f"{names[origin]} had announced links to {texts[0]}, and was linked to {texts[1]}"


def _filters_at(announced: Sequence[Announcement], time_ns: int, newest: int) -> Filters | None:
    """What a router had announced last that its clients want; None if that cannot be told."""
    of_newest = (a for a in reversed(announced) if a.time_ns <= time_ns and a.sequence == newest)
    last = next(of_newest, None)
    return None if last is None else last.filters


def _of_clients(routers: Iterable[int], fixpoint: Fixpoint, held: Mapping[str, Filters]) -> Filters:
    """What the clients of these routers hold, together."""
    clients = (client for router in routers for client in fixpoint.clients[router])
    return frozenset[bytes]().union(*(held.get(client, frozenset()) for client in clients))


def _unwanted(
    origin: int, announced: Filters | None, told: Filters, whole: Filters, names: Mapping[int, str]
) -> Iterator[str]:
    """Who announced something else than `told`, the part of all that its clients want that is to be told."""
    if announced is None or same_meaning(announced, told):
        return
    if told != whole and same_meaning(announced, whole):
        yield f"{names[origin]} had announced interest that nothing advertised elsewhere overlaps"
    else:
        yield f"{names[origin]} had announced interest that is not what its clients had subscribed to"


def _announced_links(payloads: Iterable[Payload]) -> dict[int, list[LinkRecord]]:
    """By origin: each LINK_STATE that it sent, when it was first sent; in order of time."""
    found: dict[int, dict[int, LinkRecord]] = {}
    for payload in payloads:
        if payload.kind != Kind.LINK_STATE or len(payload.data) < _HEAD_BYTES:
            continue
        origin, sequence = head_of(payload.data)
        places = range(_HEAD_BYTES, len(payload.data), _PAIR_BYTES)
        neighbours = frozenset(int.from_bytes(payload.data[place : place + 4], "big") for place in places)
        record, of_origin = LinkRecord(payload.time_ns, sequence, neighbours), found.setdefault(origin, {})
        of_origin[sequence] = min(record, of_origin.get(sequence, record))
    return {origin: sorted(records.values()) for origin, records in found.items()}

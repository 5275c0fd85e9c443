"""Table `markings`: which mark each direction of a link had when (MM 5.3; decision 31).

By what was captured of its upstream end, which decides: a session begins with the mark that the scheme gives
to links that have joined; what it asks for it has from then on, and is sure of with the end of the reply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from analysis.catalog.matchmaker import MARKINGS
from analysis.course.rates import Way
from analysis.course.signalling import CHANGES, Signals
from nodes.scheme_catalog import complete
from nodes.wire.packets import Kind
from testbed.plan.model import Plan

P, S = "p", "s"
Row = Sequence[int]
_TIME, _ROUTER, _PEER, _SENT, _INCARNATION, _PEERS, _PACKET, _KIND, _BEGINS, _ENDS, _CHANGE, _MARKING = range(
    len(CHANGES)
)


class Mark(NamedTuple):
    """A mark, from a moment on."""

    from_ns: int
    marking: str
    changing: bool
    change: int | None
    """The number of the change; None: the link has joined."""


def first_mark(plan: Plan) -> str | None:
    """How links are marked that have joined; None: the scheme marks none."""
    if plan.scheme == "amsp":
        return str(complete(plan.scheme, plan.scheme_options)["marking"])
    return {"bp": P, "bs": S}.get(plan.scheme)


def markings_table(plan: Plan, signals: Signals, names: Mapping[Way, str]) -> pa.Table:
    """The table.

    Args:
        plan: Of the run.
        signals: Of the whole run.
        names: Of the link of each direction.
    """
    rows = []
    for way, marks in sorted(marks_of(signals, first_mark(plan) or P).items()):
        ends = [*(mark.from_ns for mark in marks[1:]), None]
        for mark, until_ns in zip(marks, ends, strict=True):
            ways = {"link": names[way], "from_id": way[0], "to_id": way[1]}
            rows.append({**ways, **mark._asdict(), "until_ns": until_ns})
    return pa.Table.from_pylist(rows, MARKINGS.schema)


def marks_of(signals: Signals, first: str) -> dict[Way, list[Mark]]:
    """Of each direction, by the nodes from and to which it leads: its marks in order of time."""
    sessions: dict[tuple[int, ...], list[Row]] = {}
    for row in signals.changes.tolist():
        key = row[_ROUTER], row[_PEER], row[_INCARNATION], row[_PEERS]
        sessions.setdefault(key, []).append(row)
    found: dict[Way, list[Mark]] = {}
    for (router, peer, *_), rows in sorted(sessions.items(), key=lambda each: each[1][0][_TIME]):
        before = [mark for mark in found.get((router, peer), ()) if mark.from_ns < rows[0][_TIME]]
        found[router, peer] = [*before, *_in_session(rows, first)]
    return found


def _in_session(rows: Sequence[Row], first: str) -> Iterator[Mark]:
    """Of the direction away from the router, as it was in one session with the neighbour."""
    yield Mark(rows[0][_TIME], first, False, None)
    asked: tuple[int, int] | None = None
    for row in sorted(_steps(rows)):
        time_ns, is_reply, number, marking = row
        mark = P if marking else S
        if not is_reply:
            asked = number, marking
            yield Mark(time_ns, mark, True, number)
        elif asked == (number, marking):
            asked = None
            yield Mark(time_ns, mark, False, number)


def _steps(rows: Sequence[Row]) -> Iterator[tuple[int, bool, int, int]]:
    """When a change was asked for, or answered: whether answered, its number and its mark.

    Changes count from the first fragment that was sent, replies from the last that was received.
    """
    for row in rows:
        if row[_KIND] == Kind.CHANGE_MARKING and row[_SENT] and row[_BEGINS] and row[_CHANGE]:
            yield row[_TIME], False, row[_CHANGE], row[_MARKING]
    replies = [row for row in rows if row[_KIND] == Kind.CHANGE_MARKING_REPLY and not row[_SENT]]
    begun: Row | None = None
    for row in sorted(replies, key=lambda each: each[_PACKET]):  # fragments of one kind do not interleave
        begun = row if row[_BEGINS] else begun
        if row[_ENDS] and begun is not None and begun[_CHANGE]:
            yield max(row[_TIME], begun[_TIME]), True, begun[_CHANGE], begun[_MARKING]
            begun = None

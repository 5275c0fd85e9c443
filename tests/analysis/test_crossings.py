"""Crossings found over columns are those that are found visit by visit, as docs/analysis.md says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

from analysis.messages.crossings import FLAWS, Crossings, Entries, Exits, Moves, crossings_of
from analysis.messages.numbering import UNKNOWN_NS

Row = dict[str, Any]
OUTSIDE = 0
"""In the place of a node: whence a message enters the network, and where it leaves it."""
KEY = ("sequence", "from_id", "to_id", "hop_count")


def visits(rng: Random, message: int) -> list[Row]:
    """Of one message: captures anywhere among four routers and two clients, in any order."""
    common = {"sequence": message}
    entered = [(OUTSIDE, rng.randint(1, 4), 0)] * rng.randint(0, 1)
    left = {(rng.randint(1, 4), OUTSIDE, rng.randint(1, 4)) for _ in range(rng.randint(0, 3))}
    moved = [
        (rng.randint(1, 4), rng.choice([1, 2, 3, 4, 11, 12]), rng.randint(1, 4))
        for _ in range(rng.randint(0, 12))
    ]
    rows = [
        {
            **common,
            "from_id": a,
            "to_id": b,
            "hop_count": hop,
            "sent": OUTSIDE not in (a, b) and rng.random() < 0.7,
            "time_ns": rng.randint(1, 30),
            "access": b > 4,
            "content": rng.choice([5, 5, 5, -6]),
        }
        for a, b, hop in [*entered, *left, *moved]
    ]
    return rng.sample(rows, len(rows))


def one_by_one(rows: Sequence[Row]) -> Iterator[Row]:
    """The crossings of one message."""
    entries = [row for row in rows if row["from_id"] == OUTSIDE]
    exits = {(row["from_id"], row["hop_count"]) for row in rows if row["to_id"] == OUTSIDE}
    moves: dict[tuple[int, ...], list[Row]] = {}
    for row in rows:
        if OUTSIDE not in (row["from_id"], row["to_id"]):
            moves.setdefault(tuple(row[name] for name in KEY), []).append(row)
    found = [{**dict(zip(KEY, key, strict=True)), **met(of)} for key, of in moves.items()]
    came = [(row["to_id"], row["hop_count"] + 1, row["time_ns"]) for row in entries]
    came += [(e["to_id"], e["hop_count"] + 1, e["received_ns"]) for e in found if e["arrived"]]
    reached = {(router, hop) for router, hop, _ in came}
    altered = first_altered(found, [row["content"] for row in entries])
    for each in found:
        here = [at for router, hop, at in came if (router, hop) == (each["from_id"], each["hop_count"])]
        each["came_ns"] = min(here, default=None)
        each["wasted"] = not delivers(each["to_id"], each["hop_count"] + 1, exits, found)
        each["flaw"] = flaw(each, reached)
        each["altered"] = each is altered
    yield from found


def met(of: Sequence[Row]) -> Row:
    sent = [row["time_ns"] for row in of if row["sent"]]
    received = [row["time_ns"] for row in of if not row["sent"]]
    contents = {row["content"] for row in of}
    return {
        "access": of[0]["access"],
        "time_ns": min(sent, default=None),
        "copies": len(sent),
        "received_ns": min(received, default=None),
        "arrived": len(received),
        "content": contents.pop() if len(contents) == 1 else None,
    }


def delivers(router: int, hop: int, exits: set[tuple[int, int]], found: Sequence[Row]) -> bool:
    """Whether a first copy of a delivery left a router with a hop count, or descends from what left it."""
    onward = (e for e in found if (e["from_id"], e["hop_count"]) == (router, hop) and e["copies"])
    return (router, hop) in exits or any(delivers(e["to_id"], hop + 1, exits, found) for e in onward)


def flaw(crossing: Row, reached: set[tuple[int, int]]) -> str | None:
    if not crossing["copies"]:
        return "unsent"
    if (crossing["from_id"], crossing["hop_count"]) in reached:
        return None
    return "hops" if any(router == crossing["from_id"] for router, _ in reached) else "pathless"


def first_altered(found: Sequence[Row], entered: Sequence[int]) -> Row | None:
    """By time, then by sender, receiver and hop count."""

    def when(row: Row) -> tuple[int, ...]:
        time_ns = row["received_ns"] if row["time_ns"] is None else row["time_ns"]
        return (time_ns, row["from_id"], row["to_id"], row["hop_count"])

    odd = [r for r in found if r["content"] is None or (entered and r["content"] != max(entered))]
    return min(odd, key=when, default=None)


def in_order(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [row[name] for name in KEY])


def column(rows: Sequence[Row], name: str, kind: Any = np.int64) -> Any:
    return np.array([row[name] for row in rows], kind)


def over_columns(rows: Sequence[Row]) -> Crossings:
    """Those of all messages at once."""
    entered = [row for row in rows if row["from_id"] == OUTSIDE]
    left = [row for row in rows if row["to_id"] == OUTSIDE]
    moved = [row for row in rows if OUTSIDE not in (row["from_id"], row["to_id"])]
    flags = (column(moved, "access", bool), column(moved, "sent", bool))
    return crossings_of(
        Moves(*(column(moved, n) for n in KEY), *flags, column(moved, "time_ns"), column(moved, "content")),
        Entries(*(column(entered, n) for n in ("sequence", "to_id", "hop_count", "time_ns", "content"))),
        Exits(*(column(left, n) for n in ("sequence", "from_id", "hop_count"))),
    )


def as_rows(found: Crossings) -> list[Row]:
    met = found.met
    columns = dict(zip(KEY, (met.message, met.sender, met.receiver, met.hop), strict=True))
    columns |= {
        name: getattr(met, name) for name in ("access", "time_ns", "copies", "received_ns", "arrived")
    }
    columns |= {name: getattr(found, name) for name in ("wasted", "flaw", "altered", "came_ns")}
    values = zip(*(each.tolist() for each in columns.values()), strict=True)
    rows = [dict(zip(columns, row, strict=True)) for row in values]
    for row in rows:
        row["flaw"] = FLAWS[row["flaw"]] or None
        for name in ("time_ns", "received_ns", "came_ns"):
            row[name] = None if row[name] == UNKNOWN_NS else row[name]
    return rows


def test_crossings_found_over_columns_are_those_found_visit_by_visit(rng: Random) -> None:
    messages = [visits(rng, number) for number in range(400)]
    rows = [row for of in messages for row in of]
    true = [each for of in messages for each in one_by_one(of)]
    for each in true:
        del each["content"]
    assert in_order(as_rows(over_columns(rng.sample(rows, len(rows))))) == in_order(true)


def test_no_visits_make_no_crossings() -> None:
    assert as_rows(over_columns([])) == []

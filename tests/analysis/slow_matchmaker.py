"""The tables about `bp`, `bs` and `amsp` a second time, slowly: from Scapy's packets, in plain Python.

Shares no code with `analysis.course` and `analysis.messages`: docs/tables.md says what a column is, and
docs/wire-format.md where it is in a packet. Packets are walked in order of time, as routers saw them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

Row = dict[str, Any]
COST_ANNOUNCE, CHANGE_MARKING, REPLY, CD_UPDATE = 24, 25, 26, 27
NAMES = {24: "COST_ANNOUNCE", 25: "CHANGE_MARKING", 26: "CHANGE_MARKING_REPLY", 27: "CD_UPDATE"}
SAYS = {0: "new", 1: "withdrawn", 2: "again", 5: "kept"}
FIRST, LAST = 2, 4


class SlowMatchmaker:
    """What routers told each other, by the packets of a run in order of time."""

    def __init__(self, packets: Iterable[Row], scheme: Any, options: Row) -> None:
        """`packets` are rows of table `packets`."""
        told = [row for row in packets if row["front"] is not None and not row["peer_is_client"]]
        self._told = [{**row, **_read(row["front"])} for row in told]
        self._first = {"bp": "p", "bs": "s"}.get(scheme, options.get("marking", "s"))

    def signalling(self, slice_of: Any) -> dict[tuple[Any, ...], list[int]]:
        """Messages, descriptors, packets and bytes by direction, what, what is said, and slice."""
        found: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for row in (each for each in self._told if each["sent"]):
            key = row["node_id"], row["peer_id"], row["what"], row["said"], slice_of(row["time_ns"])
            for at, count in enumerate((row["first"], row["descriptors"], 1, row["packet_bytes"])):
                found[key][at] += count
        return dict(found)

    def markings(self) -> list[tuple[int, int, int, str, bool]]:
        """Direction, since when, mark, and whether it is changing."""
        found: list[tuple[int, int, int, str, bool]] = []
        for way in sorted({(row["node_id"], row["peer_id"]) for row in self._told}):
            found += [(*way, *mark) for mark in self._of_way(way)]
        return found

    def _of_way(self, way: tuple[int, int]) -> Iterator[tuple[int, str, bool]]:
        session, seen = None, set[Any]()
        asked: tuple[int, int] | None = None
        begun: Row | None = None
        for row in (each for each in self._told if (each["node_id"], each["peer_id"]) == way):
            ends = row["ends"] if row["sent"] else row["ends"][::-1]
            if ends != session:
                if ends in seen:
                    continue  # of a session that has ended
                session, asked, begun = ends, None, None
                yield row["time_ns"], self._first, False
            once = ends, row["sent"], row["packet"]
            if once in seen:
                continue
            seen |= {ends, once}
            if row["kind"] == CHANGE_MARKING and row["sent"] and row["first"]:
                asked = row["change"], row["mark"]
                yield row["time_ns"], "sp"[row["mark"]], True
            if row["kind"] == REPLY and not row["sent"]:
                begun = row if row["first"] else begun
                if row["last"] and begun is not None:
                    if asked == (begun["change"], begun["mark"]):
                        asked = None
                        yield row["time_ns"], "sp"[begun["mark"]], False
                    begun = None

    def matches(self, slice_of: Any) -> Counter[tuple[int, int]]:
        """How many by router and slice: those it told somebody of when nobody else had told it."""
        heard: dict[tuple[Any, ...], set[int]] = defaultdict(set)
        made = set[Any]()
        found: Counter[tuple[int, int]] = Counter()
        # What a router passes on at the moment at which it hears it, it has heard before.
        for row in sorted(self._told, key=lambda each: (each["time_ns"], each["sent"])):
            if (row["what"], row["said"]) != ("MCD", "new"):
                continue
            key = row["node_id"], row["match"]
            if not row["sent"]:
                heard[key].add(row["peer_id"])
            elif not heard[key] - {row["peer_id"]} and key not in made:
                made.add(key)
                found[row["node_id"], slice_of(row["time_ns"])] += 1
        return found


def _read(front: bytes) -> Row:
    flags, kind = front[4], front[5]
    row: Row = {
        "first": bool(flags & FIRST),
        "last": bool(flags & LAST),
        "ends": (front[8:16], front[16:24]),
        "packet": front[24:28],
        "what": NAMES[kind],
        "said": None,
        "descriptors": 0,
    }
    if row["first"] and kind in (CHANGE_MARKING, REPLY):
        row |= {"change": int.from_bytes(front[32:36]), "mark": front[36]}
        row["descriptors"] = int.from_bytes(front[37:41])
    if row["first"] and kind == CD_UPDATE:
        publisher, subscriber = any(front[33:37]), any(front[45:49])
        row["what"] = "MCD" if publisher and subscriber else "PCD" if publisher else "SCD"
        row |= {"said": SAYS[front[32]], "descriptors": 1, "match": front[33:57]}
    return row

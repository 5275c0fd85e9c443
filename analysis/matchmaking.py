"""What a run under `bp`, `bs` or `amsp` came to, by its tables: for verdict and report (decision 31)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from analysis.findings import Findings
from analysis.history import FOREVER
from topologies.fault_kinds import KINDS

TYPES = ("PCD", "SCD", "MCD", "again", "withdrawn", "COST_ANNOUNCE", "CHANGE_MARKING", "CHANGE_MARKING_REPLY")
"""Of signalling, as it is shown: descriptors and matches that are new by what they are."""
COUNTED = ("messages", "descriptors", "packets", "bytes")
Way = tuple[int, int]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of a direction of a link, from a moment on."""

    from_ns: int
    is_p: bool
    changing: bool
    is_down: bool = False
    """A fault has cut the link, or stopped a router at its end: it has no mark."""


@dataclass(frozen=True, slots=True)
class Matchmaking:
    """Of a run."""

    marks: Mapping[Way, Sequence[Mark]]
    """Of each direction of a link, in order of time."""
    used: frozenset[Way]
    """The directions in which data could flow: descriptors were told for them."""
    signalling: Mapping[str, Mapping[int, Mapping[str, int]]]
    """By type and slice: what is `COUNTED`."""
    matches: Mapping[int, Mapping[int, int]]
    """By router and slice: how many were made."""
    asked: Mapping[Way, int]
    """How often a change of each mark was asked for."""

    @property
    def changes(self) -> int:
        """How often a change of a mark was asked for, of any."""
        return sum(self.asked.values())

    def s_links(self, time_ns: int) -> int:
        """How many of the directions that are used were s-links, or becoming some."""
        last = (self.mark(way, time_ns) for way in self.used & self.marks.keys())
        return sum(mark is not None and not mark.is_p and not mark.is_down for mark in last)

    def mark(self, way: Way, time_ns: int) -> Mark | None:
        """Which a direction had at a moment; None: the link had not joined yet."""
        found = None
        for mark in self.marks[way]:
            if mark.from_ns > time_ns:
                break
            found = mark
        return found

    def total(self, type_: str) -> Counter[str]:
        """Over the run."""
        found = Counter(dict.fromkeys(COUNTED, 0))
        for counts in self.signalling.get(type_, {}).values():
            found.update(counts)
        return found

    def made(self, router: int) -> int:
        """How many matches were made at a router."""
        return sum(self.matches.get(router, {}).values())


def matchmaking_of(findings: Findings) -> Matchmaking | None:
    """What the tables say; None under other schemes, and where there are no tables."""
    tables = findings.over_time
    if tables is None or "markings" not in tables or not len(tables["markings"]):
        return None
    marks: dict[Way, list[Mark]] = {}
    joined: dict[Way, set[int]] = {}
    for row in tables["markings"].to_pylist():
        way = row["from_id"], row["to_id"]
        marks.setdefault(way, []).append(Mark(row["from_ns"], row["marking"] == "p", row["changing"]))
        if row["change"] is None:
            joined.setdefault(way, set()).add(row["from_ns"])
    asked = {way: sum(mark.changing for mark in of_way) for way, of_way in marks.items()}
    matches: dict[int, dict[int, int]] = {}
    for row in tables["matches"].to_pylist():
        matches.setdefault(row["node_id"], {})[row["slice"]] = row["matches"]
    told = tables["signalling"].to_pylist()
    faults = tables["faults"].to_pylist()
    shown = {
        way: _interrupted(of_way, joined.get(way, ()), _failures(faults, way))
        for way, of_way in marks.items()
    }
    return Matchmaking(shown, frozenset(_used(told)), _signalling(told), matches, asked)


Times = Sequence[tuple[int, int]]
"""From when until when, in order."""


def _failures(faults: Sequence[Row], way: Way) -> Times:
    """When faults let nothing pass a direction of a link."""
    found: list[tuple[int, int]] = []
    for row in sorted(faults, key=itemgetter("time_ns")):
        ends = {row["a_id"], row["b_id"]} - {None}
        if not ends or not ends <= {*way} or KINDS[row["kind"]].effect != "stops":
            continue
        begin, until = row["time_ns"], FOREVER if row["until_ns"] is None else row["until_ns"]
        if found and begin <= found[-1][1]:
            begin, until = found[-1][0], max(until, found.pop()[1])
        found.append((begin, until))
    return found


def _interrupted(marks: Sequence[Mark], joined: Collection[int], failures: Times) -> Sequence[Mark]:
    """The marks of a direction with the times in which it was down: until it was repaired, or joined anew."""
    for at, (begin, repaired) in enumerate(failures):
        following = failures[at + 1][0] if at + 1 < len(failures) else FOREVER
        first = next((mark.from_ns for mark in marks if mark.from_ns >= repaired), FOREVER)
        until = first if first in joined and first < following else repaired
        marks = _without(marks, begin, until)
    return marks


def _without(marks: Sequence[Mark], begin: int, until: int) -> Sequence[Mark]:
    """It is down for a time, and then has what it last had, if nothing else is known of then."""
    before = [mark for mark in marks if mark.from_ns < until]
    after = marks[len(before) :]
    if not before:
        return marks
    kept = [mark for mark in before if mark.from_ns < begin]
    is_known = until == FOREVER or (after and after[0].from_ns == until)
    back = [] if is_known else [replace(before[-1], from_ns=until, changing=False)]
    return [*kept, Mark(begin, is_p=False, changing=False, is_down=True), *back, *after]


def _used(told: Sequence[Row]) -> Iterator[Way]:
    """Publications go with the data, subscriptions against it; who is upstream changes a mark."""
    for row in told:
        if row["what"] in ("PCD", "CHANGE_MARKING"):
            yield row["from_id"], row["to_id"]
        elif row["what"] in ("SCD", "CHANGE_MARKING_REPLY"):
            yield row["to_id"], row["from_id"]


def _signalling(told: Sequence[Row]) -> dict[str, dict[int, Counter[str]]]:
    found: dict[str, dict[int, Counter[str]]] = {}
    for row in told:
        counts = found.setdefault(type_of(row), {}).setdefault(row["slice"], Counter())
        counts.update({name: row[name] for name in COUNTED})
    return found


def type_of(row: Row) -> str:
    """Of a row of table `signalling`: one of `TYPES`, or CD_UPDATE for the rest of one in fragments."""
    said = {"again": "again", "withdrawn": "withdrawn", "kept": "withdrawn"}.get(row["said"])
    return said or str(row["what"])


def as_verdict(findings: Findings) -> dict[str, Any] | None:
    """As in the verdict; None under other schemes."""
    found = matchmaking_of(findings)
    if found is None:
        return None
    return {
        "links": len(found.used & found.marks.keys()),
        "s_links": found.s_links(findings.run.end_ns),
        "changes": found.changes,
        "matches": sum(map(found.made, found.matches)),
        "matchmakers": len(found.matches),
        "signalling": {
            type_: dict(found.total(type_)) for type_ in (*TYPES, "CD_UPDATE") if type_ in found.signalling
        },
    }

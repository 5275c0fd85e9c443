"""What a run under `bp`, `bs` or `amsp` came to, by its tables: for verdict and report (decision 31)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.findings import Findings

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

    @property
    def changes(self) -> int:
        """How often a change of a mark was asked for."""
        return sum(mark.changing for marks in self.marks.values() for mark in marks)

    def s_links(self, time_ns: int) -> int:
        """How many of the directions that are used were s-links, or becoming some."""
        last = (self.mark(way, time_ns) for way in self.used & self.marks.keys())
        return sum(mark is not None and not mark.is_p for mark in last)

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
    for row in tables["markings"].to_pylist():
        mark = Mark(row["from_ns"], row["marking"] == "p", row["changing"])
        marks.setdefault((row["from_id"], row["to_id"]), []).append(mark)
    matches: dict[int, dict[int, int]] = {}
    for row in tables["matches"].to_pylist():
        matches.setdefault(row["node_id"], {})[row["slice"]] = row["matches"]
    told = tables["signalling"].to_pylist()
    return Matchmaking(marks, frozenset(_used(told)), _signalling(told), matches)


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

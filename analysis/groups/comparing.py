"""From runs to a comparison: the order of the work, and the comparison as a document and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis import AnalysisError
from analysis.groups.differences import Difference, differences
from analysis.groups.model import QUANTITIES, Group, Member, grouped, phases_of
from analysis.groups.words import sentences, with_spread
from analysis.headline import CLEAN, PARTLY_JUDGED, WRONG
from topologies.quantities import how_many, listed


@dataclass(frozen=True, slots=True)
class Compared:
    """Groups of runs, and what sets each apart from the reference."""

    title: str
    description: str
    """What the scenario says about itself."""
    groups: Sequence[Group]
    against: Mapping[str, object]
    """The values of the groups that others are compared with."""
    differences: Sequence[Difference]
    phases: Sequence[str]
    summary: Sequence[str]
    reservations: Sequence[str]

    @property
    def run_count(self) -> int:
        """Of all groups."""
        return sum(len(group.members) for group in self.groups)

    @property
    def bad(self) -> bool:
        """Whether a verdict is wrong."""
        return any(m.verdict["verdict"] == WRONG for group in self.groups for m in group.members)

    @property
    def headline(self) -> str:
        """How many differences are certain."""
        if all(d.certain is None for d in self.differences):
            return how_many(len(self.groups), "group") + " of runs, one run each"
        sure = sum(bool(d.certain) for d in self.differences)
        verb = "is" if sure == 1 else "are"
        return f"{sure} of {how_many(len(self.differences), 'difference')} {verb} certain"

    def to_json(self) -> dict[str, Any]:
        """For programs: times in nanoseconds, sizes in bytes."""
        return {
            "title": self.title,
            "groups": [_group(group) for group in self.groups],
            "against": dict(self.against),
            "differences": [_difference(d) for d in self.differences],
            "summary": list(self.summary),
            "reservations": list(self.reservations),
        }


def compare(
    title: str,
    members: Sequence[Member],
    against: Mapping[str, str] | None = None,
    left_out: Sequence[str] = (),
    description: str = "",
) -> Compared:
    """Compare groups of runs.

    Args:
        title: What the runs are of.
        members: All runs.
        against: Values, as text, of the groups that others are compared with, which are the same but for
            these; default: the first value of what is named first.
        left_out: Why runs that should be there are not.
        description: What the scenario says about itself.

    Raises:
        AnalysisError: No group has these values.
    """
    groups = grouped(members)
    values = _values(groups, against) if against else dict(list(groups[0].values.items())[:1])
    found = differences(groups, values)
    return Compared(
        title,
        description,
        groups,
        values,
        found,
        phases_of(groups),
        sentences(found),
        [*left_out, *_reservations(groups)],
    )


def _values(groups: Sequence[Group], against: Mapping[str, str]) -> dict[str, object]:
    """The values themselves, by their texts."""
    found: dict[str, object] = {}
    for name, text in against.items():
        known = {str(group.values[name]): group.values[name] for group in groups if name in group.values}
        if text not in known:
            names = listed(groups[0].values, 10)
            named = f"{name} is one of {', '.join(known)}" if known else f"there is {names}"
            raise AnalysisError(f"no runs have {name}={text}; {named}")
        found[name] = known[text]
    return found


def _reservations(groups: Sequence[Group]) -> Iterator[str]:
    """What makes the figures doubtful."""
    members = [m for group in groups for m in group.members]
    for word in sorted({str(m.verdict["verdict"]) for m in members} - {CLEAN, PARTLY_JUDGED}):
        runs = [m.path.name for m in members if m.verdict["verdict"] == word]
        yield f"The verdict is {word} of {_some(runs)}."
    degraded = [
        m.path.name for m in members if (m.verdict.get("fidelity") or {}).get("verdict") == "degraded"
    ]
    if degraded:
        yield f"The machine did not keep up, so latencies hold its own delays, in {_some(degraded)}."
    unanalysed = [m.path.name for m in members if "scheme" not in m.verdict]
    if unanalysed:
        yield (
            f"Crossings and state are known of analysed runs alone (cbn analyze), and these are not: "
            f"{_some(unanalysed)}."
        )
    uneven = {len(group.members) for group in groups}
    if len(uneven) > 1:
        yield f"Groups have different numbers of runs, from {min(uneven)} to {max(uneven)}."


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def to_text(found: Compared, width: int) -> str:
    """For a terminal: the sentences, and a table of the groups if it is not too wide."""
    lines = [found.headline, *(f"  {text}" for text in found.summary)]
    lines += ["to keep in mind:", *(f"  {text}" for text in found.reservations)] if found.reservations else []
    table = list(_table(found))
    fits = max(map(len, table)) <= width
    return "\n".join([*lines, *(["", *table] if fits else [])])


def _table(found: Compared) -> Iterator[str]:
    """A line a quantity, a column a group, for there are more of the first."""
    shown = [q for q in QUANTITIES if any(group.by_seed(q) for group in found.groups)]
    rows = [["", *(group.name for group in found.groups)]]
    rows += [[q.title, *(with_spread(q, group.spread(q)) for group in found.groups)] for q in shown]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()


def _group(group: Group) -> dict[str, Any]:
    spreads = {q.key: group.spread(q) for q in QUANTITIES}
    return {
        "values": dict(group.values),
        "runs": [str(m.path) for m in group.members],
        "quantities": {
            key: {"n": found.count, "mean": found.mean, "ci95": found.half}
            for key, found in spreads.items()
            if found is not None
        },
    }


def _difference(d: Difference) -> dict[str, Any]:
    return {
        "values": dict(d.group.values),
        "beside": dict(d.reference.values),
        "quantity": d.quantity.key,
        "reference": d.before,
        "value": d.after,
        "factor" if d.is_factor else "difference": d.estimate,
        "ci95": None if d.low is None else [d.low, d.high],
        "certain": d.certain,
        "pairs": d.pairs,
    }

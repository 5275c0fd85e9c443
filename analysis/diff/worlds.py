"""What two runs of one plan in two worlds differ by: latency, and how much; also where that counts as none.

A difference that is smaller than the limits is no difference of the network. But whoever compares an emulated
run with one on a cluster wants to know what the machines' own network adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.diff.differences import name_of, signed
from analysis.diff.model import TimeRow
from analysis.diff.tables import ALL, HOP
from analysis.rundir import Run
from topologies.quantities import duration_text, how_many

CLOCKS = "tables/clocks.parquet"


def unsure_ns(run: Run) -> int:
    """By how much a difference of times of two machines may be wrong; 0 where all have one clock."""
    if not run.machines:
        return 0
    try:
        rows = pq.read_table(run.path / CLOCKS, columns=["uncertainty_ns", "residual_ns"]).to_pylist()
    except (OSError, pa.ArrowInvalid):  # of an earlier version: nothing is known of its clocks
        return 0
    return 2 * max((row["residual_ns"] + (row["uncertainty_ns"] or 0) for row in rows), default=0)


def world_notes(before: Run, after: Run, times: Sequence[TimeRow]) -> list[str]:
    """How much latencies differ, where the worlds do: of all deliveries, and of links of each kind."""
    worlds = [str(run.manifest["world"]) for run in (before, after)]
    if worlds[0] == worlds[1]:
        return []
    return [f"{worlds[0]} before, {worlds[1]} after: {text}" for text in _texts(before, after, times)]


def _texts(before: Run, after: Run, times: Sequence[TimeRow]) -> Iterator[str]:
    rows = {row.what: row for row in times}
    whole = rows.get(name_of((ALL, "", "")))
    if whole is not None:
        yield (
            f"the latency of deliveries differs by {signed(whole.shift.estimate)} "
            f"(95 % interval {signed(whole.shift.low)} to {signed(whole.shift.high)}; "
            f"median {duration_text(whole.before_ns)} before, {duration_text(whole.after_ns)} after)"
        )
    for kind, names in _links(after if after.machines else before).items():
        shifts = {name: rows[name].shift.estimate for name in names if name in rows}
        if shifts:
            most = max(shifts, key=lambda name: abs(shifts[name]))
            yield (
                f"{how_many(len(shifts), 'direction')} of links {kind} by {signed(median(shifts.values()))} "
                f"(median), most {most} by {signed(shifts[most])}"
            )
    if unsure := max(unsure_ns(before), unsure_ns(after)):
        yield f"clocks of machines leave {duration_text(unsure)} of this unsure"


def _links(run: Run) -> dict[str, list[str]]:
    """The series of directions of links, by whether they are between machines."""
    hosts = run.hosts or {}
    found: dict[str, list[str]] = {"between machines": [], "inside machines": []}
    for link in run.plan.links:
        ids = [next(n.node_id for n in run.plan.nodes if n.name == end) for end in (link.a, link.b)]
        inside = len({hosts.get(each) for each in ids}) == 1
        of_kind = found["inside machines" if inside else "between machines"]
        of_kind += [name_of((HOP, link.a, link.b)), name_of((HOP, link.b, link.a))]
    return found

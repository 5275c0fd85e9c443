"""Where matches of descriptors were made (MM 2): by what routers told their neighbours of them, and when.

A router that makes a match tells it both ways along the path; one that was told passes it on, away from who
told. So who tells a neighbour of a match that no other neighbour has told it before has made it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis.columns import Numbers, groups
from analysis.course.fronts import MCD, Told
from analysis.messages.rows import TOLD, numbers

NEVER = np.iinfo(np.int64).max


def told_of(packets: pa.Table) -> pa.Table:
    """Of rows of table `packets`: those in which a router tells another of a match."""
    told = Told.of(packets)
    chosen = (told.what == MCD) & (told.said == 0)
    columns = {name: told.field(name) for name in ("publisher", "pcd", "subscriber", "scd")}
    columns |= {name: told.column(name) for name in ("node_id", "peer_id", "sent", "time_ns")}
    return pa.table({name: column[chosen] for name, column in columns.items()}, schema=TOLD)


@dataclass(frozen=True, slots=True)
class Made:
    """Matches and the routers that made them, each pair once."""

    router: Numbers
    time_ns: Numbers


def made_of(told: pa.Table) -> Made:
    """Those that some rows show, which must be all that there are of a match."""
    columns = {name: numbers(told[name]) for name in TOLD.names}
    at, first = groups(*(columns[name] for name in ("publisher", "pcd", "subscriber", "scd", "node_id")))
    way, begins = groups(at, columns["peer_id"])
    sent_ns, heard_ns = (
        _least(way, np.where(columns["sent"] == whether, columns["time_ns"], NEVER), len(begins))
        for whether in (1, 0)
    )
    of = at[begins]
    makes = sent_ns < _from_others(of, heard_ns, len(first))
    made_ns = _least(of[makes], sent_ns[makes], len(first))
    found = made_ns < NEVER
    return Made(columns["node_id"][first][found], made_ns[found])


def _least(group: Numbers, values: Numbers, count: int) -> Numbers:
    found = np.full(count, NEVER, np.int64)
    np.minimum.at(found, group, values)
    return found


def _from_others(group: Numbers, values: Numbers, count: int) -> Numbers:
    """Of each row the least value of the other rows of its group."""
    least = _least(group, values, count)
    is_least = np.zeros(len(group), bool)
    at_least = np.flatnonzero(values == least[group])
    _, once = np.unique(group[at_least], return_index=True)
    is_least[at_least[once]] = True
    second = _least(group[~is_least], values[~is_least], count)
    found: Numbers = np.where(is_least, second[group], least[group])
    return found

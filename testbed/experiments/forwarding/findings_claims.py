"""Ours beside section 1 and section 5.4: figures of single tables, and a network computed from them."""

from __future__ import annotations

from analysis.figures.axes import count
from testbed.experiments.finding import Finding
from testbed.experiments.forwarding.findings import ALGORITHMS, time
from testbed.experiments.forwarding.network import break_even_us, hops, network_us
from testbed.experiments.forwarding.rows import Measured, Row, rows_of

ENTRIES = 10
PAPER_BYTES = 48
READINGS = (1, 20)
"""Of "250000 conjunctions formed from 5 million constraints" (E2): five a filter, or 20 in each."""


def time_at_twenty(results: Measured) -> Finding:
    """Section 1's 3 ms, in the readings of E2."""
    said = [
        f"{_table(rows[0])}: " + ", ".join(f"{r.algorithm} {time(r.time_us)}" for r in rows)
        for rows in _twenty(results)
        if rows[0].constraints_low in READINGS
    ]
    return Finding("; ".join(said), None)


def matched_of_twenty(results: Measured) -> Finding:
    """18 of 20, by tables of filters from one constraint on (F9)."""
    tables = [rows[0] for rows in _twenty(results)]
    said = "; ".join(f"{_table(row)}: {row.matched_mean:.1f} of {row.interfaces}" for row in tables)
    paper_like = [r for r in tables if r.constraints_low == 1]
    return Finding(said, any(17.5 <= r.matched_mean <= 19.5 for r in paper_like))


def fewer_matches_less_time(results: Measured) -> Finding:
    """Does a message that goes to fewer neighbours take less?"""
    said, holds = [], True
    for algorithm in ALGORITHMS:
        rows = sorted(_of_twenty(results, algorithm), key=lambda r: r.matched_mean)
        steps = [f"{time(r.time_us)} at {r.matched_mean:.1f}" for r in rows]
        said.append(f"{algorithm} {', '.join(steps)}")
        if algorithm != "fast":
            holds = holds and rows[0].time_us < rows[-1].time_us
    return Finding("; ".join(said), holds)


def bytes_per_constraint(results: Measured) -> Finding:
    """48 bytes, of the tables the paper may have meant (E2); within a quarter where they are as large."""
    tables = [rows for rows in _twenty(results) if rows[0].constraints_low in READINGS]
    said = [
        f"{_table(rows[0])}: " + ", ".join(f"{r.algorithm} {r.bytes_per_constraint:.0f}" for r in rows)
        for rows in tables
    ]
    large = 0.9 * max(rows[0].constraints for rows in tables)
    papers = [r for rows in tables for r in rows if r.algorithm != "fast" and r.constraints > large]
    return Finding("; ".join(said), all(r.bytes_per_constraint <= 1.25 * PAPER_BYTES for r in papers))


def eliminated_by_ten(results: Measured) -> Finding:
    """131,000 of 200,000; F9 expects 120,000 to 128,000."""
    rows = [r for r in rows_of(results, "selective") if r.eliminated_mean is not None and r.rounds == ENTRIES]
    row = max(rows, key=lambda r: r.interfaces)
    share = (row.eliminated_mean or 0.0) / row.interfaces
    said = f"{count(round(row.eliminated_mean or 0))} of {count(row.interfaces)} ({share:.0%})"
    return Finding(said, abs(share - 131 / 200) < 0.07)


def single_router(results: Measured) -> Finding:
    """The first configuration of section 5.4."""
    said = [f"{r.algorithm} {time(r.time_us)}" for r in results.rows if r.central]
    return Finding(", ".join(said), None)


def hops_at_twenty(results: Measured) -> Finding:
    """E4: the formula gives 10 where the paper has 12."""
    destinations = next(r.filters for r in results.rows if r.central)
    fixed = sorted({r.interfaces for r in results.rows if not r.central})
    said = ", ".join(f"{hops(i, destinations)} with {i} interfaces" for i in fixed)
    return Finding(f"{said} (2 log_I {count(destinations)}, rounded up)", hops(20, destinations) <= 12)


def network_beats_router(results: Measured) -> Finding:
    """Does a network of routers beat a single one, for each of the paper's algorithms?"""
    said, holds = [], True
    for algorithm in ALGORITHMS:
        single, row, count_ = _ends(results, algorithm)
        whole = network_us(row, count_)
        won = "yes" if whole < single.time_us else "no"
        times = f"{time(single.time_us)} alone, {time(whole)} over {count_} routers"
        said.append(f"{algorithm}: {won}, {times}, {single.time_us / whole:.2g} x")
        if algorithm != "fast":
            holds = holds and whole < single.time_us
    return Finding("; ".join(said), holds)


def break_even(results: Measured) -> Finding:
    """Not in the paper, which counts matching alone: what a further hop may cost besides."""
    said = []
    for algorithm in ALGORITHMS:
        single, row, count_ = _ends(results, algorithm)
        spare = break_even_us(single, row, count_)
        said.append(f"{algorithm} {time(spare)}" if spare > 0 else f"{algorithm} nothing")
    return Finding("a further hop may cost besides matching: " + ", ".join(said), None)


def _ends(results: Measured, algorithm: str) -> tuple[Row, Row, int]:
    """The single router, the router of 20 interfaces, and how many of these are on the way."""
    rows = rows_of(results, algorithm)
    single = next(r for r in rows if r.central)
    row = min((r for r in rows if not r.central), key=lambda r: abs(r.interfaces - 20))
    return single, row, hops(row.interfaces, single.filters)


def _twenty(results: Measured) -> list[list[Row]]:
    """The rows of the tables with few interfaces, table by table."""
    tables: dict[tuple[int, int], list[Row]] = {}
    for row in results.rows:
        if row.interfaces == 20:
            tables.setdefault((row.filters, row.constraints), []).append(row)
    return list(tables.values())


def _of_twenty(results: Measured, algorithm: str) -> list[Row]:
    """Of one size, those that differ in the least number of constraints per filter."""
    rows = [r for r in rows_of(results, algorithm) if r.interfaces == 20 and r.constraints_low < READINGS[1]]
    size = rows[0].filters
    return [r for r in rows if r.filters == size]


def _table(row: Row) -> str:
    low = f", {row.constraints_low} or more each" if row.constraints_low > 1 else ""
    return f"{row.filters / 1e3:,.0f} k filters, {row.constraints / 1e6:.2f} M constraints{low}"

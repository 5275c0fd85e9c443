"""Ours beside what the paper printed: one function a statement, named by the experiment's file.

Each returns in words what came out, and whether the statement holds: True, False, or
None where the two cannot be compared. Absolute times cannot: the machines are
20 years apart. Shapes and counts can. A network of routers is computed from single
tables, as in section 5.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from statistics import median

from analysis.figures.axes import count, duration
from testbed.experiments.forwarding.measure import ALGORITHMS, OURS, PRESELECTING, Row
from testbed.experiments.kind import Checks, Finding
from testbed.experiments.results import Results, grouped

Measured = Results[Row]

check = Checks()
SMALL_FILTERS = 1000
"""Below, a message takes less than what a round costs, and the curves have not found their slope."""
HIGH_RATIO = 100
ENTRIES = 10
PAPER_BYTES = 48
READINGS = (1, 20)
"""Of "250000 conjunctions formed from 5 million constraints" (E2): five a filter, or 20 in each."""


def rows_of(results: Measured, algorithm: str) -> list[Row]:
    """The rows of an algorithm."""
    return [row for row in results.rows if row.algorithm == algorithm]


def time(us: float) -> str:
    """Microseconds in the unit that suits them."""
    return duration(us * 1000)


def percent(value: float) -> str:
    """A gain; a cost is negative."""
    return f"{round(value)} %"


def curve_of(row: Row) -> str:
    """`5 M constraints` or `500 k constraints, cold`."""
    much = row.constraints >= 950_000
    size = f"{row.constraints / 1e6:.1g} M" if much else f"{row.constraints / 1e3:.0f} k"
    return f"{size} constraints{', cold' if row.cold else ''}"


@check
def largest_time(results: Measured) -> Finding:
    """Absolute times at the largest table, of each number of interfaces where that is fixed."""
    fixed = _by_interfaces([r for r in results.rows if not r.central])
    text = [f"{rows[0].interfaces} interfaces: {_times(_largest(rows))}" for rows in fixed]
    alone = [r for r in results.rows if r.central]
    if alone:
        text.append(_times(_largest(alone)))
    return Finding("; ".join(text), None)


def _times(rows: Sequence[Row]) -> str:
    text = ", ".join(f"{r.algorithm} {time(r.time_us)}" for r in rows)
    return f"{text} at {rows[0].constraints / 1e6:.2g} M constraints"


@check
def largest_gain(results: Measured) -> Finding:
    """The best saving over the sweep, near 40 %."""
    best = max(_selective(results), key=lambda r: r.gain)
    at = f"at {count(best.interfaces)} interfaces"
    last = max(_selective(results), key=lambda r: r.constraints)
    text = f"up to {percent(best.gain)} {at}; {percent(last.gain)} at the largest table"
    return Finding(text, 25 <= best.gain <= 60)


@check
def growth(results: Measured) -> Finding:
    """Exponents where one filter an interface is swept."""
    found = {a: _exponent([r for r in rows_of(results, a) if r.central]) for a in ALGORITHMS}
    return Finding(", ".join(f"{a} {exponent:.2f}" for a, exponent in found.items()), None)


@check
def sublinear(results: Measured) -> Finding:
    """Exponents below one for every fixed number of interfaces."""
    exponents = {a: [_exponent(rows) for rows in _by_interfaces(rows_of(results, a))] for a in ALGORITHMS}
    text = "; ".join(f"{a} {min(e):.2f} to {max(e):.2f}" for a, e in exponents.items())
    return Finding(f"time grows as C to the power of: {text}", max(exponents["counting"]) < 0.9)


@check
def rounds_make_no_difference(results: Measured) -> Finding:
    """Gains about zero where interfaces have many filters."""
    gains = [r.gain for r in _selective(results) if r.filters / r.interfaces >= HIGH_RATIO]
    if not gains:
        return Finding("no table with that many filters per interface", None)
    typical = median(abs(g) for g in gains)
    text = f"from {percent(min(gains))} to {percent(max(gains))}, typically {typical:.1f} %"
    return Finding(text, typical < 5)


@check
def best_with_large_disjunctions(results: Measured) -> Finding:
    """The more filters an interface has, the faster."""
    return Finding.each(map(partial(_best_with_large, results), ALGORITHMS))


def _best_with_large(results: Measured, algorithm: str) -> tuple[str, bool]:
    rows = sorted(rows_of(results, algorithm), key=lambda r: r.filters / r.interfaces)
    fewest, most = rows[0], rows[-1]
    best, worst = min(rows, key=lambda r: r.time_us), max(rows, key=lambda r: r.time_us)
    text = (
        f"{algorithm} {time(fewest.time_us)} with one filter an interface, {time(most.time_us)} with "
        f"{_ratio(most)}, at worst {time(worst.time_us)} with {_ratio(worst)}"
    )
    fastest = most.time_us <= 1.3 * best.time_us and most.time_us < fewest.time_us
    return text, algorithm == OURS or fastest


@check
def gain_with_few_filters(results: Measured) -> Finding:
    """Preselection pays at the left, and not at the right."""
    rows = sorted(_selective(results), key=lambda r: r.filters / r.interfaces)
    text = f"{percent(rows[0].gain)} with one filter an interface, {percent(rows[-1].gain)} with the most"
    return Finding(text, rows[0].gain > 10 and abs(rows[-1].gain) < 10)


@check
def turns_to_cost(results: Measured) -> Finding:
    """Where the gain is gone, curve by curve."""
    text, holds = [], []
    for curves in _conditions(results):
        turns = [_turning(rows) for rows in curves]
        text += [f"{curve_of(rows[0])}: {_turned(at, rows)}" for at, rows in zip(turns, curves, strict=True)]
        holds.append(all(at is not None and 40 <= at <= 80 for at in turns))
    return Finding("; ".join(text), any(holds))


@check
def gain_rises_and_fades(results: Measured) -> Finding:
    """A maximum within the sweep."""
    text, holds = [], []
    for curves in _conditions(results):
        best = [max(rows, key=lambda r: r.gain) for rows in curves]
        text += [f"{curve_of(r)}: {percent(r.gain)} at {r.rounds} rounds" for r in best]
        ends = [(rows[0].rounds, rows[-1].rounds) for rows in curves]
        inside = [low < r.rounds < high for r, (low, high) in zip(best, ends, strict=True)]
        holds.append(all(inside) and min(r.gain for r in best) > 5)
    return Finding("; ".join(text), any(holds))


@check
def more_constraints_more_gain(results: Measured) -> Finding:
    """The larger table has the higher curve, under every condition."""
    text, holds = [], True
    for curves in _conditions(results):
        best = [max(rows, key=lambda r: r.gain) for rows in curves]
        text.append(", ".join(f"{curve_of(r)}: {percent(r.gain)}" for r in best))
        holds = holds and best[-1].gain > best[0].gain
    return Finding(f"at best {'; '.join(text)}", holds)


def _ratio(row: Row) -> str:
    return count(round(row.filters / row.interfaces))


def _selective(results: Measured) -> list[Row]:
    return rows_of(results, PRESELECTING)


def _largest(rows: Sequence[Row]) -> list[Row]:
    most = max(r.constraints for r in rows)
    return [r for r in rows if r.constraints == most]


def _by_interfaces(rows: Iterable[Row]) -> Iterable[list[Row]]:
    return grouped(sorted(rows, key=lambda r: r.interfaces), lambda r: r.interfaces).values()


def _conditions(results: Measured) -> list[list[list[Row]]]:
    """Warm curves, then cold ones: from the smallest table to the largest, each by rounds."""
    ordered = sorted(_selective(results), key=lambda r: (r.cold, r.constraints, r.rounds))
    return [
        list(grouped(rows, lambda r: r.constraints).values())
        for rows in grouped(ordered, lambda r: r.cold).values()
    ]


def _exponent(rows: Sequence[Row]) -> float:
    """The slope between the first table of some size and the largest, both axes logarithmic."""
    ordered = sorted(rows, key=lambda r: r.constraints)
    first = next((r for r in ordered if r.filters >= SMALL_FILTERS), ordered[0])
    last = ordered[-1]
    if first is last:
        first = ordered[0]
    return math.log(last.time_us / first.time_us) / math.log(last.constraints / first.constraints)


def _turning(rows: Sequence[Row]) -> float | None:
    """Between which rounds the gain becomes a cost for good: where the line crosses zero."""
    gains = [(r.rounds, r.gain) for r in rows if r.rounds > 0]
    last = max((at for at, (_, gain) in enumerate(gains) if gain > 0), default=-1)
    if last + 1 >= len(gains) or last < 0:
        return None
    (before, up), (after, down) = gains[last], gains[last + 1]
    return before + (after - before) * up / (up - down)


def _turned(at: float | None, rows: Sequence[Row]) -> str:
    last = rows[-1]
    if at is not None:
        return f"after {at:.0f} rounds"
    if last.gain > 0:
        return f"not within {last.rounds} rounds (still {percent(last.gain)})"
    return "never a gain"


@check
def time_at_twenty(results: Measured) -> Finding:
    """Section 1's 3 ms, in the readings of E2."""
    text = [
        f"{_table(rows[0])}: " + ", ".join(f"{r.algorithm} {time(r.time_us)}" for r in rows)
        for rows in _twenty(results)
        if rows[0].constraints_low in READINGS
    ]
    return Finding("; ".join(text), None)


@check
def matched_of_twenty(results: Measured) -> Finding:
    """18 of 20, by tables of filters from one constraint on (F9)."""
    tables = [rows[0] for rows in _twenty(results)]
    text = "; ".join(f"{_table(row)}: {row.matched_mean:.1f} of {row.interfaces}" for row in tables)
    paper_like = [r for r in tables if r.constraints_low == 1]
    return Finding(text, any(17.5 <= r.matched_mean <= 19.5 for r in paper_like))


@check
def fewer_matches_less_time(results: Measured) -> Finding:
    """Does a message that goes to fewer neighbours take less?"""
    return Finding.each(map(partial(_fewer_matches, results), ALGORITHMS))


def _fewer_matches(results: Measured, algorithm: str) -> tuple[str, bool]:
    rows = sorted(_of_twenty(results, algorithm), key=lambda r: r.matched_mean)
    steps = [f"{time(r.time_us)} at {r.matched_mean:.1f}" for r in rows]
    return f"{algorithm} {', '.join(steps)}", algorithm == OURS or rows[0].time_us < rows[-1].time_us


@check
def bytes_per_constraint(results: Measured) -> Finding:
    """48 bytes, of the tables the paper may have meant (E2); within a quarter where they are as large."""
    tables = [rows for rows in _twenty(results) if rows[0].constraints_low in READINGS]
    text = [
        f"{_table(rows[0])}: " + ", ".join(f"{r.algorithm} {r.bytes_per_constraint:.0f}" for r in rows)
        for rows in tables
    ]
    large = 0.9 * max(rows[0].constraints for rows in tables)
    papers = [r for rows in tables for r in rows if r.algorithm != OURS and r.constraints > large]
    return Finding("; ".join(text), all(r.bytes_per_constraint <= 1.25 * PAPER_BYTES for r in papers))


@check
def eliminated_by_ten(results: Measured) -> Finding:
    """131,000 of 200,000; F9 expects 120,000 to 128,000."""
    rows = [
        r for r in rows_of(results, PRESELECTING) if r.eliminated_mean is not None and r.rounds == ENTRIES
    ]
    row = max(rows, key=lambda r: r.interfaces)
    share = (row.eliminated_mean or 0.0) / row.interfaces
    text = f"{count(round(row.eliminated_mean or 0))} of {count(row.interfaces)} ({share:.0%})"
    return Finding(text, abs(share - 131 / 200) < 0.07)


@check
def single_router(results: Measured) -> Finding:
    """The first configuration of section 5.4."""
    text = [f"{r.algorithm} {time(r.time_us)}" for r in results.rows if r.central]
    return Finding(", ".join(text), None)


@check
def hops_at_twenty(results: Measured) -> Finding:
    """E4: the formula gives 10 where the paper has 12."""
    destinations = next(r.filters for r in results.rows if r.central)
    fixed = sorted({r.interfaces for r in results.rows if not r.central})
    text = ", ".join(f"{hops(i, destinations)} with {i} interfaces" for i in fixed)
    return Finding(f"{text} (2 log_I {count(destinations)}, rounded up)", hops(20, destinations) <= 12)


@check
def network_beats_router(results: Measured) -> Finding:
    """Does a network of routers beat a single one, for each of the paper's algorithms?"""
    return Finding.each(map(partial(_network_beats_router, results), ALGORITHMS))


def _network_beats_router(results: Measured, algorithm: str) -> tuple[str, bool]:
    single, row, hops_ = _ends(results, algorithm)
    whole = network_us(row, hops_)
    won = whole < single.time_us
    times = f"{time(single.time_us)} alone, {time(whole)} over {hops_} routers"
    text = f"{algorithm}: {'yes' if won else 'no'}, {times}, {single.time_us / whole:.2g} x"
    return text, algorithm == OURS or won


@check
def break_even(results: Measured) -> Finding:
    """Not in the paper, which counts matching alone: what a further hop may cost besides."""
    spare = {algorithm: break_even_us(*_ends(results, algorithm)) for algorithm in ALGORITHMS}
    text = ", ".join(f"{a} {time(us) if us > 0 else 'nothing'}" for a, us in spare.items())
    return Finding(f"a further hop may cost besides matching: {text}", None)


def _ends(results: Measured, algorithm: str) -> tuple[Row, Row, int]:
    """The single router, the router of 20 interfaces, and how many of these are on the way."""
    rows = rows_of(results, algorithm)
    single = next(r for r in rows if r.central)
    row = min((r for r in rows if not r.central), key=lambda r: abs(r.interfaces - 20))
    return single, row, hops(row.interfaces, single.filters)


def _twenty(results: Measured) -> list[list[Row]]:
    """The rows of the tables with few interfaces, table by table."""
    rows = [row for row in results.rows if row.interfaces == 20]
    return list(grouped(rows, lambda r: (r.filters, r.constraints)).values())


def _of_twenty(results: Measured, algorithm: str) -> list[Row]:
    """Of one size, those that differ in the least number of constraints per filter."""
    rows = [r for r in rows_of(results, algorithm) if r.interfaces == 20 and r.constraints_low < READINGS[1]]
    size = rows[0].filters
    return [r for r in rows if r.filters == size]


def _table(row: Row) -> str:
    low = f", {row.constraints_low} or more each" if row.constraints_low > 1 else ""
    return f"{row.filters / 1e3:,.0f} k filters, {row.constraints / 1e6:.2f} M constraints{low}"


def hops(interfaces: int, destinations: int) -> int:
    """Routers on the longest way: up a tree of that degree and down again, 2 log_I H (E4).

    >>> hops(20, 1_000_000), hops(10, 1_000_000), hops(40, 1_000_000)
    (10, 12, 8)
    """
    exact = 2 * math.log(destinations) / math.log(interfaces)
    return max(1, math.ceil(exact - 1e-9))


def network_us(row: Row, count: int) -> float:
    """Matching from end to end: every router on the way holds the whole table, as in the paper."""
    return row.time_us * count


def break_even_us(single: Row, row: Row, count: int) -> float:
    """What a further hop may cost besides matching before the single router is as fast."""
    return (single.time_us - network_us(row, count)) / max(1, count - 1)

"""Ours beside what the paper printed: one function a statement, named by the experiment's file.

Each says in words what came out, and whether the statement holds: True, False, or
None where the two cannot be compared. Absolute times cannot: the machines are
20 years apart. Shapes and counts can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from analysis.figures.axes import count, duration
from testbed.experiments.finding import Finding
from testbed.experiments.forwarding.rows import Measured, Row, rows_of

ALGORITHMS = ("counting", "selective", "fast")
SMALL_FILTERS = 1000
"""Below, a message takes less than what a round costs, and the curves have not found their slope."""
HIGH_RATIO = 100


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


def largest_time(results: Measured) -> Finding:
    """Absolute times at the largest table, of each number of interfaces where that is fixed."""
    fixed = _by_interfaces([r for r in results.rows if not r.central]).items()
    said = [f"{interfaces} interfaces: {_times(_largest(rows))}" for interfaces, rows in fixed]
    alone = [r for r in results.rows if r.central]
    if alone:
        said.append(_times(_largest(alone)))
    return Finding("; ".join(said), None)


def _times(rows: Sequence[Row]) -> str:
    said = ", ".join(f"{r.algorithm} {time(r.time_us)}" for r in rows)
    return f"{said} at {rows[0].constraints / 1e6:.2g} M constraints"


def largest_gain(results: Measured) -> Finding:
    """The best saving over the sweep, near 40 %."""
    best = max(_selective(results), key=lambda r: r.gain)
    at = f"at {count(best.interfaces)} interfaces"
    last = max(_selective(results), key=lambda r: r.constraints)
    said = f"up to {percent(best.gain)} {at}; {percent(last.gain)} at the largest table"
    return Finding(said, 25 <= best.gain <= 60)


def growth(results: Measured) -> Finding:
    """Exponents where one filter an interface is swept."""
    found = {a: _exponent([r for r in rows_of(results, a) if r.central]) for a in ALGORITHMS}
    return Finding(_by_algorithm(found), None)


def sublinear(results: Measured) -> Finding:
    """Exponents below one for every fixed number of interfaces."""
    exponents = {
        a: [_exponent(rows) for rows in _by_interfaces(rows_of(results, a)).values()] for a in ALGORITHMS
    }
    said = "; ".join(f"{a} {min(e):.2f} to {max(e):.2f}" for a, e in exponents.items())
    return Finding(f"time grows as C to the power of: {said}", max(exponents["counting"]) < 0.9)


def rounds_make_no_difference(results: Measured) -> Finding:
    """Gains about zero where interfaces have many filters."""
    gains = [r.gain for r in _selective(results) if r.filters / r.interfaces >= HIGH_RATIO]
    if not gains:
        return Finding("no table with that many filters per interface", None)
    typical = median(abs(g) for g in gains)
    said = f"from {percent(min(gains))} to {percent(max(gains))}, typically {typical:.1f} %"
    return Finding(said, typical < 5)


def best_with_large_disjunctions(results: Measured) -> Finding:
    """The more filters an interface has, the faster."""
    said, holds = [], True
    for algorithm in ALGORITHMS:
        rows = sorted(rows_of(results, algorithm), key=lambda r: r.filters / r.interfaces)
        fewest, most, best = rows[0], rows[-1], min(rows, key=lambda r: r.time_us)
        worst = max(rows, key=lambda r: r.time_us)
        said.append(
            f"{algorithm} {time(fewest.time_us)} with one filter an interface, {time(most.time_us)} with "
            f"{_ratio(most)}, at worst {time(worst.time_us)} with {_ratio(worst)}"
        )
        if algorithm != "fast":
            holds = holds and most.time_us <= 1.3 * best.time_us and most.time_us < fewest.time_us
    return Finding("; ".join(said), holds)


def gain_with_few_filters(results: Measured) -> Finding:
    """Preselection pays at the left, and not at the right."""
    rows = sorted(_selective(results), key=lambda r: r.filters / r.interfaces)
    said = f"{percent(rows[0].gain)} with one filter an interface, {percent(rows[-1].gain)} with the most"
    return Finding(said, rows[0].gain > 10 and abs(rows[-1].gain) < 10)


def turns_to_cost(results: Measured) -> Finding:
    """Where the gain is gone, curve by curve."""
    said, holds = [], []
    for curves in _conditions(results):
        turns = [_turning(rows) for rows in curves]
        said += [f"{curve_of(rows[0])}: {_turned(at, rows)}" for at, rows in zip(turns, curves, strict=True)]
        holds.append(all(at is not None and 40 <= at <= 80 for at in turns))
    return Finding("; ".join(said), any(holds))


def gain_rises_and_fades(results: Measured) -> Finding:
    """A maximum within the sweep."""
    said, holds = [], []
    for curves in _conditions(results):
        best = [max(rows, key=lambda r: r.gain) for rows in curves]
        said += [f"{curve_of(r)}: {percent(r.gain)} at {r.rounds} rounds" for r in best]
        ends = [(rows[0].rounds, rows[-1].rounds) for rows in curves]
        inside = [low < r.rounds < high for r, (low, high) in zip(best, ends, strict=True)]
        holds.append(all(inside) and min(r.gain for r in best) > 5)
    return Finding("; ".join(said), any(holds))


def more_constraints_more_gain(results: Measured) -> Finding:
    """The larger table has the higher curve, under every condition."""
    said, holds = [], True
    for curves in _conditions(results):
        best = [max(rows, key=lambda r: r.gain) for rows in curves]
        said.append(", ".join(f"{curve_of(r)}: {percent(r.gain)}" for r in best))
        holds = holds and best[-1].gain > best[0].gain
    return Finding(f"at best {'; '.join(said)}", holds)


def _ratio(row: Row) -> str:
    return count(round(row.filters / row.interfaces))


def _selective(results: Measured) -> list[Row]:
    return rows_of(results, "selective")


def _largest(rows: Sequence[Row]) -> list[Row]:
    most = max(r.constraints for r in rows)
    return [r for r in rows if r.constraints == most]


def _by_interfaces(rows: Sequence[Row]) -> dict[int, list[Row]]:
    fixed = sorted({r.interfaces for r in rows})
    return {i: [r for r in rows if r.interfaces == i] for i in fixed}


def _conditions(results: Measured) -> list[list[list[Row]]]:
    """Warm curves, then cold ones: from the smallest table to the largest, each by rounds."""
    return [c for cold in (False, True) if (c := _curves([r for r in _selective(results) if r.cold == cold]))]


def _curves(rows: Sequence[Row]) -> list[list[Row]]:
    sizes = sorted({r.constraints for r in rows})
    return [sorted((r for r in rows if r.constraints == c), key=lambda r: r.rounds) for c in sizes]


def _exponent(rows: Sequence[Row]) -> float:
    """The slope between the first table of some size and the largest, both axes logarithmic."""
    ordered = sorted(rows, key=lambda r: r.constraints)
    first = next((r for r in ordered if r.filters >= SMALL_FILTERS), ordered[0])
    last = ordered[-1]
    if first is last:
        first = ordered[0]
    return math.log(last.time_us / first.time_us) / math.log(last.constraints / first.constraints)


def _by_algorithm(values: dict[str, float]) -> str:
    return ", ".join(f"{a} {v:.2f}" for a, v in values.items())


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

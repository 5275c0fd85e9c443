"""Ours beside what the paper printed: one function a statement, named by the experiment's file.

Each says in words what came out, and whether the statement holds: True, False, or
None where the two cannot be compared. Absolute times cannot: the machines are
20 years apart. Shapes and counts can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from figures.axes import count, duration
from testbed.experiments.rows import Results, Row

ALGORITHMS = ("counting", "selective", "fast")
SMALL_FILTERS = 1000
"""Below, a message takes less than what a round costs, and the curves have not found their slope."""
HIGH_RATIO = 100


@dataclass(frozen=True, slots=True)
class Finding:
    """What came out, and whether the paper's statement holds here."""

    ours: str
    holds: bool | None


def time(us: float) -> str:
    """Microseconds in the unit that suits them."""
    return duration(us * 1000)


def percent(value: float) -> str:
    """A gain; a cost is negative."""
    return f"{round(value)} %"


def size_of(constraints: int) -> str:
    """`5 M` or `500 k` constraints."""
    return f"{constraints / 1e6:.1g} M" if constraints >= 950_000 else f"{constraints / 1e3:.0f} k"


def largest_time(results: Results) -> Finding:
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


def largest_gain(results: Results) -> Finding:
    """The best saving over the sweep, near 40 %."""
    best = max(_selective(results), key=lambda r: r.gain)
    at = f"at {count(best.interfaces)} interfaces"
    last = max(_selective(results), key=lambda r: r.constraints)
    said = f"up to {percent(best.gain)} {at}; {percent(last.gain)} at the largest table"
    return Finding(said, 25 <= best.gain <= 60)


def growth(results: Results) -> Finding:
    """Exponents where one filter an interface is swept."""
    found = {a: _exponent([r for r in results.of(a) if r.central]) for a in ALGORITHMS}
    return Finding(_by_algorithm(found), None)


def sublinear(results: Results) -> Finding:
    """Exponents below one for every fixed number of interfaces."""
    exponents = {a: [_exponent(rows) for rows in _by_interfaces(results.of(a)).values()] for a in ALGORITHMS}
    said = "; ".join(f"{a} {min(e):.2f} to {max(e):.2f}" for a, e in exponents.items())
    return Finding(f"time grows as C to the power of: {said}", max(exponents["counting"]) < 0.9)


def rounds_make_no_difference(results: Results) -> Finding:
    """Gains about zero where interfaces have many filters."""
    gains = [r.gain for r in _selective(results) if r.filters / r.interfaces >= HIGH_RATIO]
    if not gains:
        return Finding("no table with that many filters per interface", None)
    typical = median(abs(g) for g in gains)
    said = f"from {percent(min(gains))} to {percent(max(gains))}, typically {typical:.1f} %"
    return Finding(said, typical < 5)


def best_with_large_disjunctions(results: Results) -> Finding:
    """The more filters an interface has, the faster."""
    said, holds = [], True
    for algorithm in ALGORITHMS:
        rows = sorted(results.of(algorithm), key=lambda r: r.filters / r.interfaces)
        fewest, most, best = rows[0], rows[-1], min(rows, key=lambda r: r.time_us)
        worst = max(rows, key=lambda r: r.time_us)
        said.append(
            f"{algorithm} {time(fewest.time_us)} with one filter an interface, {time(most.time_us)} with "
            f"{_ratio(most)}, at worst {time(worst.time_us)} with {_ratio(worst)}"
        )
        if algorithm != "fast":
            holds = holds and most.time_us <= 1.3 * best.time_us and most.time_us < fewest.time_us
    return Finding("; ".join(said), holds)


def gain_with_few_filters(results: Results) -> Finding:
    """Preselection pays at the left, and not at the right."""
    rows = sorted(_selective(results), key=lambda r: r.filters / r.interfaces)
    said = f"{percent(rows[0].gain)} with one filter an interface, {percent(rows[-1].gain)} with the most"
    return Finding(said, rows[0].gain > 10 and abs(rows[-1].gain) < 10)


def turns_to_cost(results: Results) -> Finding:
    """Where the gain is gone, per size of table."""
    turns = {size: _turning(rows) for size, rows in _bysize_of(_selective(results)).items()}
    said = "; ".join(
        f"{size_of(c)}: {_turned(at, _bysize_of(_selective(results))[c])}" for c, at in turns.items()
    )
    return Finding(said, all(at is not None and 40 <= at <= 80 for at in turns.values()))


def gain_rises_and_fades(results: Results) -> Finding:
    """A maximum within the sweep."""
    said, holds = [], True
    for size, rows in _bysize_of(_selective(results)).items():
        best = max(rows, key=lambda r: r.gain)
        said.append(f"{size_of(size)}: {percent(best.gain)} at {best.rounds} rounds")
        holds = holds and rows[0].rounds < best.rounds < rows[-1].rounds and best.gain > 5
    return Finding("; ".join(said), holds)


def more_constraints_more_gain(results: Results) -> Finding:
    """The larger table has the higher curve."""
    best = {size: max(r.gain for r in rows) for size, rows in _bysize_of(_selective(results)).items()}
    small, large = min(best), max(best)
    said = f"at best {percent(best[small])} ({size_of(small)}) and {percent(best[large])} ({size_of(large)})"
    return Finding(said, best[large] > best[small])


def _ratio(row: Row) -> str:
    return count(round(row.filters / row.interfaces))


def _selective(results: Results) -> list[Row]:
    return results.of("selective")


def _largest(rows: Sequence[Row]) -> list[Row]:
    most = max(r.constraints for r in rows)
    return [r for r in rows if r.constraints == most]


def _by_interfaces(rows: Sequence[Row]) -> dict[int, list[Row]]:
    fixed = sorted({r.interfaces for r in rows})
    return {i: [r for r in rows if r.interfaces == i] for i in fixed}


def _bysize_of(rows: Sequence[Row]) -> dict[int, list[Row]]:
    sizes = sorted({r.constraints for r in rows})
    return {c: sorted((r for r in rows if r.constraints == c), key=lambda r: r.rounds) for c in sizes}


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

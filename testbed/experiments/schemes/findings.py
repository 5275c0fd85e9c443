"""What the papers say of the schemes, beside what they did (T1 to T6, E8, E9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log2

from analysis.figures.axes import count, volume
from testbed.experiments.finding import Finding
from testbed.experiments.schemes.rows import Measured, Row, paired, rows_of, schemes_of

IDEAL = ("psf", "ipsf", "drp")
"""Ideal where shortest paths are unique."""


def all_are_correct(results: Measured) -> Finding:
    """Nothing missing, duplicate or spurious, under any scheme on any network."""
    wrong = [f"{r.scheme} on {r.shape} of {r.routers}" for r in results.rows if _wrong(r)]
    owed = count(sum(r.owed for r in results.rows))
    names = ", ".join(schemes_of(results))
    said = f"{owed} deliveries owed under {names}; {count(sum(map(_wrong, results.rows)))} wrong"
    return Finding(said + (f": {', '.join(wrong[:3])}" if wrong else ""), not wrong)


def _wrong(row: Row) -> int:
    return row.missing + row.duplicate + row.spurious


def ideal_on_trees(results: Measured) -> Finding:
    """On a tree there is one path to anybody: psf, ipsf and drp have the ideal tree."""
    rows = [r for r in rows_of(results, *IDEAL) if r.shape == "tree"]
    return Finding(_ratios(rows), bool(rows) and all(r.crossings == r.ideal for r in rows))


def near_ideal_elsewhere(results: Measured) -> Finding:
    """E8: with several shortest paths, which one is taken decides what can be shared."""
    rows = [r for r in rows_of(results, *IDEAL) if r.shape != "tree"]
    return Finding(_ratios(rows), all(r.crossings == r.ideal for r in rows))


def pif_wastes(results: Measured) -> Finding:
    """PIF's tree contains PSF's, and goes beyond it."""
    pairs = paired(results, "pif", "psf")
    more = [(a, b) for a, b in pairs if a.crossings > b.crossings]
    contained = all(a.crossings >= b.crossings for a, b in pairs)
    at = max(pairs, key=lambda pair: pair[0].ratio)[0]
    worst = f"at worst {at.ratio:.2f} x ideal, on {_on(at)}"
    said = f"more crossings in {len(more)} of {len(pairs)} networks; {worst}"
    return Finding(said, contained and bool(more))


def ipsf_sends_as_psf(results: Measured) -> Finding:
    """The same trees, with sources told apart only where it matters."""
    pairs = paired(results, "ipsf", "psf")
    same = sum(a.crossings == b.crossings for a, b in pairs)
    return Finding(f"the same crossings in {same} of {len(pairs)} networks", same == len(pairs))


def ipsf_holds_less(results: Measured) -> Finding:
    """Ipsf <= psf in constraints and classes, a table a class."""
    pairs = paired(results, "ipsf", "psf")
    shapes = sorted({a.shape for a, _ in pairs})
    said = [f"{shape}: {_least_most(_of(pairs, shape))} of psf's constraints" for shape in shapes]
    return Finding("; ".join(said), all(a.apart <= b.apart and a.classes <= b.classes for a, b in pairs))


def _of(pairs: Iterable[tuple[Row, Row]], shape: str) -> list[float]:
    return [a.apart / b.apart for a, b in pairs if a.shape == shape and b.apart]


def psf_as_formula(results: Measured) -> Finding:
    """By the formula s log n + s r M_p d, exactly if nothing is reduced."""
    return _formula(results, "psf", lambda ratio: abs(ratio - 1) < 0.01)


def ipsf_as_formula(results: Measured) -> Finding:
    """By the formula n r M_p on trees: every predicate in every router but its own."""
    return _formula(results, "ipsf", lambda ratio: 0.8 < ratio <= 1)


def pif_as_formula(results: Measured) -> Finding:
    """By the formula n (s Delta log n + r M_p), as corrected (E9): an upper bound."""
    return _formula(results, "pif", lambda ratio: ratio <= 1)


def drp_as_formula(results: Measured) -> Finding:
    """By the formula n r log n + s r M_p; here every router may send, and knows every destination."""
    finding = _formula(results, "drp", lambda ratio: ratio <= 1)
    rows = [r for r in rows_of(results, "drp") if r.unreduced_bits]
    everywhere = [(r.unreduced_bits or 0) / _drp_everywhere(r) for r in rows]
    said = f"{finding.ours}; {_least_most(everywhere)} of n (n - 1) log n + n r M_p"
    return Finding(said, finding.holds)


def _drp_everywhere(row: Row) -> float:
    """The formula where every router may send, and forward to every other."""
    id_bits = log2(row.routers)
    predicates = ((row.formula_bits or 0) - row.routers * row.receivers * id_bits) / row.senders
    return row.routers * ((row.routers - 1) * id_bits + predicates)


def _formula(results: Measured, scheme: str, holds: Callable[[float], bool]) -> Finding:
    rows = [r for r in rows_of(results, scheme) if r.formula_bits and r.state_bits]
    plain = [(r.unreduced_bits or 0) / (r.formula_bits or 1) for r in rows]
    reduced = [(r.state_bits or 0) / (r.formula_bits or 1) for r in rows]
    if not rows:
        return Finding("no such network in this sweep", None)
    said = f"{_least_most(plain)} of the formula unreduced, {_least_most(reduced)} reduced"
    return Finding(said, all(map(holds, plain)))


def reduction_earns(results: Measured) -> Finding:
    """Constraints in the tables with reduction over those without."""
    said = []
    for scheme in schemes_of(results):
        rows = [r for r in rows_of(results, scheme) if r.unreduced]
        best = min(rows, key=lambda r: r.constraints / r.unreduced, default=None)
        if best is not None:
            said.append(f"{scheme} down to {100 * best.constraints / best.unreduced:.0f} % on {_on(best)}")
    return Finding("; ".join(said), None)


def latency_minimal(results: Measured) -> Finding:
    """Deliveries over the fastest path, in every scheme that uses the sources' trees."""
    late = {s: max(r.stretch_max for r in rows_of(results, s)) for s in schemes_of(results)}
    others = {s: worst for s, worst in late.items() if worst > 1.0001}
    said = ", ".join(f"{s} up to {worst:.1f} x" for s, worst in others.items()) or "1.00 x in all"
    return Finding(f"{len(late) - len(others)} of {len(late)} schemes; {said}", not others)


def unicast_costs(results: Measured) -> Finding:
    """A copy a destination against one a next hop."""
    return _against_ideal(results, "unicast", "multicast", "flood")


def control_of_talkers(results: Measured) -> Finding:
    """Bytes to the fixpoint, over those of pif, which floods interest."""
    said = []
    for scheme in ("cbcb", "siena", "flood"):
        pairs = [(a, b) for a, b in paired(results, scheme, "pif") if b.control_bytes]
        if pairs:
            largest = max((a for a, _ in pairs), key=lambda row: row.routers)
            spread = _least_most([a.control_bytes / b.control_bytes for a, b in pairs])
            said.append(f"{scheme} {spread} of pif's, {volume(largest.control_bytes)} on {_on(largest)}")
    return Finding("; ".join(said), None)


def _against_ideal(results: Measured, *schemes: str) -> Finding:
    rows = [(s, rows_of(results, s)) for s in schemes]
    said = [f"{s} {_least_most([r.ratio for r in found])} x ideal" for s, found in rows if found]
    return Finding("; ".join(said), None)


def _ratios(rows: list[Row]) -> str:
    if not rows:
        return "no such network in this sweep"
    return "; ".join(
        f"{s} {_least_most([r.ratio for r in rows if r.scheme == s])} x ideal"
        for s in dict.fromkeys(r.scheme for r in rows)
    )


def _least_most(values: list[float]) -> str:
    if not values:
        return "none"
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def _on(row: Row) -> str:
    return f"{row.shape} of {row.routers} with {row.receivers} receivers"

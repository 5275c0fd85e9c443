"""What the papers say of the schemes, beside what they did (T1 to T6, E8, E9); a table a network.

The drawings have a line a scheme, by the number of routers: crossings over the ideal,
what is held, control traffic until ready.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import log2

from analysis.figures.axes import count, volume
from analysis.figures.chart import Scale, Series, line_chart, short_count, style
from analysis.figures.svg import Figure
from testbed.experiments.experiment import Experiment
from testbed.experiments.kind import RTE, Checks, Column, Finding, Kind, table
from testbed.experiments.results import Results, grouped
from testbed.experiments.schemes.measure import Row, measure
from testbed.experiments.schemes.networks import Sweep

Measured = Results[Row]

check = Checks()
IDEAL = ("psf", "ipsf", "drp")
"""Ideal where shortest paths are unique."""
SHAPE = "random"
"""Which graphs are drawn: the paper's schemes differ most where there are cycles."""
HOW = (
    "Every run is in the simulator, in one process and without captures on disk: a recorder at each router "
    "interface counts what is sent, the clients say what they got, and the routers' own tables are "
    "weighed when the network is at its fixpoint. Nothing here depends on the machine. *Crossings* are "
    "messages over links between routers; *ideal* is the sum over the messages' ideal trees, the smallest "
    "that reach everybody over a fastest path (T1); *wasted* are crossings from which no delivery descends. "
    "*Stretch* is latency over that of the fastest path, mean and greatest. *Constraints* are held in all "
    "routers' tables without what their own clients want; in brackets if nothing were reduced. *State* and "
    "*formula* are in bytes, as RTE 2.4 counts them: predicates and router ids, no structures; the formula "
    "with alpha = 1. *FIB* is the memory of the compiled tables with all their structures. *Control* is what "
    "was sent until the fixpoint, without hellos."
)


def schemes_of(results: Measured) -> list[str]:
    """In alphabetical order."""
    return sorted({row.scheme for row in results.rows})


def rows_of(results: Measured, *schemes: str) -> list[Row]:
    """The rows of these schemes."""
    return [row for row in results.rows if row.scheme in schemes]


def paired(results: Measured, first: str, second: str) -> list[tuple[Row, Row]]:
    """The rows of two schemes on the same networks."""
    others = {row.network: row for row in rows_of(results, second)}
    return [(row, others[row.network]) for row in rows_of(results, first) if row.network in others]


@check
def all_are_correct(results: Measured) -> Finding:
    """Nothing missing, duplicate or spurious, under any scheme on any network."""
    wrong = [f"{r.scheme} on {r.shape} of {r.routers}" for r in results.rows if r.wrong]
    owed = count(sum(r.owed for r in results.rows))
    names = ", ".join(schemes_of(results))
    text = f"{owed} deliveries owed under {names}; {count(sum(r.wrong for r in results.rows))} wrong"
    return Finding(text + (f": {', '.join(wrong[:3])}" if wrong else ""), not wrong)


@check
def ideal_on_trees(results: Measured) -> Finding:
    """On a tree there is one path to anybody: psf, ipsf and drp have the ideal tree."""
    rows = [r for r in rows_of(results, *IDEAL) if r.shape == "tree"]
    return Finding(_ratios(rows), bool(rows) and all(r.crossings == r.ideal for r in rows))


@check
def near_ideal_elsewhere(results: Measured) -> Finding:
    """E8: with several shortest paths, which one is taken decides what can be shared."""
    rows = [r for r in rows_of(results, *IDEAL) if r.shape != "tree"]
    return Finding(_ratios(rows), all(r.crossings == r.ideal for r in rows))


@check
def pif_wastes(results: Measured) -> Finding:
    """PIF's tree contains PSF's, and goes beyond it."""
    pairs = paired(results, "pif", "psf")
    more = [(a, b) for a, b in pairs if a.crossings > b.crossings]
    contained = all(a.crossings >= b.crossings for a, b in pairs)
    at = max(pairs, key=lambda pair: pair[0].ratio)[0]
    worst = f"at worst {at.ratio:.2f} x ideal, on {_on(at)}"
    text = f"more crossings in {len(more)} of {len(pairs)} networks; {worst}"
    return Finding(text, contained and bool(more))


@check
def ipsf_sends_as_psf(results: Measured) -> Finding:
    """The same trees, with sources told apart only where it matters."""
    pairs = paired(results, "ipsf", "psf")
    same = sum(a.crossings == b.crossings for a, b in pairs)
    return Finding(f"the same crossings in {same} of {len(pairs)} networks", same == len(pairs))


@check
def ipsf_holds_less(results: Measured) -> Finding:
    """Ipsf <= psf in constraints and classes, a table a class."""
    pairs = paired(results, "ipsf", "psf")
    shapes = grouped(sorted(pairs, key=lambda pair: pair[0].shape), lambda pair: pair[0].shape)
    shares = {shape: [a.apart / b.apart for a, b in held if b.apart] for shape, held in shapes.items()}
    text = "; ".join(f"{shape}: {_least_most(found)} of psf's constraints" for shape, found in shares.items())
    return Finding(text, all(a.apart <= b.apart and a.classes <= b.classes for a, b in pairs))


@check
def psf_as_formula(results: Measured) -> Finding:
    """By the formula s log n + s r M_p d, exactly if nothing is reduced."""
    return _formula(results, "psf", lambda ratio: abs(ratio - 1) < 0.01)


@check
def ipsf_as_formula(results: Measured) -> Finding:
    """By the formula n r M_p on trees: every predicate in every router but its own."""
    return _formula(results, "ipsf", lambda ratio: 0.8 < ratio <= 1)


@check
def pif_as_formula(results: Measured) -> Finding:
    """By the formula n (s Delta log n + r M_p), as corrected (E9): an upper bound."""
    return _formula(results, "pif", lambda ratio: ratio <= 1)


@check
def drp_as_formula(results: Measured) -> Finding:
    """By the formula n r log n + s r M_p; here every router may send, and knows every destination."""
    finding = _formula(results, "drp", lambda ratio: ratio <= 1)
    rows = [r for r in rows_of(results, "drp") if r.unreduced_bits]
    everywhere = [(r.unreduced_bits or 0) / _drp_everywhere(r) for r in rows]
    text = f"{finding.ours}; {_least_most(everywhere)} of n (n - 1) log n + n r M_p"
    return Finding(text, finding.holds)


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
    text = f"{_least_most(plain)} of the formula unreduced, {_least_most(reduced)} reduced"
    return Finding(text, all(map(holds, plain)))


@check
def reduction_saves(results: Measured) -> Finding:
    """Constraints in the tables with reduction over those without."""
    text = []
    for scheme in schemes_of(results):
        rows = [r for r in rows_of(results, scheme) if r.unreduced]
        best = min(rows, key=lambda r: r.constraints / r.unreduced, default=None)
        if best is not None:
            text.append(f"{scheme} down to {100 * best.constraints / best.unreduced:.0f} % on {_on(best)}")
    return Finding("; ".join(text), None)


@check
def latency_minimal(results: Measured) -> Finding:
    """Deliveries over the fastest path, in every scheme that uses the sources' trees."""
    late = {s: max(r.stretch_max for r in rows_of(results, s)) for s in schemes_of(results)}
    others = {s: worst for s, worst in late.items() if worst > 1.0001}
    text = ", ".join(f"{s} up to {worst:.1f} x" for s, worst in others.items()) or "1.00 x in all"
    return Finding(f"{len(late) - len(others)} of {len(late)} schemes; {text}", not others)


@check
def unicast_costs(results: Measured) -> Finding:
    """A copy a destination against one a next hop."""
    rows = rows_of(results, "unicast", "multicast", "flood")
    order = sorted(rows, key=lambda r: ("unicast", "multicast", "flood").index(r.scheme))
    return Finding(_ratios(order), None)


@check
def control_traffic(results: Measured) -> Finding:
    """Bytes to the fixpoint, over those of pif, which floods interest."""
    text = []
    for scheme in ("cbcb", "siena", "flood"):
        pairs = [(a, b) for a, b in paired(results, scheme, "pif") if b.control_bytes]
        if pairs:
            largest = max((a for a, _ in pairs), key=lambda row: row.routers)
            spread = _least_most([a.control_bytes / b.control_bytes for a, b in pairs])
            text.append(f"{scheme} {spread} of pif's, {volume(largest.control_bytes)} on {_on(largest)}")
    return Finding("; ".join(text), None)


def _ratios(rows: list[Row]) -> str:
    if not rows:
        return "no such network in this sweep"
    ratios = {s: [r.ratio for r in held] for s, held in grouped(rows, lambda r: r.scheme).items()}
    return "; ".join(f"{scheme} {_least_most(found)} x ideal" for scheme, found in ratios.items())


def _least_most(values: list[float]) -> str:
    if not values:
        return "none"
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def _on(row: Row) -> str:
    return f"{row.shape} of {row.routers} with {row.receivers} receivers"


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """All three, of random graphs under the load that most of them have."""
    loads = Counter((r.senders, r.receivers) for r in results.rows if r.shape == SHAPE)
    load = loads.most_common(1)[0][0] if loads else (0, 0)
    found = {}
    for suffix, (title, up, value) in DRAWN.items():
        text = f"{title}, on random graphs with {load[0]} senders and {load[1]} receivers."
        lines = _lines(results, load, value)
        scales = Scale("routers", short_count), up
        found[suffix] = line_chart((experiment.name + suffix, title, text), scales, lines)
    return found


DRAWN: Mapping[str, tuple[str, Scale, Callable[[Row], float]]] = {
    "": ("Crossings over the ideal", Scale("crossings / ideal", short_count), lambda r: r.ratio),
    "-state": (
        "What all routers hold",
        Scale("constraints", short_count),
        lambda r: float(max(r.constraints, 1)),
    ),
    "-control": (
        "Control traffic until ready",
        Scale("bytes", lambda size: volume(round(size))),
        lambda r: float(max(r.control_bytes, 1)),
    ),
}


def _lines(results: Measured, load: tuple[int, int], value: Callable[[Row], float]) -> Iterator[Series]:
    for at, scheme in enumerate(schemes_of(results)):
        rows = [r for r in rows_of(results, scheme) if r.shape == SHAPE and (r.senders, r.receivers) == load]
        yield Series(scheme, style(at), tuple(sorted((float(r.routers), value(r)) for r in rows)))


def tables(results: Measured) -> str:
    """All of them."""
    parts = ["## Every network", HOW]
    for rows in grouped(results.rows, lambda row: row.network).values():
        parts += [_title(rows[0]), table(COLUMNS, rows)]
    return "\n\n".join(parts)


def _title(row: Row) -> str:
    about = f", {row.inexact} of them approximated" if row.inexact else ""
    return (
        f"### {row.shape.capitalize()}, {row.routers} routers, {row.links} links, {row.senders} senders, "
        f"{row.receivers} receivers\n\n{row.messages} messages, {count(row.owed)} deliveries owed, "
        f"{count(row.ideal)} crossings in the ideal trees{about}."
    )


def _stretch(row: Row) -> str:
    return "1" if row.stretch_max < 1.0001 else f"{row.stretch_mean:.2f}, {row.stretch_max:.2f}"


def _each(row: Row) -> str:
    return f"{row.message_bytes / row.crossings:.0f}" if row.crossings else ""


def _control(row: Row) -> str:
    return f"{count(row.control_packets)} packets, {volume(row.control_bytes)}"


def _bytes(bits: float | None) -> str:
    return "" if bits is None else volume(round(bits / 8))


COLUMNS: tuple[Column[Row], ...] = (
    Column("scheme", lambda r: r.scheme, is_text=True),
    Column("wrong", lambda r: str(r.wrong)),
    Column("crossings", lambda r: count(r.crossings)),
    Column("/ ideal", lambda r: f"{r.ratio:.2f}"),
    Column("wasted", lambda r: count(r.wasted)),
    Column("stretch", _stretch, is_text=True),
    Column("bytes / crossing", _each),
    Column("constraints", lambda r: f"{count(r.constraints)} ({count(r.unreduced)})", is_text=True),
    Column("state", lambda r: _bytes(r.state_bits)),
    Column("formula", lambda r: _bytes(r.formula_bits)),
    Column("FIB", lambda r: volume(r.fib_bytes)),
    Column("control", _control, is_text=True),
    Column("ready", lambda r: f"{r.converged_ms:.0f} ms"),
)

KIND = Kind(
    publication=RTE,
    comparable="The paper proves and computes; it has no measurements. Here its statements are held against "
    "runs of all schemes.",
    sweep=Sweep,
    measure=measure,
    row=Row,
    checks=check,
    figures=figures,
    tables=tables,
    scale=lambda results: f"{len(results.rows)} runs, each once",
)

"""How the rows of each experiment are drawn; an experiment's file names one of these functions.

By what is swept: the constraints of a table (Figs. 8, 9), the filters of an interface
(Fig. 10), the rounds of preselection (Fig. 11), the entries of the selectivity table
(section 1), the interfaces of a router (section 5.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from analysis.figures.axes import duration
from analysis.figures.svg import Figure
from testbed.experiments.chart import Mark, Scale, Series, line_chart, short_count
from testbed.experiments.forwarding.findings import curve_of
from testbed.experiments.forwarding.network import hops, network_us
from testbed.experiments.forwarding.rows import Measured, Row, rows_of

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment

ALGORITHMS = ("counting", "selective", "fast")
DASHES = ("", " dashed", " dotted")
TIME = Scale("time of a message", lambda us: duration(us * 1000))


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """The figure of an experiment."""
    functions: dict[str, Callable[[Experiment, Measured], Figure]] = {
        "by_constraints": _by_constraints,
        "by_ratio": _by_ratio,
        "by_rounds": _by_rounds,
        "by_entries": _by_entries,
        "by_router": _by_router,
    }
    return {"": functions[experiment.drawing](experiment, results)}


def _figure(experiment: Experiment, told: str) -> tuple[str, str, str]:
    return experiment.name, f"{experiment.title} ({experiment.paper})", told


def _marks(experiment: Experiment) -> list[Mark]:
    return [Mark(p.x, p.y, p.text) for p in experiment.points]


def _named(algorithm: str) -> str:
    return {"counting": "counting (r = 0)", "selective": "selective (r = 10)"}.get(algorithm, algorithm)


def _points(rows: Iterable[Row], x: Callable[[Row], float]) -> tuple[tuple[float, float], ...]:
    return tuple(sorted((x(row), row.time_us) for row in rows))


def _by_constraints(experiment: Experiment, results: Measured) -> Figure:
    """One line an algorithm and number of interfaces."""
    fixed = sorted({row.interfaces for row in results.rows if not row.central})
    lines = [
        Series(_named(a), a, _points((r for r in rows_of(results, a) if r.central), lambda r: r.constraints))
        for a in ALGORITHMS
    ]
    for at, interfaces in enumerate(fixed):
        for a in ALGORITHMS:
            rows = [r for r in rows_of(results, a) if r.interfaces == interfaces and not r.central]
            name = f"{a}, {interfaces} interfaces"
            lines.append(Series(name, a + DASHES[at % 3], _points(rows, lambda r: r.constraints)))
    told = "Time of a message by the number of constraints in the table."
    scales = Scale("constraints in the table", short_count), TIME
    return line_chart(_figure(experiment, told), scales, [s for s in lines if s.points], _marks(experiment))


def _by_ratio(experiment: Experiment, results: Measured) -> Figure:
    lines = [
        Series(_named(a), a, _points(rows_of(results, a), lambda r: r.filters / r.interfaces))
        for a in ALGORITHMS
    ]
    told = "Time of a message by the filters of an interface, at about the same number of constraints."
    return line_chart(_figure(experiment, told), (Scale("filters per interface", short_count), TIME), lines)


def _by_rounds(experiment: Experiment, results: Measured) -> Figure:
    """The gain over `counting`, in per cent; below zero it is a cost."""
    curves = sorted({(row.cold, -row.filters) for row in results.rows})
    largest = max(row.filters for row in results.rows)
    lines = []
    for cold, negative in curves:
        rows = [r for r in rows_of(results, "selective") if r.filters == -negative and r.cold == cold]
        points = tuple(sorted((float(r.rounds), r.gain) for r in rows))
        dashes = DASHES[0] if -negative == largest else DASHES[1]
        lines.append(Series(curve_of(rows[0]), ("cold" if cold else "selective") + dashes, points))
    told = (
        "By how many per cent rounds of preselection shorten the time of a message, by the number of rounds."
    )
    scales = Scale("rounds of preselection", short_count), Scale("gain over counting", lambda v: f"{v:g} %")
    return line_chart(_figure(experiment, told), scales, lines, _marks(experiment))


def _by_entries(experiment: Experiment, results: Measured) -> Figure:
    rows = [r for r in rows_of(results, "selective") if r.eliminated_mean is not None]
    points = tuple(sorted((float(r.rounds), 100 * (r.eliminated_mean or 0.0) / r.interfaces) for r in rows))
    told = "What share of the predicates the first entries of the selectivity table rule out, on average."
    across = Scale("entries of the selectivity table", short_count)
    up = Scale("predicates ruled out", lambda share: f"{share:g} %")
    line = Series("selective, one filter a predicate", "selective", points)
    return line_chart(_figure(experiment, told), (across, up), [line], _marks(experiment))


def _by_router(experiment: Experiment, results: Measured) -> Figure:
    """A flat line for the single router, one through the networks of smaller ones."""
    lines = []
    for algorithm in ALGORITHMS:
        rows = rows_of(results, algorithm)
        single = next(r for r in rows if r.central)
        parts = sorted((r for r in rows if not r.central), key=lambda r: r.interfaces)
        ends = parts[0].interfaces, parts[-1].interfaces
        flat = tuple((float(x), single.time_us) for x in ends)
        whole = tuple((float(r.interfaces), network_us(r, hops(r.interfaces, single.filters))) for r in parts)
        lines.append(Series(f"{algorithm}, single router", f"{algorithm} dashed", flat))
        lines.append(Series(f"{algorithm}, network", algorithm, whole))
    told = "Matching time from end to end: one router for all, or a network of routers of so many interfaces."
    scales = Scale("interfaces of a router in the network", short_count), TIME
    return line_chart(_figure(experiment, told), scales, lines[::2] + lines[1::2], _marks(experiment))

"""How the rows of each experiment are drawn, and their table.

By what is swept: the constraints of a table (Figs. 8, 9), the filters of an interface
(Fig. 10), the rounds of preselection (Fig. 11), the entries of the selectivity table
(section 1), the interfaces of a router (section 5.4). What the paper says of them is
in `findings`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from analysis.figures.axes import count
from analysis.figures.chart import DASHES, Scale, Series, line_chart, short_count
from analysis.figures.svg import Figure
from testbed.experiments.experiment import Experiment
from testbed.experiments.forwarding.findings import (
    Measured,
    check,
    curve_of,
    hops,
    network_us,
    percent,
    rows_of,
    time,
)
from testbed.experiments.forwarding.measure import (
    ALGORITHMS,
    OURS,
    PLAIN,
    PRESELECTING,
    Row,
    Sweep,
    measure,
)
from testbed.experiments.kind import FWD, Column, Kind, table

NAMES = {PLAIN: "counting (r = 0)", PRESELECTING: "selective (r = 10)", OURS: "fast"}
HOW = (
    "Of each message the least time over all repeats counts; what stands here is the mean over the "
    "messages. The algorithms take turns, so that what disturbs the machine falls on all of them. All "
    "of them give the same answers, or there is no page. `counting` stands for no rounds (r = 0). The "
    "gain is that of `selective` over `counting`. Bytes are all that a table needs to answer, by "
    "constraints as written, of the three in this order."
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn of the rows."""

    description: str
    across: str
    lines: Callable[[Measured], Iterable[Series]]
    up: Scale = Scale("time of a message", time)  # noqa: RUF009  (frozen)


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """The figure of an experiment, which its file names."""
    drawing = DRAWINGS[experiment.drawing]
    scales = Scale(drawing.across, short_count), drawing.up
    about = experiment.name, f"{experiment.title} ({experiment.paper})", drawing.description
    return {"": line_chart(about, scales, drawing.lines(results), experiment.points)}


def _points(rows: Iterable[Row], x: Callable[[Row], float]) -> tuple[tuple[float, float], ...]:
    return tuple(sorted((x(row), row.time_us) for row in rows))


def _by_constraints(results: Measured) -> Iterator[Series]:
    """One line an algorithm and number of interfaces."""
    for a in ALGORITHMS:
        central = [r for r in rows_of(results, a) if r.central]
        yield Series(NAMES[a], a, _points(central, lambda r: r.constraints))
    for at, interfaces in enumerate(sorted({row.interfaces for row in results.rows if not row.central})):
        for a in ALGORITHMS:
            rows = [r for r in rows_of(results, a) if r.interfaces == interfaces and not r.central]
            name = f"{a}, {interfaces} interfaces"
            yield Series(name, a + DASHES[at % 3], _points(rows, lambda r: r.constraints))


def _by_ratio(results: Measured) -> Iterator[Series]:
    for a in ALGORITHMS:
        yield Series(NAMES[a], a, _points(rows_of(results, a), lambda r: r.filters / r.interfaces))


def _by_rounds(results: Measured) -> Iterator[Series]:
    """The gain over `counting`, in per cent; below zero it is a cost."""
    largest = max(row.filters for row in results.rows)
    for cold, negative in sorted({(row.cold, -row.filters) for row in results.rows}):
        rows = [r for r in rows_of(results, PRESELECTING) if (r.cold, -r.filters) == (cold, negative)]
        points = tuple(sorted((float(r.rounds), r.gain) for r in rows))
        dashes = DASHES[0] if -negative == largest else DASHES[1]
        yield Series(curve_of(rows[0]), ("cold" if cold else PRESELECTING) + dashes, points)


def _by_entries(results: Measured) -> Iterator[Series]:
    rows = [r for r in rows_of(results, PRESELECTING) if r.eliminated_mean is not None]
    points = tuple(sorted((float(r.rounds), 100 * (r.eliminated_mean or 0.0) / r.interfaces) for r in rows))
    yield Series("selective, one filter a predicate", PRESELECTING, points)


def _by_router(results: Measured) -> Iterator[Series]:
    """A flat line for the single router, one through the networks of smaller ones."""
    networks = []
    for a in ALGORITHMS:
        single = next(r for r in rows_of(results, a) if r.central)
        parts = sorted((r for r in rows_of(results, a) if not r.central), key=lambda r: r.interfaces)
        flat = tuple((float(row.interfaces), single.time_us) for row in (parts[0], parts[-1]))
        whole = tuple((float(r.interfaces), network_us(r, hops(r.interfaces, single.filters))) for r in parts)
        yield Series(f"{a}, single router", f"{a} dashed", flat)
        networks.append(Series(f"{a}, network", a, whole))
    yield from networks


DRAWINGS: Mapping[str, Drawing] = {
    "by_constraints": Drawing(
        "Time of a message by the number of constraints in the table.",
        "constraints in the table",
        _by_constraints,
    ),
    "by_ratio": Drawing(
        "Time of a message by the filters of an interface, at about the same number of constraints.",
        "filters per interface",
        _by_ratio,
    ),
    "by_rounds": Drawing(
        "By how many per cent rounds of preselection shorten the time of a message, by the number of rounds.",
        "rounds of preselection",
        _by_rounds,
        Scale("gain over counting", "{:g} %".format),
    ),
    "by_entries": Drawing(
        "What share of the predicates the first entries of the selectivity table rule out, on average.",
        "entries of the selectivity table",
        _by_entries,
        Scale("predicates ruled out", "{:g} %".format),
    ),
    "by_router": Drawing(
        "Matching time from end to end: one router for all, or a network of routers of so many interfaces.",
        "interfaces of a router in the network",
        _by_router,
    ),
}


def tables(results: Measured) -> str:
    """Every table that was measured, one line each and how."""
    plain, fast = ({_key(r): r for r in rows_of(results, a)} for a in (PLAIN, OURS))
    lines = [Line(plain[_key(r)], r, fast[_key(r)]) for r in rows_of(results, PRESELECTING)]
    return f"## Every table\n\n{HOW}\n\n{table(COLUMNS, lines)}"


def _key(row: Row) -> tuple[int, int, int, bool]:
    return row.interfaces, row.filters, row.constraints, row.cold


@dataclass(frozen=True, slots=True)
class Line:
    """The rows of a table."""

    plain: Row
    selective: Row
    fast: Row

    @property
    def bytes_each(self) -> str:
        """Of the three, per constraint."""
        return " / ".join(f"{r.bytes_per_constraint:.0f}" for r in (self.plain, self.selective, self.fast))


COLUMNS: tuple[Column[Line], ...] = (
    Column("interfaces", lambda line: count(line.selective.interfaces)),
    Column("filters", lambda line: count(line.selective.filters)),
    Column("constraints", lambda line: count(line.selective.constraints)),
    Column("goes to", lambda line: count(round(line.selective.matched_mean, 1))),
    Column("r", lambda line: str(line.selective.rounds)),
    Column("counting", lambda line: time(line.selective.counting_us) + " cold" * line.selective.cold),
    Column("selective", lambda line: time(line.selective.time_us)),
    Column("gain", lambda line: percent(line.selective.gain)),
    Column("fast", lambda line: time(line.fast.time_us)),
    Column("selective : fast", lambda line: f"{line.selective.time_us / line.fast.time_us:.0f} x"),
    Column("bytes each", lambda line: line.bytes_each, is_text=True),
)

KIND = Kind(
    publication=FWD,
    comparable="Absolute times are not comparable: the paper's machine had 950 MHz and 512 MB. "
    "Shapes, ratios and counts are.",
    sweep=Sweep,
    measure=measure,
    row=Row,
    checks=check,
    figures=figures,
    tables=tables,
    scale=lambda results: f"{results.rows[0].messages} messages, the least of {results.repeat} repeats",
)

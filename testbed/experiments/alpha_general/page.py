"""What RTE 4.1 says of the disjunction advantage beside what was drawn, and Fig. 5 in two drawings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from analysis.figures.axes import count
from analysis.figures.chart import Scale, Series, line_chart
from analysis.figures.svg import Figure
from testbed.experiments.alpha_general.measure import DRAWS, SETS, UNIFORM, ZIPF, Row, Sweep, measure
from testbed.experiments.experiment import Experiment
from testbed.experiments.kind import DRAWN, RTE, Checks, Column, Finding, Kind, table
from testbed.experiments.results import Results, grouped

Measured = Results[Row]
Variant = tuple[str, str]
"""Distribution and reading."""

check = Checks()
FIVE = 5
"""Predicates, of one message in a hundred each."""
NEAR = 0.02
ZOOM = 0.1
STYLES: Mapping[Variant, str] = {
    (UNIFORM, SETS): "counting",
    (ZIPF, SETS): "fast",
    (ZIPF, DRAWS): "selective",
}
DASHES = (" dotted", " dashed", "")
SCALES = Scale("nk / |M|", "{:g}".format), Scale("disjunction advantage", "{:g}".format)
VARIANTS: tuple[Variant, ...] = ((UNIFORM, SETS), (UNIFORM, DRAWS), (ZIPF, SETS), (ZIPF, DRAWS))
SPREAD = "Means over the repeats; in brackets how far the least and the greatest are from one another."


def curve(results: Measured, variant: Variant) -> list[Row]:
    """The rows of a distribution in a reading, by universe, in order of the ratio."""
    rows = [r for r in results.rows if (r.distribution, r.reading) == variant]
    return sorted(rows, key=lambda r: (r.universe, r.ratio))


@check
def uniform_as_predicted(results: Measured) -> Finding:
    """The largest distance from E(alpha), where predicates are sets as in the formula."""
    worst = max(curve(results, (UNIFORM, SETS)), key=lambda r: abs(r.alpha_mean - r.expected))
    apart = abs(worst.alpha_mean - worst.expected)
    text = f"at most {apart:.4f} beside it, at nk/|M| = {worst.ratio:g} of {_universe(worst)}"
    return Finding(text, apart < NEAR)


@check
def zipf_is_better(results: Measured) -> Finding:
    """Zipf below uniform at every number of predicates above one, in both readings."""
    return Finding.each(_zipf_is_better(results, reading) for reading in (SETS, DRAWS))


def _zipf_is_better(results: Measured, reading: str) -> tuple[str, bool]:
    flat = {(r.universe, r.number): r for r in curve(results, (UNIFORM, reading))}
    rows = [r for r in curve(results, (ZIPF, reading)) if r.number > 1]
    pairs = [(flat[r.universe, r.number], r) for r in rows]
    below = sum(z.alpha_mean < u.alpha_mean for u, z in pairs)
    u, z = min(pairs, key=lambda pair: (pair[1].ratio, pair[1].universe))
    at = f"{z.alpha_mean:.2f} against {u.alpha_mean:.2f} at nk/|M| = {z.ratio:g}"
    return f"as {reading}: in {below} of {len(pairs)} cases, {at}", below == len(pairs)


@check
def five_as_draws(results: Measured) -> Finding:
    """Five predicates of one in a hundred, k draws each, over the nominal nk (E13)."""
    return _five(results, DRAWS)


@check
def five_as_sets(results: Measured) -> Finding:
    """The same of k different messages each, as RTE 4.1 defines predicates (E13)."""
    return _five(results, SETS)


def _five(results: Measured, reading: str) -> Finding:
    rows = [r for r in curve(results, (ZIPF, reading)) if r.number == FIVE]
    text = "; ".join(f"alpha {r.alpha_mean:.2f} of {_universe(r)}" for r in rows)
    return Finding(text, any(0.4 <= r.alpha_mean <= 0.6 for r in rows))


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """The whole range, and Zipf's curves near zero, as in the paper."""
    title = f"{experiment.title} ({experiment.paper})"
    text = "The disjunction advantage by how many messages the predicates have together, over all there are."
    whole, zoom = (experiment.name, title, text), (f"{experiment.name}-zoom", f"{title}: near zero", text)
    near = {variant: style for variant, style in STYLES.items() if variant[0] == ZIPF}
    return {
        "": line_chart(whole, SCALES, _lines(results, STYLES, float("inf"))),
        "-zoom": line_chart(zoom, SCALES, _lines(results, near, ZOOM), experiment.points),
    }


def _lines(results: Measured, styles: Mapping[Variant, str], up_to: float) -> Iterator[Series]:
    for variant, style in styles.items():
        for at, mine in enumerate(grouped(curve(results, variant), lambda r: r.universe).values()):
            points = tuple((r.ratio, r.alpha_mean) for r in mine if r.ratio <= up_to)
            yield Series(f"{', '.join(variant)}, {_universe(mine[0])}", style + DASHES[at % 3], points)


def _universe(row: Row) -> str:
    """`10^5 messages`."""
    return f"10^{len(str(row.universe)) - 1} messages"


Line = Mapping[Variant, Row]
"""The rows of a universe and a number of predicates."""


def tables(results: Measured) -> str:
    """One line a universe and number of predicates."""
    rows = sorted(results.rows, key=lambda r: (r.universe, r.number))
    same_size = grouped(rows, lambda r: (r.universe, r.number)).values()
    lines = ({(r.distribution, r.reading): r for r in held} for held in same_size)
    return f"## Every number\n\n{SPREAD}\n\n{table(COLUMNS, lines)}"


def _any(line: Line) -> Row:
    return line[VARIANTS[0]]


def _alpha(variant: Variant, line: Line) -> str:
    row = line[variant]
    return f"{row.alpha_mean:.3f} ({row.alpha_max - row.alpha_min:.3f})"


COLUMNS: tuple[Column[Line], ...] = (
    Column("messages", lambda line: count(_any(line).universe)),
    Column("predicates", lambda line: count(_any(line).number)),
    Column("nk / \\|M\\|", lambda line: f"{_any(line).ratio:g}"),
    Column("formula", lambda line: f"{_any(line).expected:.4f}"),
    *(Column(", ".join(variant), partial(_alpha, variant)) for variant in VARIANTS),
)

KIND = Kind(
    publication=RTE,
    comparable=DRAWN,
    sweep=Sweep,
    measure=measure,
    row=Row,
    checks=check,
    figures=figures,
    tables=tables,
    scale=lambda results: f"{results.repeat} unions of each number",
)

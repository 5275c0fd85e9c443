"""How soon AMSP follows a change of demand, and what that costs: findings, a drawing, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from analysis.figures.axes import count, volume
from analysis.figures.chart import Scale, Series, line_chart, short_count, style
from analysis.figures.svg import Figure
from testbed.experiments.adapting.measure import Row, Sweep, measure
from testbed.experiments.experiment import Experiment
from testbed.experiments.kind import MM, Checks, Column, Finding, Kind, table
from testbed.experiments.results import Results, grouped

Measured = Results[Row]
check = Checks()
NEAR, SOON_S = 1.1, 60
"""AMSP is to cost at most so many times what top-down marking does, so soon after any change of demand."""
HOW = (
    "Applications have one descriptor each, which they replace at random times (a Poisson process); how "
    "often is drawn from the bounded Pareto distribution of section 4.4. When a phase begins, all rates "
    "become those of its draw at once. Nobody wants what is advertised, as matches cost the same under "
    "any marks. Costs are changes of descriptors that cross links in a second (eq. 2), by the true rates "
    "and the marks that the upstream ends of links have; *TDM* and *optimum* are marked centrally, by the"
    " true rates. *Until near* is how long after the beginning of the phase the cost comes within 10 % of"
    " that of TDM, to stay there for the rest of it: the least of the runs, the median and the greatest. "
    "*Invalid* is the share of moments at which some link was a p-link behind an s-link, as a change "
    "spread. *Signals* are packets over links; a replaced descriptor takes two, and COST_ANNOUNCE, "
    "CHANGE_MARKING and its reply are *marking*. Nothing here depends on the machine."
)


@dataclass(frozen=True, slots=True)
class Span:
    """A phase of a run."""

    rows: tuple[Row, ...]

    @property
    def near_after_s(self) -> int | None:
        """From when on the cost stays near that of TDM; None: not within this phase."""
        after: int | None = None
        for row in self.rows:
            if row.cost > NEAR * row.top_down:
                after = None
            elif after is None:
                after = row.after_s
        return after

    @property
    def excess(self) -> float:
        """What crossed links beyond what TDM would have let cross, as a share."""
        return sum(row.cost for row in self.rows) / max(sum(row.top_down for row in self.rows), 1e-9) - 1


@dataclass(frozen=True, slots=True)
class Line:
    """A phase under a variant, over all runs."""

    variant: str
    phase: str
    spans: tuple[Span, ...]

    @property
    def rows(self) -> list[Row]:
        """Of all runs."""
        return [row for span in self.spans for row in span.rows]

    def mean(self, name: str) -> float:
        """Of a column."""
        return fmean(getattr(row, name) for row in self.rows)

    def rate(self, name: str) -> float:
        """Of something that was counted, a second."""
        counted: int = sum(getattr(row, name) for row in self.rows)
        return counted / sum(row.seconds for row in self.rows)

    @property
    def waits(self) -> list[float]:
        """Until near, ascending; infinite where it did not come to that."""
        found = (span.near_after_s for span in self.spans)
        return sorted(float("inf") if each is None else each for each in found)


def lines(results: Measured) -> list[Line]:
    """By variant and phase, in the order of the rows."""
    found = []
    for (variant, phase), rows in grouped(results.rows, lambda row: (row.variant, row.phase)).items():
        runs = grouped(rows, lambda row: row.run).values()
        found.append(Line(variant, phase, tuple(Span(tuple(run)) for run in runs)))
    return found


def _usual(results: Measured) -> list[Line]:
    first = results.rows[0].variant
    return [line for line in lines(results) if line.variant == first]


@check
def follows_soon(results: Measured) -> Finding:
    """The target: within 10 % of TDM, within a minute of any change of demand."""
    parts = []
    for line in _usual(results):
        in_time = sum(wait <= SOON_S for wait in line.waits)
        text = f"{line.phase}: {in_time} of {len(line.waits)} runs, median {_seconds(median(line.waits))}"
        parts.append((text, in_time == len(line.waits)))
    return Finding.each(parts)


@check
def near_in_the_end(results: Measured) -> Finding:
    """How near AMSP is to TDM at the end of each phase."""
    parts = []
    for line in _usual(results):
        shares = [span.rows[-1].cost / max(span.rows[-1].top_down, 1e-9) - 1 for span in line.spans]
        text = f"{line.phase}: {fmean(shares):+.1%} on average, {max(shares):+.1%} at worst"
        parts.append((text, max(shares) <= NEAR - 1))
    return Finding.each(parts)


@check
def what_adapting_costs(results: Measured) -> Finding:
    """Over all of the time, jumps included: beside TDM, the optimum and the cheaper broadcast."""
    rows = [row for line in _usual(results) for row in line.rows]
    whole, tdm, best = (sum(getattr(row, name) for row in rows) for name in ("cost", "top_down", "best"))
    broadcast = sum(min(row.all_p, row.all_s) for row in rows)
    marking = sum(row.marking for row in rows) / max(sum(row.signals for row in rows), 1)
    return Finding(
        f"{whole / tdm - 1:+.1%} beside TDM, {whole / best - 1:+.1%} beside the optimum at every moment, "
        f"{whole / broadcast - 1:+.1%} beside the broadcast that is cheaper at the moment; "
        f"marking is {marking:.1%} of the signals",
        None,
    )


@check
def what_is_unstated(results: Measured) -> Finding:
    """Other options (E20): median time until near over all phases and runs, cost and marking."""
    parts = []
    for variant, found in grouped(lines(results), lambda line: line.variant).items():
        waits = [wait for line in found for wait in line.waits]
        rows = [row for line in found for row in line.rows]
        excess = sum(row.cost for row in rows) / sum(row.top_down for row in rows) - 1
        marking = sum(row.marking for row in rows) / max(sum(row.signals for row in rows), 1)
        after = f"near after {_seconds(median(waits))}"
        parts.append(f"{variant}: {after}, {excess:+.1%} beside TDM, {marking:.1%} marking")
    return Finding("; ".join(parts), None)


def _seconds(value: float) -> str:
    return "never" if value == float("inf") else f"{value:g} s"


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """What the marks cost over time, in the first run."""
    first = results.rows[0]
    rows = [row for row in results.rows if (row.variant, row.run) == (first.variant, first.run)]
    about = (experiment.name, "What the marks cost", "Changes of descriptors over links a second, over time.")
    scales = Scale("seconds", short_count), Scale("descriptors over links a second", short_count)
    return {"": line_chart(about, scales, list(_courses(rows)), dotted=False)}


DRAWN = {"cost": "amsp", "top_down": "TDM", "best": "optimum", "all_p": "all p", "all_s": "all s"}


def _courses(rows: Sequence[Row]) -> Iterable[Series]:
    times = [row.seconds * at for at, row in enumerate(rows, 1)]
    names = (
        ("cost", "amsp"),
        ("top_down", "TDM"),
        ("best", "optimum"),
        ("all_p", "all p"),
        ("all_s", "all s"),
    )
    for at, (name, told) in enumerate(names):
        points = tuple(zip(times, (max(getattr(row, name), 1e-3) for row in rows), strict=True))
        yield Series(told, style(at), points)


def tables(results: Measured) -> str:
    """All phases under all variants."""
    return "\n\n".join(["## Every phase", HOW, table(COLUMNS, lines(results))])


COLUMNS: tuple[Column[Line], ...] = (
    Column("options", lambda k: k.variant, is_text=True),
    Column("phase", lambda k: k.phase, is_text=True),
    Column("runs", lambda k: str(len(k.spans))),
    Column("all p", lambda k: f"{k.mean('all_p'):.1f}"),
    Column("all s", lambda k: f"{k.mean('all_s'):.1f}"),
    Column("optimum", lambda k: f"{k.mean('best'):.1f}"),
    Column("TDM", lambda k: f"{k.mean('top_down'):.1f}"),
    Column("amsp", lambda k: f"{k.mean('cost'):.1f}"),
    Column("until near", lambda k: " / ".join(_seconds(w) for w in _three(k.waits))),
    Column("beyond TDM", lambda k: f"{fmean(span.excess for span in k.spans):+.1%}"),
    Column("invalid", lambda k: f"{1 - k.mean('valid'):.1%}"),
    Column("signals/s", lambda k: count(round(k.rate("signals")))),
    Column("marking/s", lambda k: f"{k.rate('marking'):.1f}"),
    Column("marking bytes/s", lambda k: volume(round(k.rate("marking_bytes")))),
)


def _three(waits: Sequence[float]) -> tuple[float, ...]:
    """The least, the median and the greatest."""
    return waits[0], median(waits), waits[-1]


KIND = Kind(
    publication=MM,
    comparable="The paper did not ask this; what is said of AMSP is a target of our own.",
    sweep=Sweep,
    measure=measure,
    row=Row,
    checks=check,
    figures=figures,
    tables=tables,
    scale=lambda results: f"{len({(row.variant, row.run) for row in results.rows})} runs, each once",
)

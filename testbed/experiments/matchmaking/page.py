"""What MM 4.4.2 says of the costs of markings, beside what came out (K5, K6, E19, E20)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import median

from analysis.figures.axes import count
from analysis.figures.chart import Scale, Series, line_chart, short_count, style
from analysis.figures.svg import Figure
from testbed.experiments.experiment import Experiment
from testbed.experiments.kind import DRAWN, MM, Checks, Column, Finding, Kind, table
from testbed.experiments.matchmaking.measure import Row, Sweep, measure
from testbed.experiments.matchmaking.samples import SOURCE
from testbed.experiments.results import Results, grouped

Measured = Results[Row]
Value = Callable[[Row], float]

check = Checks()
EQUAL = 0.001
"""Costs are written with three decimals."""
NEARLY = 0.02
"""Of a thousand samples drawn again, shares differ by about this."""
COSTS: Mapping[str, Value] = {
    "MCM": lambda r: r.best,
    "All-P": lambda r: r.all_p,
    "All-S": lambda r: r.all_s,
}
RATIOS: Mapping[str, Value] = {
    "MCM / All-P": lambda r: r.best / r.all_p,
    "MCM / All-S": lambda r: r.best / r.all_s,
    "MCM / TDM": lambda r: r.best / r.top_down,
}
HOW = (
    "Medians of costs over the samples of a setting, and shares of the samples. A cost is the number of "
    "descriptors that cross links (MM eq. 2). *Cyclic*: some links are downstream of each other, in "
    "different trees (E18)."
)


def of_paper(results: Measured) -> list[Row]:
    """The rows of the first setting."""
    return next(iter(_settings(results).values()))


def _settings(results: Measured) -> Mapping[str, list[Row]]:
    return grouped(results.rows, lambda r: r.setting)


def quantile(values: Iterable[float], share: float) -> float:
    """The least value that so great a share of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def share(rows: list[Row], holds: Callable[[Row], bool]) -> float:
    """Of how many of the rows something holds, from 0 to 1."""
    return sum(map(holds, rows)) / len(rows)


def _percent(value: float) -> str:
    return f"{value:.1%}".replace("%", " %")


@check
def medians(results: Measured) -> Finding:
    """About 500 for the optimum and 3000 for either broadcast; K6 found 565, 3429 and 3238."""
    rows = of_paper(results)
    found = {name: median(map(value, rows)) for name, value in COSTS.items()}
    text = ", ".join(f"{name} {value:.0f}" for name, value in found.items())
    near = 400 <= found["MCM"] <= 650 and all(2500 <= found[name] <= 3700 for name in ("All-P", "All-S"))
    return Finding(text, near)


@check
def ninetieth_percentiles(results: Measured) -> Finding:
    """About 800 for the optimum, above 5500 for either broadcast; a tenth less is chance."""
    rows = of_paper(results)
    found = {name: quantile(map(value, rows), 0.9) for name, value in COSTS.items()}
    text = ", ".join(f"{name} {value:.0f}" for name, value in found.items())
    near = 640 <= found["MCM"] <= 960 and min(found["All-P"], found["All-S"]) > 5500 * 0.9
    return Finding(text, near)


@check
def greedy_is_best(results: Measured) -> Finding:
    """Claim 1: on a shared tree the better mark of each link is optimal; top-down is the same there."""
    same = sum(abs(r.best - r.top_down) < EQUAL for r in results.rows)
    return Finding(f"in {count(same)} of {count(len(results.rows))} samples", same == len(results.rows))


def _below(results: Measured, limit: float) -> tuple[dict[str, float], str]:
    """In how many samples the optimum costs less than so much of each broadcast, and of the cheaper."""
    rows = of_paper(results)
    found = {
        "All-P": share(rows, lambda r: r.best < limit * r.all_p),
        "All-S": share(rows, lambda r: r.best < limit * r.all_s),
        "both": share(rows, lambda r: r.best < limit * min(r.all_p, r.all_s)),
    }
    return found, ", ".join(f"of {name}: {_percent(value)}" for name, value in found.items())


@check
def below_a_fifth(results: Measured) -> Finding:
    """In more than half of the samples less than 20 % of either broadcast, each taken apart."""
    found, text = _below(results, 0.2)
    return Finding(text, min(found["All-P"], found["All-S"]) > 0.5)


@check
def below_a_third(results: Measured) -> Finding:
    """In more than 95 % of the samples at least two thirds less, each broadcast taken apart."""
    found, text = _below(results, 1 / 3)
    return Finding(text, min(found["All-P"], found["All-S"]) > 0.95)


@check
def top_down_is_optimal(results: Measured) -> Finding:
    """In 90 % of the samples."""
    found = share(of_paper(results), lambda r: abs(r.best - r.top_down) < EQUAL)
    return Finding(f"in {_percent(found)}", found > 0.9 - NEARLY)


@check
def top_down_rarely_doubles(results: Measured) -> Finding:
    """Rarely more than twice the optimum: in less than one of a hundred samples."""
    rows = of_paper(results)
    found = share(rows, lambda r: r.top_down > 2 * r.best)
    worst = max(r.top_down / r.best for r in rows)
    return Finding(f"in {_percent(found)}; at worst {worst:.2f} times", found < 0.01)


@check
def redundant_stub_links(results: Measured) -> Finding:
    """E19: how much of it depends on there being one way only out of each stub domain."""
    parts = []
    for name, rows in _settings(results).items():
        if "redundant" in name:
            low = share(rows, lambda r: r.best < 0.2 * max(r.all_p, r.all_s))
            both = share(rows, lambda r: r.best < 0.2 * min(r.all_p, r.all_s))
            cyclic = share(rows, lambda r: r.cyclic)
            parts.append(
                f"{name}: {_percent(low)} below a fifth of the dearer broadcast, {_percent(both)} of the "
                f"cheaper, {_percent(cyclic)} cyclic"
            )
    return Finding("; ".join(parts) or "not in this sweep", None)


@check
def what_is_unstated(results: Measured) -> Finding:
    """E20: how far the medians move with what the paper does not say."""
    found = {}
    for name, value in COSTS.items():
        middles = [median(map(value, rows)) for s, rows in _settings(results).items() if "redundant" not in s]
        found[name] = f"{name} from {min(middles):.0f} to {max(middles):.0f}"
    return Finding("medians of " + ", ".join(found.values()), None)


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """The distribution of costs as in Fig. 7, or of their ratios as in Fig. 8, and over settings."""
    ratios = experiment.sweep.trees == SOURCE
    curves, label = (RATIOS, "ratio of costs") if ratios else (COSTS, "cost")
    scales = (
        Scale(label, "{:g}".format if ratios else short_count),
        Scale("share of the samples", "{:g}".format),
    )
    title = f"{experiment.title} ({experiment.paper})"
    text = f"The share of the samples up to each {label}."
    lines = [
        Series(name, style(at), tuple(_distribution(of_paper(results), value)))
        for at, (name, value) in enumerate(curves.items())
    ]
    others = [
        Series(name, style(at), tuple(_distribution(rows, RATIOS["MCM / All-P"])))
        for at, (name, rows) in enumerate(_settings(results).items())
    ]
    about = f"{experiment.name}-settings", f"{experiment.title}: MCM / All-P by setting", text
    share_scale = Scale("MCM / All-P", "{:g}".format), scales[1]
    return {
        "": line_chart((experiment.name, title, text), scales, lines, dotted=False),
        "-settings": line_chart(about, share_scale, others, dotted=False),
    }


def _distribution(rows: list[Row], value: Value) -> Iterator[tuple[float, float]]:
    """A hundred points of a cumulative distribution."""
    ordered = sorted(map(value, rows))
    for at in range(101):
        place = max(round(at * len(ordered) / 100) - 1, 0)
        yield ordered[place], at / 100


def tables(results: Measured) -> str:
    """A line a setting."""
    return f"## Every setting\n\n{HOW}\n\n{table(COLUMNS, _settings(results).values())}"


def _middle(value: Value) -> Callable[[list[Row]], str]:
    return lambda rows: count(round(median(map(value, rows))))


def _shared(holds: Callable[[Row], bool]) -> Callable[[list[Row]], str]:
    return lambda rows: _percent(share(rows, holds))


COLUMNS: tuple[Column[list[Row]], ...] = (
    Column("setting", lambda rows: rows[0].setting, is_text=True),
    Column("samples", lambda rows: count(len(rows))),
    Column("links", _middle(lambda r: float(r.links))),
    Column("All-P", _middle(lambda r: r.all_p)),
    Column("All-S", _middle(lambda r: r.all_s)),
    Column("MCM", _middle(lambda r: r.best)),
    Column("TDM", _middle(lambda r: r.top_down)),
    Column("below 1/5 of All-P", _shared(lambda r: r.best < 0.2 * r.all_p)),
    Column("of All-S", _shared(lambda r: r.best < 0.2 * r.all_s)),
    Column("below 1/3 of both", _shared(lambda r: 3 * r.best < min(r.all_p, r.all_s))),
    Column("TDM optimal", _shared(lambda r: abs(r.best - r.top_down) < EQUAL)),
    Column("cyclic", _shared(lambda r: r.cyclic)),
)

KIND = Kind(
    publication=MM,
    comparable=DRAWN,
    sweep=Sweep,
    measure=measure,
    row=Row,
    checks=check,
    figures=figures,
    tables=tables,
    scale=lambda results: f"{len(results.rows)} samples in {len(_settings(results))} settings",
)
"""Figs. 7 and 8 are one experiment over two sorts of trees."""

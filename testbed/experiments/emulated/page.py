"""What FWD 5.4 says of one router and a network of them, beside what whole runs did; a table a scenario.

The drawings have a line a network: the median latency from client to client, by load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from analysis.figures.axes import count, duration
from analysis.figures.chart import Scale, Series, line_chart, short_count, style
from analysis.figures.svg import Figure
from testbed.experiments.emulated.measure import Row, Sweep, measure
from testbed.experiments.experiment import Experiment
from testbed.experiments.kind import FWD, Checks, Column, Finding, Kind, table
from testbed.experiments.results import Results, grouped

Measured = Results[Row]

check = Checks()
TRUSTED = ("trusted", "exact")
"""Verdicts on a run's fidelity that leave no doubt."""
SCALES = (
    Scale("messages published a second", short_count),
    Scale("median latency from client to client", duration),
)
HOW = (
    "Every line is one phase of one run. *Router to router* is the latency as captured, from the publisher's "
    "first router to the subscriber's last; *end to end* is from client to client, by their own account, "
    "access links included. *Busiest* is the router that took the most processor time, by the kernel's "
    "account of its threads, with what it took for each message that came to it (hellos and all else it did "
    "meanwhile included); *all* is what all routers took together for each message published. Both are of "
    "the whole run."
)


def by_scenario(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each scenario, in the order in which they ran."""
    return grouped(rows, lambda row: row.scenario)


def runs_of(rows: Iterable[Row]) -> list[Row]:
    """The first row of each run."""
    return [first for first, *_ in grouped(rows, lambda row: row.run).values()]


@check
def same_deliveries(results: Measured) -> Finding:
    """The same messages to the same clients, whatever the network; nothing missing, duplicate, spurious."""
    runs = runs_of(results.rows)
    digests = {row.digest for row in runs}
    wrong = sum(row.wrong for row in results.rows)
    each = sum(row.owed for row in results.rows) // len(runs)
    sets = "1 set" if len(digests) == 1 else f"{len(digests)} different sets"
    text = f"{len(runs)} runs of {count(each)} deliveries each, {sets}; {count(wrong)} wrong"
    return Finding(text, len(digests) == 1 and not wrong)


@check
def near_network_is_faster(results: Measured) -> Finding:
    """Over links that take no time, at the highest load: only work counts."""
    return _faster(next(iter(by_scenario(results.rows).values())))


@check
def far_network_is_faster(results: Measured) -> Finding:
    """Over links that take time, at the highest load: what stays near is not carried to the middle."""
    return _faster(list(by_scenario(results.rows).values())[-1])


def _faster(rows: list[Row]) -> Finding:
    """Of the networks of a scenario, than the single router."""
    text, faster = [], False
    for alone, *networks in grouped(rows, lambda r: r.phase).values():
        text.append(f"{alone.rate:.0f}/s: {_of(alone)} alone, {', '.join(map(_sized, networks))}")
        faster = all(r.end_to_end_p50_us < alone.end_to_end_p50_us for r in networks)
    return Finding("; ".join(text), faster)


def _of(row: Row) -> str:
    return _us(row.end_to_end_p50_us)


def _sized(row: Row) -> str:
    return f"{_of(row)} with {row.interfaces} interfaces"


@check
def busiest_does_less(results: Measured) -> Finding:
    """What limits throughput where every router has a processor of its own."""
    return _work(results, lambda row: row.busiest_us and row.busiest_us * row.busiest_messages, True)


@check
def all_do_more(results: Measured) -> Finding:
    """What limits throughput where all routers share the processors, as here."""
    return _work(results, lambda row: row.all_us, False)


def _work(results: Measured, value: Callable[[Row], float | None], less: bool) -> Finding:
    text, holds = [], []
    for scenario, rows in by_scenario(results.rows).items():
        known = [(row, found) for row in runs_of(rows) if (found := value(row)) is not None]
        alone = next((found for row, found in known if row.routers == 1), None)
        if alone is None or len(known) < 2:
            return Finding("processor time of single nodes is not known of these runs", None)
        many = [(row.interfaces, found) for row, found in known if row.routers > 1]
        times = ", ".join(f"{found / alone:.2f} x with {interfaces} interfaces" for interfaces, found in many)
        text.append(f"{scenario}: {times}, of the single router's")
        holds += [(found < alone) == less for _, found in many]
    return Finding("; ".join(text), all(holds))


@check
def load_does_not_slow(results: Measured) -> Finding:
    """Whether any of them saturates: the median at the highest load over the worst of the lower ones."""
    return Finding.each(map(_growth, grouped(results.rows, lambda r: r.run).values()))


def _growth(rows: list[Row]) -> tuple[str, bool]:
    before, last = max(row.end_to_end_p50_us for row in rows[:-1]), rows[-1]
    growth = last.end_to_end_p50_us / before if before else 0.0
    text = f"{last.scenario}, {last.interfaces} interfaces: {growth:.2f} x"
    return text, growth < 2 and not last.missing


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """One a scenario; what its name says beyond the first's tells them apart."""
    found, (first, *_) = {}, by_scenario(results.rows)
    for scenario, rows in by_scenario(results.rows).items():
        about = scenario, experiment.title, f"Median latency by load, {scenario}."
        found[scenario.removeprefix(first)] = line_chart(about, SCALES, _lines(rows))
    return found


def _lines(rows: Iterable[Row]) -> Iterator[Series]:
    for at, mine in enumerate(grouped(rows, lambda r: r.routers).values()):
        name = f"{mine[0].routers} routers, {mine[0].interfaces} interfaces"
        points = tuple((row.rate, row.end_to_end_p50_us * 1000) for row in mine)
        yield Series("one router" if mine[0].routers == 1 else name, style(at), points)


def tables(results: Measured) -> str:
    """All of them."""
    parts, runs = ["## Every run", HOW], runs_of(results.rows)
    if doubtful := [f"{r.scenario} with {r.routers}" for r in runs if r.fidelity not in TRUSTED]:
        parts.append(
            f"The machine did not keep up in {len(doubtful)} of {len(runs)} runs "
            f"({', '.join(doubtful)}): their certificates say *degraded*, and their latencies, tails above "
            "all, hold the machine's as well."
        )
    for scenario, rows in by_scenario(results.rows).items():
        parts += [f"### {scenario}", table(COLUMNS, rows)]
    return "\n\n".join(parts)


def _us(value: float | None) -> str:
    return "" if value is None else duration(value * 1000)


def _busiest(row: Row) -> str:
    return f"{row.busiest} {_us(row.busiest_us)} x {count(row.busiest_messages)}" if row.busiest else ""


COLUMNS: tuple[Column[Row], ...] = (
    Column("routers", lambda r: str(r.routers)),
    Column("interfaces", lambda r: str(r.interfaces)),
    Column("messages / s", lambda r: f"{r.rate:.0f}"),
    Column("verdict", lambda r: f"**{count(r.wrong)} wrong**" if r.wrong else "clean", is_text=True),
    Column("router to router p50, p99", lambda r: f"{_us(r.p50_us)}, {_us(r.p99_us)}", is_text=True),
    Column(
        "end to end p50, p99",
        lambda r: f"{_us(r.end_to_end_p50_us)}, {_us(r.end_to_end_p99_us)}",
        is_text=True,
    ),
    Column("hops", lambda r: f"{r.hops:.2f}"),
    Column("busiest", _busiest, is_text=True),
    Column("all", lambda r: _us(r.all_us)),
    Column("run", lambda r: f"{r.fidelity}, {r.seconds:.0f} s", is_text=True),
)

KIND = Kind(
    publication=FWD,
    comparable="The paper computes its network from matching times of one router, links for nothing. Here "
    "whole networks run, as processes that share this machine's processors, and everything takes its time.",
    sweep=Sweep,
    measure=measure,
    row=Row,
    checks=check,
    figures=figures,
    tables=tables,
    scale=lambda results: f"{len(runs_of(results.rows))} runs",
)

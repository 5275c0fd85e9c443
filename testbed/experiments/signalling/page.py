"""What schemes tell while entities walk about (MM 6): who signals least, and what the data pays for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from analysis.figures.axes import count, volume
from analysis.figures.chart import Scale, Series, line_chart, short_count, style
from analysis.figures.svg import Figure
from analysis.spread import student_t, variance
from testbed.experiments.experiment import Experiment
from testbed.experiments.kind import MM, Checks, Column, Finding, Kind, table
from testbed.experiments.results import Results, grouped
from testbed.experiments.signalling.measure import Case, Row, Sweep, measure

Measured = Results[Row]

check = Checks()
CONFIDENCE = 0.90
LEAST_TIMES = 2
"""By how much a scheme has to tell less than another for somebody to choose it for that."""
HOW = (
    "Every run is in the simulator, in one process and without captures on disk: a recorder at each router "
    "interface counts what is sent. Nothing here depends on the machine. The same seed gives all schemes the "
    "same network, walks and messages. Entities come a second after the network is ready, and counting "
    "begins four seconds later. *Changes* are descriptors that clients told their routers anew or withdrew. "
    "*Signals* are packets that tell of interest and advertisements over links between routers, without "
    "acknowledgements and link states; a packet of `bp` and `bs` tells of one descriptor, one of the others "
    "of all that has changed since the last. *Entries* are filters at interfaces to other routers in all "
    "tables at the end; *wasted* are crossings of messages from which no delivery descends. *Wrong* "
    "deliveries are missing, duplicate or spurious ones."
)


@dataclass(frozen=True, slots=True)
class Line:
    """What came of a scheme in a setting, over all runs and windows."""

    first: Row
    rates: tuple[float, ...]
    """Signals a second, of each run."""
    rows: tuple[Row, ...]

    @property
    def rate(self) -> float:
        """Signals a second."""
        return fmean(self.rates)

    @property
    def bytes_rate(self) -> float:
        """Of signals, in a second."""
        return self._sum("signal_bytes") / self._sum("seconds")

    @property
    def spread(self) -> float:
        """Half of the confidence interval of the rate; 0 for a single run."""
        runs = len(self.rates)
        return student_t(runs - 1, CONFIDENCE) * (variance(self.rates) / runs) ** 0.5 if runs > 1 else 0.0

    @property
    def changes_rate(self) -> float:
        """Changes of descriptors in a second."""
        return self._sum("changes") / self._sum("seconds")

    @property
    def runs(self) -> list[Row]:
        """A row of each run."""
        return [rows[0] for rows in grouped(self.rows, lambda row: row.run).values()]

    def _sum(self, name: str) -> float:
        return float(sum(getattr(row, name) for row in self.rows))


def lines(results: Measured) -> list[Line]:
    """By setting and scheme, in the order of the rows."""
    found = grouped(results.rows, lambda row: (row.publishers, row.subscribers, row.squares, row.scheme))
    return [_line(rows) for rows in found.values()]


def _line(rows: Sequence[Row]) -> Line:
    runs = grouped(rows, lambda row: row.run).values()
    rates = (sum(row.signals for row in run) / sum(row.seconds for row in run) for run in runs)
    return Line(rows[0], tuple(rates), tuple(rows))


def _by_setting(results: Measured) -> list[list[Line]]:
    found = grouped(lines(results), lambda k: (k.first.publishers, k.first.subscribers, k.first.squares))
    return list(found.values())


@check
def same_deliveries(results: Measured) -> Finding:
    """Every scheme delivers all that is owed, and nothing else."""
    runs = {row.case: row for row in results.rows}.values()
    owed, wrong = sum(row.owed for row in runs), sum(row.wrong for row in runs)
    return Finding(f"{count(owed)} deliveries owed in all, {count(wrong)} wrong", bool(owed) and not wrong)


@check
def who_signals_least(results: Measured) -> Finding:
    """The order of the schemes by packets, and by bytes."""
    parts = []
    for setting in _by_setting(results):
        by_packets = sorted(setting, key=lambda line: line.rate)
        by_bytes = sorted(setting, key=lambda line: line.bytes_rate)
        parts.append(
            f"packets: {_ordered(by_packets)}; bytes: {', '.join(line.first.scheme for line in by_bytes)}"
        )
    return Finding("; ".join(parts), None)


def _ordered(of: Sequence[Line]) -> str:
    return ", ".join(f"{line.first.scheme} {count(round(line.rate))}/s" for line in of)


@check
def advertisements_save(results: Measured) -> Finding:
    """A scheme with advertisements against itself without, where both change all the time."""
    parts: list[tuple[str, bool]] = []
    for setting in _by_setting(results):
        by_name = {line.first.scheme: line for line in setting}
        for name, line in by_name.items():
            told = by_name.get(f"{name}/adv")
            if told is not None:
                times = line.rate / max(told.rate, 1e-9)
                parts.append((f"{name}: {times:.1f} times fewer signals with them", times >= LEAST_TIMES))
    return Finding.each(parts) if parts else Finding("none of the schemes was run both ways", None)


@check
def wasted_data(results: Measured) -> Finding:
    """Messages that cross links for nothing."""
    parts = []
    for scheme, rows in grouped(results.rows, lambda row: row.scheme).items():
        crossed, wasted = sum(row.crossings for row in rows), sum(row.wasted for row in rows)
        parts.append(f"{scheme} {count(wasted)} of {count(crossed)}")
    return Finding("; ".join(parts), None)


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """The rate of signals over time, of the first run of the first setting."""
    first = results.rows[0]
    rows = [row for row in results.rows if _setting(row.case) == _setting(first.case)]
    about = (experiment.name, "What routers tell each other", "Signals a second, over simulated time.")
    chart = line_chart(
        about,
        (Scale("seconds", short_count), Scale("signals a second", short_count)),
        list(_courses(rows)),
    )
    return {"": chart}


def _setting(case: Case) -> tuple[int, int, int, int]:
    return case.publishers, case.subscribers, case.squares, case.run


def _courses(rows: Sequence[Row]) -> Iterator[Series]:
    for at, (scheme, windows) in enumerate(grouped(rows, lambda row: row.scheme).items()):
        name = scheme.removesuffix("/adv")
        look = style(at) if name == scheme else f"{style(at)} dashed"
        points = tuple(
            (row.begin_s + row.seconds / 2, max(row.signals / row.seconds, 1e-3)) for row in windows
        )
        yield Series(scheme, look, points)


def tables(results: Measured) -> str:
    """One for each setting."""
    parts = ["## Every scheme", HOW]
    for setting in _by_setting(results):
        first = setting[0].first
        squares = count(first.squares)
        about = (
            f"### {first.publishers} publishers, {first.subscribers} subscribers, {squares} x {squares} "
            f"squares\n\n{first.routers} routers, {first.links} links; in the first run "
            f"{count(first.descriptors)} descriptors at first, {count(first.owed)} deliveries owed."
        )
        parts += [about, table(COLUMNS, setting)]
    return "\n\n".join(parts)


COLUMNS: tuple[Column[Line], ...] = (
    Column("scheme", lambda k: k.first.scheme, is_text=True),
    Column("runs", lambda k: str(len(k.rates))),
    Column("changes/s", lambda k: f"{k.changes_rate:.1f}"),
    Column("signals/s", lambda k: count(round(k.rate)) + (f" ± {k.spread:.0f}" if k.spread else "")),
    Column("bytes/s", lambda k: volume(round(k.bytes_rate))),
    Column("entries", lambda k: count(round(fmean(row.entries for row in k.runs)))),
    Column("crossings", lambda k: count(sum(row.crossings for row in k.rows))),
    Column("wasted", lambda k: count(sum(row.wasted for row in k.rows))),
    Column("wrong", lambda k: str(sum(row.wrong for row in k.runs))),
)

KIND = Kind(
    publication=MM,
    comparable=(
        "The paper measures two broadcasts and its own protocol; the statements about other schemes are ours."
    ),
    sweep=Sweep,
    measure=measure,
    row=Row,
    checks=check,
    figures=figures,
    tables=tables,
    scale=lambda results: f"{len({row.case for row in results.rows})} runs, each once",
)

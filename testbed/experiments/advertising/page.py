"""What advertisements save and cost (ADR 2.4.2, 3.5), beside the same schemes without; a table by topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from analysis.figures.axes import count, volume
from analysis.figures.chart import Scale, Series, line_chart, short_count, style
from analysis.figures.svg import Figure
from testbed.experiments.advertising.measure import Row, Sweep, measure
from testbed.experiments.experiment import Experiment
from testbed.experiments.kind import ADR, Checks, Column, Finding, Kind, table
from testbed.experiments.results import Results, grouped

Measured = Results[Row]

check = Checks()
LEAST = 5
"""So many times fewer of `siena`'s signals and entries were asked for."""
HOW = (
    "Every run is in the simulator, in one process and without captures on disk: a recorder at each router "
    "interface counts what is sent. Nothing here depends on the machine. Publishers advertise before the run "
    "begins, then a subscriber comes every 10 ms, then messages are published. *Signals* are packets that "
    "tell of interest and advertisements over links between routers, without acknowledgements; link states "
    "are the same with and without. *Entries* are the filters at interfaces to other routers, in the tables "
    "of all routers, at the end. *Crossings* are messages over links between routers. The "
    "times count how often fewer there are with advertisements than without."
)


def pairs(results: Measured, *schemes: str) -> list[tuple[Row, Row]]:
    """Without advertisements and with, of these schemes (none: all)."""
    held = {(row.topics, row.scheme): row for row in results.rows if row.advertisements}
    return [
        (row, held[row.topics, row.scheme])
        for row in results.rows
        if not row.advertisements and (not schemes or row.scheme in schemes)
    ]


def fewer(without: int, with_: int) -> float:
    """How many times fewer."""
    return without / max(with_, 1)


@check
def same_deliveries(results: Measured) -> Finding:
    """What is within its publisher's advertisements is delivered in either case."""
    wrong = sum(row.wrong for row in results.rows)
    same = all(a.owed == b.owed for a, b in pairs(results))
    return Finding(
        f"{count(sum(r.owed for r in results.rows))} deliveries owed in all, {count(wrong)} wrong",
        not wrong and same,
    )


def _least(results: Measured, schemes: tuple[str, ...]) -> tuple[str, bool]:
    found, texts = [], []
    for without, with_ in pairs(results, *schemes):
        signals = fewer(without.signals, with_.signals)
        entries = fewer(without.entries, with_.entries)
        found += [signals, entries]
        of = f"{with_.scheme}, {with_.topics} topics"
        texts.append(f"{of}: signals {signals:.1f} times fewer, entries {entries:.1f}")
    return "; ".join(texts), bool(found) and min(found) >= LEAST


@check
def siena_tells_less(results: Measured) -> Finding:
    """Subscriptions go towards the publishers alone."""
    return Finding(*_least(results, ("siena", "siena/source")))


@check
def flooding_tells_less(results: Measured) -> Finding:
    """Interest that nobody can meet stays at home; the rest still goes everywhere."""
    text, _ = _least(results, ("pif", "psf", "cbcb"))
    return Finding(text, None)


@check
def messages_go_the_same_way(results: Measured) -> Finding:
    """Advertisements decide where subscriptions are, and messages go by subscriptions."""
    rows = pairs(results)
    same = sum(a.crossings == b.crossings for a, b in rows)
    more = max((b.crossings / max(a.crossings, 1) for a, b in rows), default=1.0)
    return Finding(
        f"as many crossings in {same} of {len(rows)} runs, at most {more:.2f} times as many", more <= 1
    )


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """Signals and entries by the number of topics."""
    return {
        "": line_chart(
            (experiment.name, "What routers tell each other", "By the number of topics."),
            (Scale("topics", short_count), Scale("packets", short_count)),
            list(_lines(results, lambda row: row.signals)),
        ),
        "-entries": line_chart(
            (f"{experiment.name}-entries", "Filters in all routers' tables", "By the number of topics."),
            (Scale("topics", short_count), Scale("filters", short_count)),
            list(_lines(results, lambda row: row.entries)),
        ),
    }


def _lines(results: Measured, value: Callable[[Row], int]) -> Iterator[Series]:
    schemes = list(dict.fromkeys(row.scheme for row in results.rows))
    for at, scheme in enumerate(schemes):
        for advertisements in (False, True):
            rows = [r for r in results.rows if (r.scheme, r.advertisements) == (scheme, advertisements)]
            points = tuple(sorted((float(r.topics), float(max(value(r), 1))) for r in rows))
            name = f"{scheme} with advertisements" if advertisements else scheme
            look = f"{style(at)} dashed" if advertisements else style(at)
            yield Series(name, look, points)


def tables(results: Measured) -> str:
    """One for each number of topics."""
    parts = ["## Every run", HOW]
    for topics, rows in grouped(results.rows, lambda row: row.topics).items():
        first = rows[0]
        about = (
            f"### {count(topics)} topics, {first.publishers} of them published\n\n{first.routers} routers, "
            f"{first.links} links, {first.subscribers} subscribers, {count(first.owed)} deliveries owed."
        )
        parts += [about, table(COLUMNS, rows)]
    return "\n\n".join(parts)


COLUMNS: tuple[Column[Row], ...] = (
    Column("scheme", lambda r: r.scheme, is_text=True),
    Column("advertisements", lambda r: "yes" if r.advertisements else "no", is_text=True),
    Column("wrong", lambda r: str(r.wrong)),
    Column("signals", lambda r: count(r.signals)),
    Column("bytes", lambda r: volume(r.signal_bytes)),
    Column("link states", lambda r: count(r.links_packets)),
    Column("entries", lambda r: count(r.entries)),
    Column("crossings", lambda r: count(r.crossings)),
)

KIND = Kind(
    publication=ADR,
    comparable="The paper describes advertisements and does not measure them. The statements are ours.",
    sweep=Sweep,
    measure=measure,
    row=Row,
    checks=check,
    figures=figures,
    tables=tables,
    scale=lambda results: f"{len(results.rows)} runs, each once",
)

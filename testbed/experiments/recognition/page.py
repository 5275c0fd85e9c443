"""What it costs and saves to recognise patterns in routers (ADR 2.4.1, 3.6), beside clients that do so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis.figures.axes import count, volume
from analysis.figures.chart import Scale, Series, line_chart, short_count, style
from analysis.figures.svg import Figure
from testbed.experiments.experiment import Experiment
from testbed.experiments.kind import ADR, Checks, Column, Finding, Kind, table
from testbed.experiments.recognition.measure import Row, Sweep, measure
from testbed.experiments.results import Results, grouped

Measured = Results[Row]

check = Checks()
PLACES = {
    "together": "Both sources at one far router",
    "apart": "Sources far from each other and from who seeks",
    "near": "Both sources at a neighbouring router",
}
HOW = (
    "Every run is in the simulator, in one process and without captures on disk: a recorder at each router "
    "interface counts what is sent. Nothing here depends on the machine. Who seeks asks for `[first] then "
    "[second]` within a window; each source publishes one message every 10 ms. *Selectivity* is the share of "
    "a source's messages that its part of the pattern matches. *Bytes* are all that cross links between "
    "routers for the pattern, without headers of frames: messages, matches with what acknowledges them (what "
    "else is acknowledged after the start is counted with them), and what asks for both. The last column is "
    "how many times fewer there are when routers recognise; below 1 there are more."
)


def pairs(results: Measured) -> list[tuple[Row, Row]]:
    """Union and factored, of the same case."""
    factored = {(r.place, r.window_ms, r.selectivity): r for r in results.rows if r.patterns == "factored"}
    return [
        (row, factored[row.place, row.window_ms, row.selectivity])
        for row in results.rows
        if row.patterns == "union"
    ]


def fewer(union: Row, factored: Row) -> float:
    """How many times fewer bytes."""
    return union.link_bytes / max(factored.link_bytes, 1)


@check
def same_matches(results: Measured) -> Finding:
    """Whoever recognises, the same is told."""
    wrong = sum(row.wrong for row in results.rows)
    same = all(a.owed == b.owed for a, b in pairs(results))
    owed = sum(row.owed for row in results.rows)
    return Finding(
        f"{count(owed)} matches owed in all, {count(wrong)} wrong", not wrong and same and owed > 0
    )


@check
def factoring_pays(results: Measured) -> Finding:
    """Where matches are rare and their messages come from one far place."""
    found = [
        (fewer(a, b), a)
        for a, b in pairs(results)
        if a.place == "together" and b.owed * 10 <= a.published * a.selectivity / 1000
    ]
    if not found:
        return Finding("no run with one match or fewer for ten messages that parts match", None)
    best, worst = max(found, key=lambda each: each[0]), min(found, key=lambda each: each[0])
    text = f"{worst[0]:.1f} to {best[0]:.1f} times fewer bytes, over {best[1].hops} links"
    return Finding(text, worst[0] > 1)


@check
def union_wins(results: Measured) -> Finding:
    """Where there are more matches than messages that parts match, as each carries its messages."""
    found = [
        (1 / fewer(a, b), a)
        for a, b in pairs(results)
        if a.place != "apart" and b.owed > a.published * a.selectivity / 1000
    ]
    if not found:
        return Finding("no run with more matches than messages that parts match", None)
    texts = [
        f"{a.place}, window {a.window_ms} ms, selectivity {a.selectivity / 10:g} %: {more:.1f} times more"
        for more, a in found
    ]
    return Finding("<br>".join(texts), all(more > 1 for more, _ in found))


@check
def apart(results: Measured) -> Finding:
    """Messages come to the router where their ways meet, and matches go on from there."""
    found = [fewer(a, b) for a, b in pairs(results) if a.place == "apart"]
    text = f"{min(found):.2f} to {max(found):.2f} times fewer" if found else "no such run"
    return Finding(text, None)


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """Bytes by selectivity, a figure for each window."""
    windows = list(dict.fromkeys(row.window_ms for row in results.rows))
    return {
        "" if at == 0 else f"-{window_ms}ms": line_chart(
            (
                experiment.name if at == 0 else f"{experiment.name}-{window_ms}ms",
                f"Bytes over links, window {window_ms} ms",
                "By the share of messages that a part matches, in per mille.",
            ),
            (Scale("selectivity", short_count), Scale("bytes", short_count)),
            list(_lines(results, window_ms)),
        )
        for at, window_ms in enumerate(windows)
    }


def _lines(results: Measured, window_ms: int) -> Iterator[Series]:
    for at, place in enumerate(dict.fromkeys(row.place for row in results.rows)):
        for patterns in ("union", "factored"):
            chosen = (place, patterns, window_ms)
            rows = [r for r in results.rows if (r.place, r.patterns, r.window_ms) == chosen]
            points = tuple(sorted((float(r.selectivity), float(max(r.link_bytes, 1))) for r in rows))
            look = f"{style(at)} dashed" if patterns == "factored" else style(at)
            yield Series(f"{place}, {patterns}", look, points)


def tables(results: Measured) -> str:
    """One for each place and window."""
    parts = ["## Every run", HOW]
    for (place, window_ms), lines in grouped(
        pairs(results), lambda pair: (pair[0].place, pair[0].window_ms)
    ).items():
        first = lines[0][0]
        parts.append(
            f"### {PLACES[place]}, window {window_ms} ms\n\n{first.routers} routers, {first.links} links; "
            f"{first.hops} links from the farther source to who seeks; {count(first.published)} messages."
        )
        parts.append(table(COLUMNS, lines))
    return "\n\n".join(parts)


COLUMNS: tuple[Column[tuple[Row, Row]], ...] = (
    Column("selectivity, per mille", lambda p: count(p[0].selectivity)),
    Column("matches", lambda p: count(p[0].owed)),
    Column("wrong", lambda p: str(p[0].wrong + p[1].wrong)),
    Column("union: messages", lambda p: volume(p[0].message_bytes)),
    Column("union: bytes", lambda p: volume(p[0].link_bytes)),
    Column("factored: messages", lambda p: volume(p[1].message_bytes)),
    Column("factored: matches", lambda p: volume(p[1].match_bytes)),
    Column("factored: bytes", lambda p: volume(p[1].link_bytes)),
    Column("times fewer", lambda p: f"{fewer(*p):.2f}"),
)

KIND = Kind(
    publication=ADR,
    comparable="The paper describes patterns and how they are taken apart, and does not measure them. "
    "The statements are ours.",
    sweep=Sweep,
    measure=measure,
    row=Row,
    checks=check,
    figures=figures,
    tables=tables,
    scale=lambda results: f"{len(results.rows)} runs, each once",
)

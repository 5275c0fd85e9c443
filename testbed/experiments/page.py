"""The page of an experiment, in Markdown: claims, command, what came out, what does not reproduce and why.

Everything on it is computed from the experiment's file and the rows, so that it
can be written again from these two at any time.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.figures.axes import count, duration
from testbed.experiments.checks import CHECKS
from testbed.experiments.definition import Experiment
from testbed.experiments.findings import Finding, percent, time
from testbed.experiments.rows import Results, Row

Key = tuple[int, int, int, bool]
VERDICTS = {True: "reproduces", False: "**does not**", None: "not comparable"}


def found(experiment: Experiment, results: Results) -> list[tuple[str, Finding]]:
    """Each printed statement's claim with what came out."""
    return [(each.claim, CHECKS[each.check](results)) for each in experiment.printed]


def write_page(experiment: Experiment, results: Results, drawing: str) -> str:
    """The whole page; `drawing` is the name of the SVG file beside it."""
    parts = [
        f"# {experiment.name}: {experiment.title}",
        f'"Forwarding in a Content-Based Network" (SIGCOMM 2003), {experiment.paper}. {experiment.question}',
        "## What the paper says, and what came out",
        _findings(experiment, results),
        *_reasons(experiment, results),
        "## The command",
        f"```console\n$ cbn reproduce {experiment.name}{_options(results)}\n```",
        _circumstances(results),
        "## The figure",
        f"![{experiment.title}]({drawing})",
        "## Every table",
        _how(),
        _rows(results),
        "## Remarks",
        "\n".join(f"- {remark}" for remark in experiment.remarks),
    ]
    return "\n\n".join(parts) + "\n"


def _findings(experiment: Experiment, results: Results) -> str:
    lines = ["| statement | paper | here | |", "|---|---|---|---|"]
    for each in experiment.printed:
        finding = CHECKS[each.check](results)
        lines.append(f"| {each.claim} | {each.paper} | {_lines(finding.ours)} | {VERDICTS[finding.holds]} |")
    return "\n".join(lines)


def _lines(said: str) -> str:
    """What stands between semicolons gets a line of its own."""
    return said.replace("; ", "<br>")


def _reasons(experiment: Experiment, results: Results) -> Iterator[str]:
    """Why what does not reproduce does not."""
    failed = [e for e in experiment.printed if e.unless and CHECKS[e.check](results).holds is False]
    if failed:
        yield "Why not:"
        yield "\n".join(f"- *{each.claim}*: {each.unless.strip()}" for each in failed)
    if results.quick:
        yield "This is the quick slice: too small for what the paper says of large tables."
    yield (
        "Absolute times are not comparable: the paper's machine had 950 MHz and 512 MB. "
        "Shapes, ratios and counts are."
    )


def _options(results: Results) -> str:
    quick = " --quick" if results.quick else ""
    return quick + (f" --seed {results.seed}" if results.seed != 1 else "")


def _circumstances(results: Results) -> str:
    machine = results.machine
    cores = "1 core" if machine["cores"] == 1 else f"{machine['cores']} cores"
    scale = "the quick slice" if results.quick else "the whole sweep"
    return (
        f"It took {_span(results.seconds)} for {scale} on {machine['processor']}, {cores}, "
        f"{machine['system']}, Python {machine['python']}; load when it began: {machine['load']}. "
        f"Seed {results.seed}, {results.rows[0].messages} messages, the least of {results.repeat} repeats."
    )


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else duration(seconds * 1e9)


def _how() -> str:
    return (
        "Of each message the least time over all repeats counts; what stands here is the mean over the "
        "messages. The algorithms take turns, so that what disturbs the machine falls on all of them. All "
        "of them give the same answers, or there is no page. `counting` stands for no rounds (r = 0). The "
        "gain is that of `selective` over `counting`. Bytes are all that a table needs to answer, by "
        "constraints as written, of the three in this order."
    )


def _rows(results: Results) -> str:
    lines = [
        "| interfaces | filters | constraints | goes to | r | counting | selective | gain | fast "
        "| selective : fast | bytes each |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    fast: dict[Key, Row] = {_key(r): r for r in results.of("fast")}
    plain = {_key(r): r for r in results.of("counting")}
    lines += [_line(row, plain[_key(row)], fast[_key(row)]) for row in results.of("selective")]
    return "\n".join(lines)


def _key(row: Row) -> Key:
    return row.interfaces, row.filters, row.constraints, row.cold


def _line(row: Row, plain: Row, fast: Row) -> str:
    bytes_each = " / ".join(f"{r.bytes_per_constraint:.0f}" for r in (plain, row, fast))
    cells = [
        count(row.interfaces),
        count(row.filters),
        count(row.constraints),
        count(round(row.matched_mean, 1)),
        str(row.rounds),
        time(row.counting_us) + (" cold" if row.cold else ""),
        time(row.time_us),
        percent(row.gain),
        time(fast.time_us),
        f"{row.time_us / fast.time_us:.0f} x",
        bytes_each,
    ]
    return f"| {' | '.join(cells)} |"

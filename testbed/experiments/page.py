"""The page of an experiment, in Markdown: claims, command, what came out, what does not reproduce and why.

Everything on it is computed from the experiment's file and the rows, so that it
can be written again from these two at any time. Here too: the files a run leaves.
Each is there when it is complete, and not before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.figures.axes import duration
from testbed.experiments.experiment import Experiment
from testbed.experiments.kind import Finding
from testbed.experiments.results import Results, to_json, write_parquet
from testbed.runs.whole_files import write_whole, written_whole

TOO_SMALL = "too small for what the paper says of large ones"
PIPE = "\\|"
"""Within a cell of a table."""
VERDICTS = {True: "reproduces", False: "**does not**", None: "not comparable"}


def write_all(folder: Path, experiment: Experiment, results: Results[Any]) -> list[Path]:
    """Rows, figures and page of one run; what an earlier run of the experiment left is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = folder / "rows.parquet"
    with written_whole(rows) as unfinished:
        write_parquet(results.rows, unfinished)
    return [rows, *_texts(folder, ("rows", "figure", "page"), experiment, results)]


def write_page_files(folder: Path, experiment: Experiment, results: Results[Any]) -> list[Path]:
    """The same by the experiment's name, for a folder of pages: Markdown, figures, rows as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    return _texts(folder, (experiment.name,) * 3, experiment, results)


def _texts(
    folder: Path, stems: tuple[str, str, str], experiment: Experiment, results: Results[Any]
) -> list[Path]:
    rows, figure, page = stems
    drawn = experiment.of_kind.figures(experiment, results)
    figures = {f"{figure}{suffix}.svg": each.to_svg() + "\n" for suffix, each in drawn.items()}
    texts = {f"{rows}.json": to_json(results)} | figures
    texts[f"{page}.md"] = write_page(experiment, results, list(figures))
    return [write_whole(folder / name, text) for name, text in texts.items()]


def found(experiment: Experiment, results: Results[Any]) -> list[tuple[str, Finding]]:
    """Each printed statement's claim with what came out."""
    return [
        (each.claim, _comparable(experiment.of_kind.checks[each.check](results), results))
        for each in experiment.printed
    ]


def _comparable(finding: Finding, results: Results[Any]) -> Finding:
    """What does not hold for the small slice says nothing about the paper."""
    return replace(finding, holds=None) if results.quick and finding.holds is False else finding


def write_page(experiment: Experiment, results: Results[Any], drawings: Sequence[str]) -> str:
    """The whole page; `drawings` are the names of the SVG files beside it."""
    kind = experiment.of_kind
    parts = [
        f"# {experiment.name}: {experiment.title}",
        f"{kind.publication}, {experiment.paper}. {experiment.question}",
        "## What the paper says, and what came out",
        _findings(experiment, results),
        *_reasons(experiment, results),
        "## The command",
        f"```console\n$ cbn reproduce {experiment.name}{_options(results)}\n```",
        _circumstances(experiment, results),
        "## The figure" if len(drawings) == 1 else "## The figures",
        *(f"![{experiment.title}]({drawing})" for drawing in drawings),
        kind.tables(results),
        "## Remarks",
        "\n".join(f"- {remark}" for remark in experiment.remarks),
    ]
    return "\n\n".join(parts) + "\n"


def _findings(experiment: Experiment, results: Results[Any]) -> str:
    lines = ["| statement | paper | here | |", "|---|---|---|---|"]
    for each, (claim, finding) in zip(experiment.printed, found(experiment, results), strict=True):
        cells = (claim, each.paper, _lines(finding.ours), VERDICTS[finding.holds])
        lines.append(f"| {' | '.join(cell.replace('|', PIPE) for cell in cells)} |")
    return "\n".join(lines)


def _lines(text: str) -> str:
    """What stands between semicolons gets a line of its own."""
    return text.replace("; ", "<br>")


def _reasons(experiment: Experiment, results: Results[Any]) -> Iterator[str]:
    """Why what does not reproduce does not."""
    answers = zip(experiment.printed, found(experiment, results), strict=True)
    failed = [each for each, (_, finding) in answers if each.unless and finding.holds is False]
    if failed:
        yield "Why not:"
        yield "\n".join(f"- *{each.claim}*: {each.unless.strip()}" for each in failed)
    if results.quick:
        yield f"This is the quick slice: {TOO_SMALL}."
    yield experiment.of_kind.comparable


def _options(results: Results[Any]) -> str:
    quick = " --quick" if results.quick else ""
    return quick + (f" --seed {results.seed}" if results.seed != 1 else "")


def _circumstances(experiment: Experiment, results: Results[Any]) -> str:
    machine = results.machine
    cores = "1 core" if machine["cores"] == 1 else f"{machine['cores']} cores"
    scale = "the quick slice" if results.quick else "the whole sweep"
    return (
        f"It took {_span(results.seconds)} for {scale} on {machine['processor']}, {cores}, "
        f"{machine['system']}, Python {machine['python']}; load when it began: {machine['load']}. "
        f"Seed {results.seed}, {experiment.of_kind.scale(results)}."
    )


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else duration(seconds * 1e9)

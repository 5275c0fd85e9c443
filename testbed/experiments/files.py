"""The files an experiment leaves: rows, figure, page. Each is there when it is complete, and not before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from testbed.experiments.definition import Experiment
from testbed.experiments.drawings import draw
from testbed.experiments.page import write_page
from testbed.experiments.rows import Results, to_json, write_parquet

PARQUET, JSON, FIGURE, PAGE = "rows.parquet", "rows.json", "figure.svg", "page.md"


def write_all(folder: Path, experiment: Experiment, results: Results) -> list[Path]:
    """Rows, figure and page of one run; what an earlier run of the experiment left is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _whole(folder / PARQUET, lambda path: write_parquet(results.rows, path)),
        _text(folder / JSON, to_json(results)),
        _text(folder / FIGURE, draw(experiment, results).to_svg() + "\n"),
        _text(folder / PAGE, write_page(experiment, results, FIGURE)),
    ]


def write_page_files(folder: Path, experiment: Experiment, results: Results) -> list[Path]:
    """The same by the experiment's name, for a folder of pages: Markdown, figure, rows as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = f"{experiment.name}.svg"
    return [
        _text(folder / f"{experiment.name}.json", to_json(results)),
        _text(folder / figure, draw(experiment, results).to_svg() + "\n"),
        _text(folder / f"{experiment.name}.md", write_page(experiment, results, figure)),
    ]


def _text(path: Path, text: str) -> Path:
    return _whole(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


def _whole(path: Path, write: Callable[[Path], object]) -> Path:
    unfinished = path.with_name(path.name + ".part")
    try:
        write(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path

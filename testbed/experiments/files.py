"""The files an experiment leaves: rows, figure, page. Each is there when it is complete, and not before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from testbed.experiments.definition import Experiment
from testbed.experiments.page import write_page
from testbed.experiments.results import Results, to_json, write_parquet

PARQUET, JSON, FIGURE, PAGE = "rows.parquet", "rows.json", "figure", "page.md"


def write_all(folder: Path, experiment: Experiment, results: Results[Any]) -> list[Path]:
    """Rows, figures and page of one run; what an earlier run of the experiment left is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = _figures(FIGURE, experiment, results)
    return [
        _whole(folder / PARQUET, lambda path: write_parquet(results.rows, path)),
        _text(folder / JSON, to_json(results)),
        *(_text(folder / name, drawn) for name, drawn in figures.items()),
        _text(folder / PAGE, write_page(experiment, results, list(figures))),
    ]


def write_page_files(folder: Path, experiment: Experiment, results: Results[Any]) -> list[Path]:
    """The same by the experiment's name, for a folder of pages: Markdown, figures, rows as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = _figures(experiment.name, experiment, results)
    return [
        _text(folder / f"{experiment.name}.json", to_json(results)),
        *(_text(folder / name, drawn) for name, drawn in figures.items()),
        _text(folder / f"{experiment.name}.md", write_page(experiment, results, list(figures))),
    ]


def _figures(stem: str, experiment: Experiment, results: Results[Any]) -> dict[str, str]:
    """The text of each figure by its file's name."""
    drawn = experiment.of_kind.figures(experiment, results)
    return {f"{stem}{suffix}.svg": figure.to_svg() + "\n" for suffix, figure in drawn.items()}


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

"""The pages of docs/experiments are what their rows say, and name the command that makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.experiments.definition import load_experiment
from testbed.experiments.drawings import draw
from testbed.experiments.page import write_page
from testbed.experiments.rows import Results, from_json, to_json
from topologies.library import experiment_file, experiment_names

PAGES = Path(__file__).parents[2] / "docs" / "experiments"
AGAIN = "write them again: cbn reproduce NAME --rows docs/experiments/NAME.json --page docs/experiments"


def rows_of(name: str) -> Results:
    return from_json((PAGES / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(params=experiment_names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_page_is_written_from_its_rows(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert f"$ cbn reproduce {name}\n" in page
    assert page == write_page(load_experiment(experiment_file(name)), rows_of(name), f"{name}.svg"), AGAIN


def test_the_figure_is_drawn_from_its_rows(name: str) -> None:
    figure = draw(load_experiment(experiment_file(name)), rows_of(name)).to_svg()
    assert (PAGES / f"{name}.svg").read_text(encoding="utf-8") == figure + "\n", AGAIN


def test_the_rows_are_those_of_the_whole_sweep_as_the_file_has_it_now(name: str) -> None:
    results, tables = rows_of(name), load_experiment(experiment_file(name)).tables
    assert not results.quick
    swept = [(r.interfaces, r.rounds) for r in results.of("selective")]
    assert swept == [(t.interfaces, r) for t in tables for r in t.rounds]
    assert to_json(results) == (PAGES / f"{name}.json").read_text(encoding="utf-8")


def test_the_contents_name_every_experiment_and_its_command(name: str) -> None:
    contents = (PAGES / "README.md").read_text(encoding="utf-8")
    assert f"| `cbn reproduce {name}` |" in contents
    assert f"[{name}]({name}.md)" in contents

"""The pages of docs/experiments are what their rows say, and name the command that makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.experiments.experiment import Experiment, load_experiment
from testbed.experiments.page import write_page
from testbed.experiments.results import Results, from_json, to_json
from topologies.library import experiment_file, experiment_names

PAGES = Path(__file__).parents[2] / "docs" / "experiments"
AGAIN = "write them again: cbn reproduce NAME --rows docs/experiments/NAME.json --page docs/experiments"


def experiment_of(name: str) -> Experiment:
    return load_experiment(experiment_file(name))


def rows_of(name: str) -> Results[Any]:
    text = (PAGES / f"{name}.json").read_text(encoding="utf-8")
    return from_json(text, experiment_of(name).of_kind.row)


def figures_of(name: str) -> dict[str, str]:
    drawn = experiment_of(name).of_kind.figures(experiment_of(name), rows_of(name))
    return {f"{name}{suffix}.svg": figure.to_svg() + "\n" for suffix, figure in drawn.items()}


@pytest.fixture(params=experiment_names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_page_is_written_from_its_rows(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert f"$ cbn reproduce {name}\n" in page
    assert page == write_page(experiment_of(name), rows_of(name), list(figures_of(name))), AGAIN


def test_the_figures_are_drawn_from_its_rows_and_there_are_no_others(name: str) -> None:
    for file, drawn in figures_of(name).items():
        assert (PAGES / file).read_text(encoding="utf-8") == drawn, AGAIN
    assert {p.name for p in PAGES.glob(f"{name}*.svg")} == set(figures_of(name))


def test_the_rows_are_a_whole_sweep_and_written_as_they_are_now(name: str) -> None:
    results = rows_of(name)
    assert not results.quick
    assert to_json(results) == (PAGES / f"{name}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("written", "instead", "reported"),
    [
        ('"number": 2', '"number": "2"', r"rows\.1\.number: expected int, found '2'"),
        ('"number": 2', '"numbr": 2', r"rows\.1\.numbr: unknown key"),
        ('"seed": 1', '"sed": 1', "sed"),
    ],
)
def test_rows_that_are_not_as_they_are_written_are_refused(written: str, instead: str, reported: str) -> None:
    text = (PAGES / "rte-alpha-general.json").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=reported):
        from_json(text.replace(written, instead, 1), experiment_of("rte-alpha-general").of_kind.row)


@pytest.mark.parametrize("name", [n for n in experiment_names() if n.startswith("fwd-")])
def test_the_forwarding_rows_are_of_the_tables_that_the_file_has_now(name: str) -> None:
    swept = [(r.interfaces, r.rounds) for r in rows_of(name).rows if r.algorithm == "selective"]
    assert swept == [(t.interfaces, r) for t in experiment_of(name).sweep.tables for r in t.rounds]


def test_D1_the_rows_of_fig_5_are_of_the_numbers_that_the_file_has_now() -> None:
    sweep, rows = experiment_of("rte-alpha-general").sweep, rows_of("rte-alpha-general").rows
    assert sorted({r.number for r in rows}) == sorted(sweep.numbers)
    assert sorted({r.universe for r in rows}) == sorted(sweep.universes) == [10**4, 10**5, 10**6]
    assert {r.repeat for r in rows} == {sweep.repeat}


def test_D3_the_rows_of_figs_6_and_7_are_of_the_names_that_the_file_has_now() -> None:
    sweep, rows = experiment_of("rte-alpha-model").sweep, rows_of("rte-alpha-model").rows
    assert sorted({r.number for r in rows}) == sorted(sweep.numbers)
    assert {r.of for r in rows} == set(sweep.names)
    assert {str(n) for n in sweep.names} == {
        "zipf over 500 names",
        "zipf over 5000 names",
        "uniform over 50 names",
        "uniform over 500 names",
    }
    assert {r.repeat for r in rows} == {sweep.repeat}


def test_the_rows_of_all_schemes_are_of_the_cases_that_the_file_has_now() -> None:
    cases, rows = experiment_of("rte-schemes").sweep.cases, rows_of("rte-schemes").rows
    assert [(r.network, r.scheme) for r in rows] == [
        ((c.shape, c.routers, c.senders, c.receivers), scheme) for c in cases for scheme in c.schemes
    ]


def test_the_contents_name_every_experiment_and_its_command(name: str) -> None:
    contents = (PAGES / "README.md").read_text(encoding="utf-8")
    assert f"| `cbn reproduce {name}` |" in contents
    assert f"[{name}]({name}.md)" in contents

"""A slice of each experiment of the forwarding paper: exact, complete, and nothing of it judged by time."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from fastpath.workload import Generator
from testbed.cli.main import main
from testbed.cli.progress import SilentProgress
from testbed.experiments.experiment import Experiment, load_experiment
from testbed.experiments.forwarding.findings import Measured, rows_of
from testbed.experiments.forwarding.measure import Row, Table
from testbed.experiments.results import from_json, measure
from tests.benchmarks.reference_answers import answers
from topologies.library import experiment_file, experiment_names

NAMES = ("fwd-fig8", "fwd-fig9", "fwd-fig10", "fwd-fig11", "fwd-claims", "fwd-network")
ALGORITHMS = {"counting", "selective", "fast"}


@pytest.fixture(scope="module", params=NAMES)
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, Path]:
    """An experiment, and the folder of its quick slice."""
    folder = tmp_path_factory.mktemp(request.param)
    assert main(["reproduce", request.param, "--quick", "--quiet", "--out", str(folder)]) == 0
    return load_experiment(experiment_file(request.param), quick=True), folder


def results_in(folder: Path) -> Measured:
    return from_json((folder / "rows.json").read_text(encoding="utf-8"), Row)


def test_the_six_experiments_are_shipped() -> None:
    assert sorted(n for n in experiment_names() if n.startswith("fwd-")) == sorted(NAMES)


def test_every_algorithm_is_measured_on_every_table(done: tuple[Experiment, Path]) -> None:
    experiment, folder = done
    rows = results_in(folder).rows
    assert {r.algorithm for r in rows} == ALGORITHMS
    for algorithm in ("counting", "fast"):
        assert [r.interfaces for r in rows if r.algorithm == algorithm] == [
            t.interfaces for t in experiment.sweep.tables
        ]
    swept = [(r.interfaces, r.rounds) for r in rows if r.algorithm == "selective"]
    assert swept == [(t.interfaces, r) for t in experiment.sweep.tables for r in t.rounds]


def test_F7_the_tables_are_of_the_size_that_was_asked_for(done: tuple[Experiment, Path]) -> None:
    experiment, folder = done
    rows = [r for r in results_in(folder).rows if r.algorithm == "fast"]
    for table, row in zip(experiment.sweep.tables, rows, strict=True):
        assert row.filters == table.filters if table.central else row.filters >= table.interfaces
        mean = sum(table.constraints) / 2
        assert row.constraints == pytest.approx(mean * row.filters, rel=0.2)
        assert row.messages == 100


def test_every_time_is_one_and_the_whole_is_not_more_than_its_parts(done: tuple[Experiment, Path]) -> None:
    for row in results_in(done[1]).rows:
        # One message that takes very long puts the mean above the 99 % quantile.
        assert 0 < row.time_us <= row.max_us
        assert 0 < row.p99_us <= row.max_us
        assert row.counting_us > 0
        assert row.build_s > 0
        assert row.bytes_per_constraint > 0


def test_the_parquet_file_has_the_rows_of_the_json_file(done: tuple[Experiment, Path]) -> None:
    written = [Row(**row) for row in pq.read_table(done[1] / "rows.parquet").to_pylist()]
    assert tuple(written) == results_in(done[1]).rows


def test_the_figure_draws_every_algorithm_that_was_swept(done: tuple[Experiment, Path]) -> None:
    experiment, folder = done
    root = ET.parse(folder / "figure.svg").getroot()
    lines = [e.get("class", "").split()[1] for e in root.iter() if e.get("class", "").startswith("line ")]
    alone = {"by_rounds", "by_entries"}
    assert set(lines) == ({"selective"} if experiment.drawing in alone else ALGORITHMS)
    assert "prefers-color-scheme: dark" in ET.tostring(root, encoding="unicode")


def test_the_page_names_the_command_and_answers_every_statement(done: tuple[Experiment, Path]) -> None:
    experiment, folder = done
    text = (folder / "page.md").read_text(encoding="utf-8")
    assert f"$ cbn reproduce {experiment.name} --quick\n" in text
    assert [each.claim for each in experiment.printed if f"| {each.claim} | {each.paper} |" not in text] == []


def test_the_same_seed_gives_the_same_tables(done: tuple[Experiment, Path]) -> None:
    """E2, E3: what is drawn depends on the recipe alone."""
    experiment, folder = done
    drawn = [Generator(table.recipe(1)).filters_total for table in experiment.sweep.tables]
    assert [r.filters for r in rows_of(results_in(folder), "fast")] == drawn


@pytest.mark.parametrize(("interfaces", "constraints"), [(300, (1, 9)), (12, (1, 3))])
def test_F1_who_gets_a_message_is_what_the_model_says(
    interfaces: int, constraints: tuple[int, int], tmp_path: Path
) -> None:
    table = Table(filters=300, interfaces=interfaces, constraints=constraints)
    generator = Generator(table.recipe(1))
    filters, messages = (b"".join(part).decode() for part in (generator.filters(), generator.messages(40)))
    expected = [int(line.split()[0]) for line in answers(filters, messages, central=False).splitlines()]
    rows = measured(tmp_path, table, messages=40)
    assert {r.matched_mean for r in rows} == {sum(expected) / 40}


def test_a_cold_table_gives_the_same_answers(tmp_path: Path) -> None:
    cold, warm = (measured(tmp_path, Table(100, 10, (1, 3), cold=c), messages=3) for c in (True, False))
    assert [r.cold for r in cold + warm] == [True] * 3 + [False] * 3
    assert {r.matched_mean for r in cold} == {r.matched_mean for r in warm}


def measured(folder: Path, table: Table, messages: int) -> list[Row]:
    """The rows of an experiment of that table alone."""
    (folder / "small.yaml").write_text(_small(table, messages))
    return list(measure(load_experiment(folder / "small.yaml"), 1, SilentProgress()).rows)


def _small(table: Table, messages: int) -> str:
    group = {
        "cold": table.cold,
        "filters": [table.filters],
        "interfaces": [table.interfaces],
        "constraints": list(table.constraints),
    }
    data: dict[str, Any] = {
        "name": "small",
        "paper": "none",
        "title": "Small",
        "question": "Is it exact?",
        "drawing": "by_constraints",
        "kind": "forwarding",
        "sweep": {"repeat": 1, "messages": messages, "tables": [group]},
        "quick": {"repeat": 1, "tables": [group]},
        "remarks": ["none"],
        "printed": [{"check": "largest_time", "claim": "none", "paper": "none"}],
    }
    return json.dumps(data)


def test_F9_ten_entries_rule_out_most_predicates_and_more_entries_more(
    done: tuple[Experiment, Path],
) -> None:
    counted = [r for r in results_in(done[1]).rows if r.eliminated_mean is not None]
    if done[0].name != "fwd-claims":
        assert counted == []
        return
    shares = [(r.eliminated_mean or 0) / r.interfaces for r in sorted(counted, key=lambda r: r.rounds)]
    assert shares == sorted(shares)
    assert 0.55 < shares[1] < 0.7


def test_F6_rounds_never_change_an_answer(done: tuple[Experiment, Path]) -> None:
    tables = {(r.interfaces, r.filters, r.constraints) for r in results_in(done[1]).rows}
    for interfaces, filters, constraints in sorted(tables):
        matched = {
            r.matched_mean
            for r in results_in(done[1]).rows
            if (r.interfaces, r.filters, r.constraints) == (interfaces, filters, constraints)
        }
        assert len(matched) == 1


def test_every_number_of_interfaces_goes_with_every_number_of_filters() -> None:
    tables = load_experiment(experiment_file("fwd-fig9")).sweep.tables
    swept = {t.interfaces for t in tables}, {t.filters for t in tables}
    assert swept[0] == {10, 20, 40}
    assert {(t.interfaces, t.filters) for t in tables} == set(product(*swept))

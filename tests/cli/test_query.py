"""`cbn query`: SQL over the tables of runs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.sim, pytest.mark.spark]


@pytest.fixture
def analysed(cbn_with_spark: Any, tiny: Path) -> str:
    """A run of 20 messages."""
    assert (
        cbn_with_spark("run", tiny, "--world", "sim", "--analyze", "--out", "run", "--quiet").returncode == 0
    )
    return "run"


def test_the_tables_of_a_run_answer_in_three_forms(cbn_with_spark: Any, analysed: str) -> None:
    sql = "SELECT name, role FROM nodes WHERE role = 'router' ORDER BY name"
    assert cbn_with_spark("query", analysed, sql).stdout == "name  role\nr1    router\nr2    router\n"
    as_csv = cbn_with_spark("query", analysed, sql, "--csv").stdout
    assert list(csv.reader(io.StringIO(as_csv))) == [["name", "role"], ["r1", "router"], ["r2", "router"]]
    as_json = json.loads(cbn_with_spark("query", analysed, sql, "--json").stdout)
    assert as_json["rows"] == [{"name": "r1", "role": "router"}, {"name": "r2", "role": "router"}]


def test_columns_without_a_value_are_shown(cbn_with_spark: Any, analysed: str) -> None:
    shown = cbn_with_spark("query", analysed, "SELECT node_id, drops, '' AS no FROM routers LIMIT 1")
    assert shown.stdout.splitlines()[0].split() == ["node_id", "drops", "no"]


def test_maps_are_shown_by_their_keys(cbn_with_spark: Any, analysed: str) -> None:
    sql = "SELECT map('no_match', 3, 'hop_limit', 1) AS drops, drops AS own FROM routers LIMIT 1"
    shown = cbn_with_spark("query", analysed, sql)
    assert shown.stdout.splitlines()[1].strip() == "no_match 3, hop_limit 1"
    plain = cbn_with_spark("query", analysed, sql, "--json")
    assert json.loads(plain.stdout)["rows"] == [{"drops": {"no_match": 3, "hop_limit": 1}, "own": {}}]


@pytest.mark.parametrize("package", ["pandas", "duckdb"])
def test_the_recipe_of_the_docs_gives_what_the_query_beside_it_gives(
    cbn_with_spark: Any, analysed: str, package: str
) -> None:
    pytest.importorskip(package)
    text = (ROOT / "docs" / "analysis.md").read_text(encoding="utf-8")
    (recipe,) = (
        block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if f"import {package}" in block
    )
    sql = queries(text)[0]
    names: dict[str, Any] = {"DIR": analysed}
    exec(recipe, names)
    found = names["answer"].reset_index(drop=package == "duckdb")
    rows = json.loads(cbn_with_spark("query", analysed, sql, "--json").stdout)["rows"]
    assert [list(row)[-3:-1] for row in found.itertuples()] == [[r["name"], r["n"]] for r in rows] != []


def queries(text: str) -> list[str]:
    """Those of a page."""
    return re.findall(r'\$ cbn query DIR "(.*?)"', text, re.DOTALL)


def test_all_queries_of_the_docs_are_answered(cbn_with_spark: Any, analysed: str) -> None:
    found = queries((ROOT / "docs" / "analysis.md").read_text(encoding="utf-8"))
    assert len(found) > 1
    for sql in found:
        done = cbn_with_spark("query", analysed, sql, "--json")
        assert done.returncode == 0, done.stderr


def test_counts_agree_with_the_verdict(cbn_with_spark: Any, analysed: str) -> None:
    asked = cbn_with_spark("query", analysed, "SELECT count(*) AS n FROM publications", "--json")
    assert json.loads(asked.stdout)["rows"] == [{"n": 20}]


def test_rows_beyond_the_limit_are_announced(cbn_with_spark: Any, analysed: str) -> None:
    few = cbn_with_spark("query", analysed, "SELECT * FROM publications", "--csv", "--limit", "3")
    assert len(few.stdout.splitlines()) == 4
    assert "there are more rows than 3; --limit 0 prints all" in few.stderr
    every = cbn_with_spark("query", analysed, "SELECT * FROM publications", "--csv", "--limit", "0")
    assert len(every.stdout.splitlines()) == 21
    assert every.stderr == ""


@pytest.mark.parametrize(
    ("sql", "reported"),
    [
        ("SELECT * FROM nothing", "`nothing` cannot be found"),
        ("SELECT nowhere FROM nodes", "`nowhere` cannot be resolved"),
        ("SELECT name FROM nodes nodes nodes", "Syntax error"),
        ("DROP TABLE nodes", "expected a query, such as SELECT * FROM deliveries"),
    ],
)
def test_what_is_wrong_with_a_query_is_said_in_words(
    cbn_with_spark: Any, analysed: str, tmp_path: Path, sql: str, reported: str
) -> None:
    done = cbn_with_spark("query", analysed, sql)
    assert done.returncode == 2
    assert reported in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "spark-warehouse").exists()


def test_the_runs_of_a_matrix_are_asked_together(cbn_with_spark: Any, tiny: Path) -> None:
    tiny.write_text(tiny.read_text() + "matrix: {scheme: [pif, psf]}\n")
    cbn_with_spark("run", tiny, "--world", "sim", "--analyze", "--out", "many", "--quiet")
    sql = "SELECT cell, count(*) AS n FROM publications GROUP BY cell ORDER BY cell"
    asked = json.loads(cbn_with_spark("query", "many", sql, "--json").stdout)
    assert asked["rows"] == [{"cell": "scheme=pif", "n": 20}, {"cell": "scheme=psf", "n": 20}]


def test_a_run_that_is_not_analysed_is_told_what_to_do(cbn_with_spark: Any, tiny: Path) -> None:
    cbn_with_spark("run", tiny, "--world", "sim", "--out", "plain", "--quiet")
    done = cbn_with_spark("query", "plain", "SELECT 1")
    assert done.returncode == 2
    assert "plain has no tables yet: `cbn analyze plain` makes them" in done.stderr

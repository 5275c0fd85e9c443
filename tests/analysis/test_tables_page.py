"""The page of tables, `analysis.catalog` and what an analysis writes say the same.

After a change of the catalog: CBN_WRITE_GOLDENS=1 python -m pytest tests/analysis/test_tables_page.py
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.catalog.page import TABLES, to_page
from analysis.pipeline import analyze
from analysis.querying import tables_of
from tests.judge.runs import carry_out
from tests.judge.scenarios import draw

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
SEED = 707
"""Of a run with faults, phases and links that lose."""


def test_the_page_is_what_the_catalog_makes_of_it():
    if os.environ.get("CBN_WRITE_GOLDENS"):
        PAGE.write_text(to_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == to_page(), "see this file's docstring"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_has_one_sentence_and_no_other_of_its_table_has_its_name(table):
    assert table.rows.endswith(".")
    names = [column.name for column in table.columns]
    assert len(set(names)) == len(names)
    for column in table.columns:
        assert column.says[0].isupper() or column.says.startswith("`"), column
        assert column.says.endswith("."), column
        assert not column.name.endswith("_ns") or column.unit == "ns", column


@pytest.fixture(scope="module")
def analysed(spark, tmp_path_factory) -> Path:
    run = carry_out(draw(SEED), tmp_path_factory.mktemp("run"))
    analyze(run)
    return run


@pytest.mark.spark
def test_an_analysis_writes_the_tables_and_columns_that_the_page_lists(analysed):
    written = tables_of(analysed)
    assert list(written) == sorted(table.name for table in TABLES)
    for table in TABLES:
        for part in written[table.name].rglob("*.parquet"):
            found = [(field.name, str(field.type)) for field in pq.read_schema(part)]
            said = [(column.name, str(column.type)) for column in table.columns]
            assert [_plain(*each) for each in found] == [_plain(*each) for each in said], table.name


def _plain(name: str, kind: str) -> tuple[str, str]:
    """What lists and maps call their elements differs between Arrow and Parquet."""
    return name, re.sub(r" \('\w+'\)", "", kind.replace("<element:", "<item:"))


@pytest.mark.spark
def test_a_column_is_null_only_if_its_sentence_speaks_of_it(analysed):
    written = tables_of(analysed)
    for table in TABLES:
        rows = pq.read_table(written[table.name])
        for column in table.columns:
            assert not rows[column.name].null_count or "null" in column.says, (table.name, column.name)

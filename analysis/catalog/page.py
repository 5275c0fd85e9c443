"""The page `docs/tables.md`, made of what is known of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from analysis.catalog import course, matchmaker, messages, network
from analysis.catalog.model import BYTES, DOUBLE, FLAG, INT, LONG, TEXT, Table

TABLES: tuple[Table, ...] = (*network.TABLES, *course.TABLES, *matchmaker.TABLES, *messages.TABLES)
"""All of them, in the order of the page."""
_NAMES = {INT: "int", LONG: "long", DOUBLE: "double", TEXT: "string", FLAG: "boolean", BYTES: "binary"}

_HEAD = """\
# Tables

<!-- Written by tests/analysis/test_tables_page.py from analysis/catalog. -->

`cbn analyze` writes these tables into `tables/` of the run directory. Each `tables/<name>.parquet` is a
directory of Parquet files, as Spark writes them. A column is never null unless its sentence says so. Moments
count from 1970-01-01 UTC on the run's clock ([run-directory.md](run-directory.md#time)). How the tables are
made, and what `owed`, `wanted` and the verdicts mean to the nanosecond: [analysis.md](analysis.md).
[Asking the tables](analysis.md#asking-the-tables) shows queries.

"""


def to_page(tables: Iterable[Table] = TABLES) -> str:
    """The page as Markdown."""
    tables = list(tables)
    index = "".join(f"| [`{t.name}`](#{t.name}) | {t.rows} |\n" for t in tables)
    return f"{_HEAD}| table | what a row is |\n|---|---|\n{index}" + "".join(map(_section, tables))


def _section(table: Table) -> str:
    head = f"\n## {table.name}\n\n{table.rows}\n\n| column | type | unit | |\n|---|---|---|---|\n"
    return head + "".join(_rows(table))


def _rows(table: Table) -> Iterator[str]:
    for column in table.columns:
        yield f"| `{column.name}` | {_type(column.type)} | {column.unit} | {column.says} |\n"


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list of {_type(kind.value_type)}"
    if pa.types.is_map(kind):
        return f"map of {_type(kind.key_type)} to {_type(kind.item_type)}"
    return "object" if pa.types.is_struct(kind) else _NAMES[kind]

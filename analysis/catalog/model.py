"""What is known of a table and of its columns.

Not here: the tables themselves (`messages`, `network`), and the page that is made of them
(`docs/tables.md`, by `page`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

INT, LONG, DOUBLE, TEXT, FLAG, BYTES = (
    pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.binary(),
)  # fmt: skip
"""The types that columns have."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    type: pa.DataType
    unit: str
    """Empty where there is none: of names, ids, conditions."""
    says: str
    """One sentence; it says when the column is null, if it ever is."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table."""

    name: str
    rows: str
    """One sentence: what a row is."""
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        """As Arrow and Parquet have it."""
        return pa.schema([(column.name, column.type) for column in self.columns])


def described(schema: pa.Schema, words: Mapping[str, tuple[str, str]]) -> tuple[Column, ...]:
    """The columns of a schema that is written down elsewhere, with unit and sentence by name."""
    return tuple(Column(field.name, field.type, *words[field.name]) for field in schema)

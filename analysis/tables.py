"""The tables of a run, read without Spark: in batches, as Arrow has them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds

MESSAGE_ID = ("source", "sequence")
"""The columns that say which message a row is about."""
PAIR = (*MESSAGE_ID, "subscriber")
"""The columns that say which message and client a row is about."""


def open_table(tables: Path, name: str) -> ds.Dataset:
    """One of them, by its name, from the folder that they are in."""
    return ds.dataset(str(tables / f"{name}.parquet"), format="parquet", exclude_invalid_files=True)

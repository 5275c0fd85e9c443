"""The tables of a run, read without Spark: in batches, as Arrow has them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds


def open_table(tables: Path, name: str) -> ds.Dataset:
    """One of them, by its name, from the folder that they are in."""
    return ds.dataset(str(tables / f"{name}.parquet"), format="parquet", exclude_invalid_files=True)

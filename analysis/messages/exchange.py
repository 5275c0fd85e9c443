"""Rows on their way from the tasks that read them to the tasks that judge them: files of batches by bucket.

A task writes one file a kind of row. Its batches are those of bucket 0, 1, ..., again and again: batch `i` is
of bucket `i % count`, so whoever reads a bucket needs no index.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from analysis.columns import Numbers

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def buckets_of(count: int, *key: Numbers) -> Numbers:
    """In which bucket each row is; equal keys are in the same one, and all have about as many keys."""
    mixed = np.zeros(len(key[0]), np.uint64)
    for column in key:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    found: Numbers = (mixed % np.uint64(count)).astype(np.int64)
    return found


class Writer:
    """One task's file of one kind of row."""

    def __init__(self, folder: Path, name: str, schema: pa.Schema, count: int) -> None:
        self._count = count
        self._schema = schema
        self._final = folder / f"{name}.arrow"
        self._partial = folder / f".{name}.{os.getpid()}"
        self._file = pa.ipc.new_file(self._partial, schema, options=_OPTIONS)

    def write(self, rows: pa.Table, buckets: Numbers) -> None:
        """Rows, and the bucket of each."""
        if not rows.num_rows:
            return
        if self._count > 1:
            narrow = np.uint8 if self._count <= np.iinfo(np.uint8).max else np.int64
            rows = rows.take(np.argsort(buckets.astype(narrow), kind="stable"))
        whole = rows.combine_chunks().to_batches()[0]
        sizes = np.bincount(buckets, minlength=self._count)
        begins = np.cumsum(sizes) - sizes
        for begin, size in zip(begins.tolist(), sizes.tolist(), strict=True):
            self._file.write_batch(whole.slice(begin, size))

    def __enter__(self) -> Self:
        """The file is there, whole, once all rows are written."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """If anything went wrong it never is."""
        self._file.close()
        if kind is None:
            self._partial.replace(self._final)


def rows_of(folder: Path, kind: str, schema: pa.Schema, bucket: int, count: int) -> pa.Table:
    """All rows of one kind in a bucket, in the order of the tasks that wrote them."""
    return pa.Table.from_batches(_batches(folder, kind, bucket, count), schema)


def _batches(folder: Path, kind: str, bucket: int, count: int) -> Iterator[pa.RecordBatch]:
    for path in sorted(folder.glob(f"{kind}-*.arrow")):
        with pa.memory_map(str(path)) as source:
            file = pa.ipc.open_file(source)
            yield from (file.get_batch(at) for at in range(bucket, file.num_record_batches, count))


def file_name(kind: str, task: int) -> str:
    """Of one task's file; in order of its number."""
    return f"{kind}-{task:06d}"

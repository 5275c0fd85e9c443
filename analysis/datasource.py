"""Captures as a table of Spark: `spark.read.format("cbnpcap")`, for notebooks and SQL.

    spark.dataSource.register(CbnCaptures)
    spark.read.format("cbnpcap").load("captures")

A row is a CBN packet: the columns that stand in a capture, and the capture's name as `interface`. There is no
plan here, so nobody knows which node is at which end: `cbn analyze` and `cbn ingest` say more.

Each split of a capture is a partition, as in `analysis.ingest`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from analysis import AnalysisError
from analysis.captured import files_of
from analysis.decode import SUFFIX, Piece, fits
from analysis.ingest import SPLIT_BYTES
from analysis.pieces import cut
from fastpath import pcap
from fastpath.pcap import decode_batches

NAME = "cbnpcap"
SUFFIXES = (".pcap", ".pcapng", ".cap", ".gz", ".zst")
"""Of the files that are read if a folder is named."""
COLUMNS = pa.schema([("interface", pa.string()), *pcap.SCHEMA])
_OPTIONS = ("path", "columns", "split_bytes")


class CbnCaptures(DataSource):
    """Captures of CBN traffic, plain or compressed.

    Options:
        path: a file, a folder of captures, or several of them with commas between; what `load` is given.
        columns: the columns wanted, with commas between, in this order; default: all. Others are not made.
        split_bytes: the size of a partition; default: 64 MiB.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return NAME

    def schema(self) -> StructType:
        """The columns wanted, of `COLUMNS`."""
        return from_arrow_schema(pa.schema([COLUMNS.field(name) for name in _wanted(self.options)]))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads them; `schema` may be one that a person has given, with fewer columns."""
        return _Reader(dict(self.options), tuple(schema.names))


@dataclass
class _Split(InputPartition):
    """A range of records of one capture."""

    piece: Piece

    def __init__(self, piece: Piece) -> None:
        super().__init__(piece)
        self.piece = piece


class _Reader(DataSourceReader):
    def __init__(self, options: Mapping[str, str], names: tuple[str, ...]) -> None:
        unknown = [name for name in names if name not in COLUMNS.names]
        if unknown:
            raise AnalysisError(f"no column {unknown[0]!r}; there are {', '.join(COLUMNS.names)}")
        self._names = names
        self._paths = _paths(options)
        self._split_bytes = _split_bytes(options)

    def partitions(self) -> list[InputPartition]:
        """The splits of all captures."""
        pieces, work = cut(files_of(self._paths).pieces, self._split_bytes, ())
        if work.problems:
            raise AnalysisError("; ".join(work.problems))
        return [_Split(piece) for piece in pieces]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one split, batch by batch."""
        assert isinstance(partition, _Split)
        piece = partition.piece
        decoding = decode_batches(piece.path, piece.start, piece.end)
        for batch in decoding:
            columns = [self._column(name, piece, batch) for name in self._names]
            yield pa.RecordBatch.from_arrays(columns, names=list(self._names))
        if not fits(piece, decoding.edges):
            index = f"{piece.path}{SUFFIX}"
            raise AnalysisError(
                f"{piece.path} was split wrongly: its index is wrong (delete {index}), or it grew"
            )

    @staticmethod
    def _column(name: str, piece: Piece, batch: pa.RecordBatch) -> pa.Array:
        if name == "interface":
            return pa.repeat(pa.scalar(piece.interface, pa.string()), batch.num_rows)
        return batch[name]


def _wanted(options: Mapping[str, str]) -> list[str]:
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise AnalysisError(f"no option {unknown[0]!r}; there are {', '.join(_OPTIONS)}")
    names = [name.strip() for name in options.get("columns", ",".join(COLUMNS.names)).split(",")]
    for name in names:
        if name not in COLUMNS.names:
            raise AnalysisError(f"no column {name!r}; there are {', '.join(COLUMNS.names)}")
    return names


def _split_bytes(options: Mapping[str, str]) -> int:
    text = options.get("split_bytes", str(SPLIT_BYTES))
    if not text.isdecimal() or int(text) < 1:
        raise AnalysisError(f"split_bytes is {text!r}; expected a number of bytes")
    return int(text)


def _paths(options: Mapping[str, str]) -> list[Path]:
    named = [Path(text.strip()) for text in options.get("path", "").split(",") if text.strip()]
    if not named:
        raise AnalysisError("no path: name a capture or a folder of captures in load(...)")
    found = [each for path in named for each in (_captures_in(path) if path.is_dir() else [path])]
    if not found:
        raise AnalysisError(f"{named[0]}: no captures in it; their names end with {', '.join(SUFFIXES)}")
    return found


def _captures_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())

"""`cbn query`: SQL over the tables of a run, or of all runs of a matrix."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import RUNS, Command, add_json, add_spark, asked_of_spark, count
from testbed.cli.output import columns, print_json

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 100
_HELP = """\
examples:
  cbn query runs/one "SELECT count(*) FROM deliveries"
  cbn query DIR "SELECT name, count(*) FROM packets JOIN nodes USING (node_id) GROUP BY name"
  cbn query DIR "DESCRIBE deliveries"
      its columns; docs/tables.md explains them
  cbn query runs/sweep-sim-20260101T120000Z "SELECT cell, count(*) FROM deliveries GROUP BY cell"
      the runs of a matrix together; `cell` says of which a row is
  cbn query DIR "SELECT * FROM packets" --csv --limit 0 > packets.csv

The tables are those that `cbn analyze` makes; the SQL is that of Spark. docs/analysis.md
has the same for DuckDB and pandas.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="a run directory, or that of a matrix")
    parser.add_argument("sql", metavar="SQL", help="a query; the tables of the run are its tables")
    parser.add_argument(
        "--limit",
        type=lambda text: 0 if text == "0" else count(text),
        default=SHOWN,
        metavar="N",
        help=f"so many rows at most (default: {SHOWN}; 0: all)",
    )
    parser.add_argument("--csv", action="store_true", help="print CSV")
    add_spark(parser.add_argument_group("Spark"))
    add_json(parser)


def _query(args: argparse.Namespace) -> int:
    from testbed.cli.execution import check_analysable

    runs, asked = _runs(args.directory), asked_of_spark(args)
    check_analysable(asked)
    from analysis import AnalysisError
    from analysis.querying import query

    with exits.explained(AnalysisError):
        found = query(runs, args.sql, args.limit, asked)
    more = args.limit > 0 and found.num_rows > args.limit
    _print(found.slice(0, args.limit) if more else found, args)
    if more:
        print(f"cbn: there are more rows than {args.limit:,}; --limit 0 prints all", file=sys.stderr)
    return exits.OK


def _runs(directory: Path) -> dict[str, Path]:
    """The analysed runs in a directory; a single one has no name.

    Raises:
        CommandError: There is none.
    """
    from testbed.cli.folder import MATRIX, known_cells
    from testbed.plan.recorded import RecordedRunError, read_manifest

    if (directory / MATRIX).is_file():
        runs = {name: directory / name for name in known_cells(directory)}
    else:
        with exits.explained(RecordedRunError):
            read_manifest(directory)
        runs = {"": directory}
    analysed = {name: path for name, path in runs.items() if any((path / "tables").glob("*.parquet"))}
    if not analysed:
        raise exits.CommandError(f"{directory} has no tables yet: `cbn analyze {directory}` makes them")
    return analysed


def _print(found: pa.Table, args: argparse.Namespace) -> None:
    names, rows = found.column_names, found.to_pylist(maps_as_pydicts="strict")
    if args.json:
        print_json({"columns": names, "rows": [{name: _plain(row[name]) for name in names} for row in rows]})
    elif args.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_text(row[name], "") for name in names] for row in rows)
    else:
        texts = [[_text(row[name], "NULL") for name in names] for row in rows]
        print("\n".join(columns(names, texts, every=True)))


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def _text(value: Any, nothing: str) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(each, nothing)}" for key, each in value.items())
    return nothing if value is None else str(_plain(value))


COMMAND = Command("ask the tables of a run, in SQL", _arguments, _query, RUNS, _HELP)

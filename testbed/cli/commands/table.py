"""`cbn table`: the table of the runs of a matrix, without running or analysing anything."""

from __future__ import annotations

import argparse
from pathlib import Path

from testbed.cli import exits
from testbed.cli.command import RUNS, Command, add_json, add_table

_HELP = """\
examples:
  cbn table runs/schemes-sim-20260101T120000Z
      as `cbn run` printed it
  cbn table DIR --columns p99,control_bytes,wasted,state_bytes
      what the schemes cost; the last two need an analysis (cbn analyze DIR)
  cbn table DIR --csv > schemes.csv
      all columns, in nanoseconds and bytes, for plots

Runs that differ in the seed alone make one line: the mean of n runs, and half the
95 % confidence interval (Student's t). Columns: wanted owed delivered missing
duplicate spurious lost unknown delivery_ratio judged p50 p99 control_bytes
control_packets message_bytes message_packets crossings wasted ideal_ratio state_bytes
outcome verdict fidelity expectations passed.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the folder of a matrix")
    add_table(parser)
    add_json(parser)


def _table(args: argparse.Namespace) -> int:
    from testbed.cli.folder import known_cells, read_note
    from testbed.cli.matrix import about_folder, report
    from testbed.cli.table import row_of

    folder = args.directory
    read_note(folder)
    rows = [row_of(name, values, folder / name) for name, values in known_cells(folder).items()]
    if not rows:
        raise exits.CommandError(f"{folder}: no runs of a matrix are noted there")
    report(args, folder, about_folder(folder), rows)
    return exits.OK


COMMAND = Command("print the table of the runs of a matrix", _arguments, _table, RUNS, _HELP)

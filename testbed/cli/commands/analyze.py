"""`cbn analyze`: the verdict over a run, as a table or as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path

from testbed.cli import exits
from testbed.cli.command import RUNS, Command, add_json, add_quiet, add_spark, add_table, asked_of_spark
from testbed.cli.output import print_json
from testbed.cli.progress import progress

_HELP = """\
examples:
  cbn analyze runs/quickstart-sim-20260101T120000Z-1a2b
  cbn analyze DIR --json | jq .missing
  cbn analyze DIR --master spark://HOST:7077 --conf spark.executor.memory=4g
      on a cluster; `cbn spark up` starts one on this machine
  cbn analyze runs/schemes-sim-20260101T120000Z
      all runs of a matrix, and their table

Writes tables/*.parquet, verdict.json and report.html into the run directory.
Needs PySpark, and Java 17 unless --master is sc:// (cbn doctor). Exit code 1 means: analysed, and some
delivery is missing, duplicate or spurious, or too little could be judged, or there
are reasons to doubt the counts.
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="a run directory, or that of a matrix")
    add_table(parser)
    add_spark(parser.add_argument_group("Spark"))
    add_json(parser)
    add_quiet(parser)


def _analyze(args: argparse.Namespace) -> int:
    from analysis.expectations import passed
    from testbed.cli.execution import analyse, print_verdict
    from testbed.cli.folder import MATRIX
    from testbed.cli.matrix import analyse_matrix
    from testbed.plan.recorded import RecordedRunError, read_manifest

    if (args.directory / MATRIX).is_file():
        return analyse_matrix(args)
    if args.csv or args.columns:
        raise exits.CommandError("--csv and --columns are for the table of a matrix, and this is one run")
    with exits.explained(RecordedRunError):
        read_manifest(args.directory)
    with progress(args.quiet) as shown:
        verdict = analyse(args.directory, shown, asked_of_spark(args))
    if args.json:
        print_json(verdict)
    else:
        print_verdict(args.directory, verdict)
    return exits.OK if passed(verdict) else exits.NOT_CLEAN


COMMAND = Command("compare a run with what should have happened", _arguments, _analyze, RUNS, _HELP)

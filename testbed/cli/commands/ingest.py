"""`cbn ingest`: what captures say that no run of ours made."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import RUNS, Command, add_json, add_quiet, add_spark, asked_of_spark
from testbed.cli.output import columns, show
from testbed.cli.progress import progress
from topologies.quantities import how_many

if TYPE_CHECKING:
    from analysis.numbered_tasks import Tasks
    from testbed.runs.world import Progress

_HELP = """\
examples:
  cbn ingest r1-eth0.pcap r1-eth1.pcap r2-eth0.pcapng.gz
      packets, messages by publisher, and latencies from one capture to the next
  cbn ingest *.pcap --out tables
      the same, kept: packets.parquet, steps.parquet and summary.json in tables/;
      again later, only what is new or has changed is read
  cbn ingest *.pcap --json | jq .steps
  cbn ingest /shared/*.pcap --out /shared/tables --master spark://HOST:7077
      by the workers of a cluster, which see the same folders

For captures of one network that come without a run directory: cbn analyze says
more of those that have one. A capture has the name of its file. Named
<router>-eth<number>.pcap, captures of one router are known to be of one router.
"""
_SHOWN = 20


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="a capture: pcap or pcapng, as it is or compressed by gzip or zstd",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the tables and the summary in DIR")
    add_spark(parser.add_argument_group("Spark; without --master the cores of this machine do the work"))
    add_json(parser)
    add_quiet(parser)


def _ingest(args: argparse.Namespace) -> int:
    with progress(args.quiet) as shown:
        document = _document(args, shown)
    return show(args.json, document, "\n".join(_lines(document)))


def _document(args: argparse.Namespace, shown: Progress) -> dict[str, Any]:
    from testbed.cli.execution import check_installed

    check_installed()
    from analysis import AnalysisError
    from analysis.captured import files_of, read_captures

    try:
        with exits.explained(AnalysisError):
            files = files_of(args.files)
            tasks, cores = _tasks(args, shown)
            return read_captures(files, args.out, tasks, cores)
    except OSError as error:
        raise exits.CommandError(f"{error.filename}: {error.strerror}", exits.FAILED) from error


def _tasks(args: argparse.Namespace, shown: Progress) -> tuple[Tasks, int]:
    """Where the work is done, and by how many at a time."""
    import os

    from analysis.numbered_tasks import in_threads

    asked = asked_of_spark(args)
    if not args.master:
        if asked.settings or asked.event_log:
            raise exits.CommandError("--conf and --event-log are for Spark: with --master alone")
        cores = os.cpu_count() or 1
        return in_threads(cores, shown), cores
    from analysis.session import parallelism, runs_here, start_session
    from analysis.spark_tasks import on_spark
    from analysis.workers import check_workers
    from testbed.cli.execution import check_analysable

    check_analysable(asked)
    shown.phase("spark")
    spark = start_session(sum(path.stat().st_size for path in args.files), asked)
    if args.out is None and not runs_here(spark):
        raise exits.CommandError(
            f"workers of {args.master} write to a folder that all of them see: name one with --out"
        )
    check_workers(spark)
    return on_spark(spark), parallelism(spark)


def _lines(document: Mapping[str, Any]) -> list[str]:
    """The summary for people."""
    skipped = ", ".join(f"{count:,} {reason}" for reason, count in document["skipped"].items())
    packets, records = how_many(document["packets"], "packet"), how_many(document["records"], "record")
    lines = [
        f"{packets} in {records} of {how_many(len(document['captures']), 'capture')}",
        *([f"not read: {skipped}"] if skipped else []),
        *_section("", ["packets of type", "", "number", "bytes"], map(_kind, document["kinds"])),
    ]
    if document["messages"]:
        heads = ["publisher", "messages", "seen on entry"]
        lines += _section(
            how_many(document["messages"], "message"), heads, map(_publisher, document["publishers"])
        )
    heads = ["from", "to", "over", "messages", "min", "p50", "p99", "max"]
    lines += _section("From one capture to the next", heads, map(_step, document["steps"]))
    heads = ["host", "ahead", "drift", "sure to", "residual"]
    lines += _section("Clocks, from messages in both directions", heads, map(_clock, document["clocks"]))
    for title, key in (("Problems", "problems"), ("Notes", "notes"), ("Unknown", "unknown")):
        lines += ["", f"{title}:", *(f"  {text}" for text in document[key])] if document[key] else []
    return lines


def _section(title: str, heads: Sequence[str], rows: Any) -> list[str]:
    rows = list(rows)
    if not rows:
        return []
    more = [f"  ... and {len(rows) - _SHOWN:,} more (--json has all)"] if len(rows) > _SHOWN else []
    return ["", *([f"{title}:"] if title else []), *columns(heads, rows[:_SHOWN]), *more]


def _kind(row: Mapping[str, Any]) -> list[str]:
    return [row["type"], row["kind"] or "", f"{row['packets']:,}", f"{row['bytes']:,}"]


def _publisher(row: Mapping[str, Any]) -> list[str]:
    return [str(row["publisher"]), f"{row['messages']:,}", f"{row['seen_with_hop_count_0']:,}"]


def _step(row: Mapping[str, Any]) -> list[str]:
    from topologies.quantities import duration_text

    times = [duration_text(row[f"{name}_ns"]) for name in ("min", "p50", "p99", "max")]
    return [row["from"], row["to"], row["over"], f"{row['messages']:,}", *times]


def _clock(row: Mapping[str, Any]) -> list[str]:
    from topologies.quantities import duration_text

    if not row["even"]:
        return [row["host"], "was set", "", "", duration_text(row["residual_ns"])]
    if row["uncertainty_ns"] is None:
        return [row["host"], "unknown", "", "", ""]
    times = [duration_text(row[f"{name}_ns"]) for name in ("offset", "uncertainty", "residual")]
    return [row["host"], times[0], f"{row['drift_ppm']:+.1f} ppm", *times[1:]]


COMMAND = Command("say what captures show that come without a run", _arguments, _ingest, RUNS, _HELP)

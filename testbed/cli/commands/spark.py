"""`cbn spark`: Spark clusters on this machine, for sweeps, campaigns and analyses."""

from __future__ import annotations

import argparse
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import MACHINE, Command, add_json, count
from testbed.cli.output import columns, print_json, show
from topologies.quantities import age_text, how_many

if TYPE_CHECKING:
    from analysis.standalone import Cluster

_HELP = """\
examples:
  cbn spark up --workers 2
      a master and two workers, on 127.0.0.1; prints the master's URL
  cbn run sweep.yaml --on spark://127.0.0.1:PORT
  cbn analyze DIR --master spark://127.0.0.1:PORT
  cbn spark up --connect
      a server of Spark Connect instead: with --master sc://127.0.0.1:PORT small runs are
      analysed at once, because Spark has started already; not for --on
  cbn spark down
  cbn spark archive
      keep the Java classes that Spark loads (116 MB, half a minute, once): then Spark starts in
      half the time on this machine. `make build` does so

Anybody who can log in to this machine can use such a cluster. It needs Java 17 and PySpark.
"""
_HEADINGS = ("NAME", "MASTER", "WORKERS", "CORES", "MEMORY", "AGE", "LOGS")
_STAMP = "spark-%Y%m%dT%H%M%SZ"


def _up_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=count, default=2, metavar="N", help="how many (default: 2)")
    parser.add_argument(
        "--cores", type=count, metavar="N", help="of each worker (default: this machine's, shared out)"
    )
    parser.add_argument(
        "--memory", type=count, default=1024, metavar="MB", help="of each worker, in MiB (default: 1024)"
    )
    parser.add_argument(
        "--connect",
        action="store_true",
        help="a server of Spark Connect instead, which answers small runs at once",
    )
    parser.add_argument(
        "--logs", type=Path, metavar="DIR", help="where its logs are kept (default: runs/spark-<time>)"
    )
    add_json(parser)


def _up(args: argparse.Namespace) -> int:
    from testbed.cli.execution import RUNS, check_analysable

    check_analysable()
    from analysis import AnalysisError
    from analysis.standalone import Wanted, start

    cores = args.cores or max(1, (os.cpu_count() or 1) // args.workers)
    logs = args.logs or RUNS / datetime.now(UTC).strftime(_STAMP)
    try:
        cluster = start(Wanted(args.workers, cores, args.memory, args.connect, logs))
    except (AnalysisError, OSError) as error:
        raise exits.CommandError(str(error), exits.FAILED) from error
    return show(args.json, _plain(cluster), _started(cluster))


def _started(cluster: Cluster) -> str:
    size = f"each with {how_many(cluster.cores, 'core')} and {cluster.memory_mb} MiB"
    what = "a Spark cluster with" if cluster.page else "a server of Spark Connect, as"
    lines = [f"{cluster.name}: {what} {how_many(cluster.workers, 'worker')}, {size}"]
    lines += [f"  cbn run SWEEP --on {cluster.master}"] if cluster.page else []
    lines += [f"  cbn analyze DIR --master {cluster.master}"]
    lines += [f"page: {cluster.page}"] if cluster.page else []
    lines += [f"logs: {cluster.logs}", f"`cbn spark down {cluster.name}` ends it"]
    return "\n".join(lines)


def _plain(cluster: Cluster) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "master": cluster.master,
        "page": cluster.page or None,
        "workers": cluster.workers,
        "workers_alive": cluster.answers(),
        "worker_pids": list(cluster.worker_pids),
        "cores": cluster.cores,
        "memory_mb": cluster.memory_mb,
        "age_s": round(max(0, time.time_ns() - cluster.started_ns) / 1e9, 1),
        "logs": cluster.logs,
    }


def _ps(args: argparse.Namespace) -> int:
    from analysis.standalone import clusters

    rows = [_plain(cluster) for cluster in clusters()]
    if args.json:
        print_json({"clusters": rows})
    elif rows:
        print("\n".join(columns(_HEADINGS, [_shown(row) for row in rows])))
    else:
        print("no Spark cluster of cbn is running; `cbn spark up` starts one")
    return exits.OK


def _shown(row: dict[str, Any]) -> tuple[str, ...]:
    workers = str(row["workers"])
    if row["workers_alive"] != row["workers"]:
        workers = f"{row['workers_alive']} of {row['workers']}"
    size = (workers, str(row["cores"]), f"{row['memory_mb']} MiB")
    return (row["name"], row["master"], *size, age_text(row["age_s"]), row["logs"])


def _down_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="which (default: the only one)")
    add_json(parser)


def _down(args: argparse.Namespace) -> int:
    from analysis.standalone import stop

    cluster = _named(args.name)
    try:
        ended = stop(cluster)
    except PermissionError as error:
        raise exits.CommandError(f"{cluster.name} is not yours: use sudo", exits.MACHINE) from error
    if not ended:
        raise exits.CommandError(
            f"{cluster.name} has not ended in time; its logs: {cluster.logs}", exits.FAILED
        )
    return show(
        args.json,
        {"name": cluster.name, "logs": cluster.logs},
        f"{cluster.name}: ended; logs: {cluster.logs}",
    )


def _archive(args: argparse.Namespace) -> int:
    from testbed.cli.execution import check_analysable

    check_analysable()
    from analysis import AnalysisError, archive

    started = time.monotonic()
    try:
        path = archive.make(_analyse_quickstart)
    except (AnalysisError, OSError) as error:
        raise exits.CommandError(str(error), exits.FAILED) from error
    took_s, size_mb = round(time.monotonic() - started, 1), round(path.stat().st_size / 1e6)
    plain = {"path": str(path), "megabytes": size_mb, "seconds": took_s}
    return show(args.json, plain, f"Spark's classes are in {path}: {size_mb} MB, in {took_s:.0f} s")


def _analyse_quickstart(words_for_java: str) -> None:
    """Simulate the quickstart and analyse it, so that Java loads what analyses need."""
    from analysis.settings import JAVA_OPTIONS, Asked, java_options
    from testbed.cli.execution import analyse
    from testbed.cli.progress import progress
    from testbed.cli.scenario import find
    from testbed.plan.load import load_plan
    from testbed.runs.conduct import conduct
    from testbed.runs.directory import RunDirectory
    from testbed.sim.world import SimulatedWorld

    asked = Asked("local[*]", {JAVA_OPTIONS: f"{java_options(small=True)} {words_for_java}"})
    with TemporaryDirectory() as folder, progress(quiet=True) as shown:
        directory = RunDirectory.create(Path(folder) / "run", "archive")
        conduct(load_plan(find("quickstart")), SimulatedWorld(), directory, shown, scenario=None)
        analyse(directory.path, shown, asked)


def _named(name: str | None) -> Cluster:
    """The cluster that is meant.

    Raises:
        CommandError: There is none, or it is not clear which.
    """
    from analysis.standalone import clusters

    there = clusters()
    chosen = [cluster for cluster in there if name in (None, cluster.name)]
    if len(chosen) == 1:
        return chosen[0]
    known = ", ".join(cluster.name for cluster in there) or "none"
    raise exits.CommandError(f"which Spark cluster? Running: {known}")


COMMAND = Command(
    "start, list and end Spark clusters on this machine",
    group=MACHINE,
    help=_HELP,
    commands={
        "up": Command("start a master and workers", _up_arguments, _up),
        "ps": Command("list the clusters that are running", add_json, _ps),
        "archive": Command("keep Spark's classes, so that analyses start sooner", add_json, _archive),
        "down": Command("end a cluster", _down_arguments, _down),
    },
)

"""Spark clusters on this machine: what `cbn spark` starts and ends, and what a lost worker costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyspark
import pytest

from analysis.standalone import Cluster, Wanted, clusters, start, stop
from nodes.processes import OWNER_MARK, SCRATCH, Owner, environment_of

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]
PATIENCE_S = 90.0
MANY = """\
name: many
parameters: {size: 3}
matrix: {scheme: [pif, psf], size: [3, 4, 5], repeat: 5}
topology: {generate: ring, size: "${size}"}
populations:
  sub: {count: 4, subscribe: [all]}
  pub: {count: 1, publish: [{message: x = 1, every: 1ms, count: 20}]}
"""
ONE = MANY.replace("matrix: {scheme: [pif, psf], size: [3, 4, 5], repeat: 5}\n", "")


def cbn(*arguments: object, cwd: Path) -> list[str]:
    """A command in a process of its own: this one has a session already."""
    done = subprocess.run(
        [sys.executable, "-m", "testbed.cli", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


OLDER = (
    "import sys, pyspark; pyspark.__version__ = '3.0.0'\nfrom testbed.cli.main import main; sys.exit(main())"
)
"""A command that takes itself for one with another version of Spark."""


def failing(*arguments: object, cwd: Path, program: Sequence[str] = ("-m", "testbed.cli")) -> str:
    """What a command says that fails."""
    done = subprocess.run(
        [sys.executable, *program, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    return done.stderr


def killing(pid: int, when: str, *arguments: object, cwd: Path) -> None:
    """A command, and kill a process as soon as the command says these words."""
    with subprocess.Popen(
        [sys.executable, "-m", "testbed.cli", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if when in line:
                os.kill(pid, signal.SIGKILL)
                break
        said = process.stderr.read()
    assert process.returncode == 0, said


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what


def tables(run: Path) -> dict[str, list[str]]:
    """All rows of all tables, in an order of their own."""
    return {
        path.name: sorted(map(str, pq.read_table(path).to_pylist()))
        for path in sorted((run / "tables").iterdir())
    }


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    started = start(Wanted(workers=2, cores=1, memory_mb=1024, connect=False, logs=tmp_path / "logs"))
    yield started
    assert stop(started)


def test_an_analysis_gives_the_same_tables_on_one_machine_and_when_a_worker_is_killed(
    tmp_path: Path, cluster: Cluster
) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    for name in ("local", "killed"):
        cbn("run", "one.yaml", "--world", "sim", "--out", name, cwd=tmp_path)
    cbn("analyze", "local", "--master", "local[2]", cwd=tmp_path)
    killed = ("analyze", "killed", "--master", cluster.master)
    killing(cluster.worker_pids[0], "computing the tables", *killed, cwd=tmp_path)
    assert cluster.answers() == 1
    assert tables(tmp_path / "killed") == tables(tmp_path / "local") != {}
    record = json.loads((tmp_path / "killed" / "logs" / "analysis.json").read_text())
    assert record["master"] == cluster.master
    assert record["settings"]["spark.executor.memory"] == "1024m"


def test_an_analysis_by_spark_connect_gives_the_same_tables_and_verdict(tmp_path: Path) -> None:
    server = start(Wanted(workers=2, cores=1, memory_mb=512, connect=True, logs=tmp_path / "logs"))
    try:
        (tmp_path / "one.yaml").write_text(ONE)
        for name, master in (("local", "local[2]"), ("connect", server.master)):
            cbn("run", "one.yaml", "--world", "sim", "--out", name, cwd=tmp_path)
            cbn("analyze", name, "--master", master, cwd=tmp_path)
        refused = ("analyze", "connect", "--master", server.master, "--conf", "spark.driver.memory=1g")
        assert "spark.driver.memory: this belongs to the server of Spark Connect" in failing(
            *refused, cwd=tmp_path
        )
        query = ("query", "connect", "SELECT * FROM nothing", "--master", server.master)
        assert "`nothing` cannot be found" in failing(*query, cwd=tmp_path)
        assert not Path("spark-warehouse").exists()
        older = ("analyze", "connect", "--master", server.master)
        said = failing(*older, cwd=tmp_path, program=("-c", OLDER))
        assert f"{server.master} has Spark {pyspark.__version__}, and here is 3.0.0: install the same" in said
    finally:
        assert stop(server)
    assert tables(tmp_path / "connect") == tables(tmp_path / "local") != {}
    verdicts = [json.loads((tmp_path / name / "verdict.json").read_text()) for name in ("connect", "local")]
    assert verdicts[0] == verdicts[1]
    record = json.loads((tmp_path / "connect" / "logs" / "analysis.json").read_text())
    assert record["master"] == "Spark Connect"


def test_settings_that_are_asked_for_are_in_force_and_recorded_and_history_is_kept(
    tmp_path: Path,
) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    cbn("run", "one.yaml", "--world", "sim", "--out", "run", cwd=tmp_path)
    asked = ("--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=3", "--event-log", "history")
    cbn("analyze", "run", *asked, cwd=tmp_path)
    record = json.loads((tmp_path / "run" / "logs" / "analysis.json").read_text())
    assert record["settings"]["spark.sql.shuffle.partitions"] == "3"
    assert record["settings"]["spark.eventLog.enabled"] == "true"
    assert record["master"] == "local[1,4]"
    assert [path for path in (tmp_path / "history").rglob("*") if path.is_file() and path.stat().st_size]


def test_a_sweep_is_whole_when_a_worker_is_killed(tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "many.yaml").write_text(MANY)
    arguments = ("run", "many.yaml", "--on", cluster.master, "--out", "killed")
    killing(cluster.worker_pids[1], "complete (2 of 30)", *arguments, cwd=tmp_path)
    cbn("run", "many.yaml", "--world", "sim", "--jobs", "2", "--out", "whole", "--quiet", cwd=tmp_path)
    tables = [(tmp_path / name / "table.csv").read_bytes() for name in ("killed", "whole")]
    assert tables[0] == tables[1]
    for events in (tmp_path / "whole").glob("*/events.jsonl"):
        other = tmp_path / "killed" / events.parent.name / events.name
        assert other.read_bytes() == events.read_bytes()
    assert list((tmp_path / "killed").glob(".*")) == []


def test_nothing_of_a_cluster_outlives_its_owner(tmp_path: Path) -> None:
    started = start(Wanted(workers=1, cores=1, memory_mb=512, connect=False, logs=tmp_path / "logs"))
    owner = Owner.parse(started.owner)
    assert owner is not None
    assert processes_of(owner)
    os.kill(owner.pid, signal.SIGKILL)
    until(lambda: not processes_of(owner), "the cluster goes on")
    assert started.owner not in [cluster.owner for cluster in clusters()]
    (left,) = Path(tempfile.gettempdir()).glob(f"{SCRATCH}{owner.pid}.{owner.started_ticks}-*")
    cbn("clean", cwd=tmp_path)
    assert not left.exists()


def processes_of(owner: Owner) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return [pid for pid in pids if environment_of(pid).get(OWNER_MARK) == str(owner)]


def test_spark_is_started_listed_and_ended_from_the_command_line(tmp_path: Path) -> None:
    up = json.loads("\n".join(cbn("spark", "up", "--workers", "1", "--logs", "kept", "--json", cwd=tmp_path)))
    listed = [line for line in cbn("spark", "ps", cwd=tmp_path) if up["master"] in line]
    assert len(listed) == 1
    assert cbn("spark", "down", up["name"], cwd=tmp_path) == [f"kept: ended; logs: {tmp_path / 'kept'}"]
    assert not [line for line in cbn("spark", "ps", cwd=tmp_path) if up["master"] in line]
    assert {"owner.log", "master.log", "worker-1.log"} <= {
        path.name for path in (tmp_path / "kept").iterdir()
    }


def test_a_cluster_that_cannot_start_says_why(tmp_path: Path, capfd: Any) -> None:
    from analysis import AnalysisError

    with pytest.raises(AnalysisError, match=r"worker-1 ended with code 1; see .*worker-1\.log"):
        start(Wanted(workers=1, cores=1, memory_mb=0, connect=False, logs=tmp_path / "logs"))

"""Clusters and servers of Spark Connect come to the same tables and verdicts, also if a worker is lost.

`make judge ON=spark` and `ON=connect` do the same for as many runs as you want, and all that is planted.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.pipeline import analyze
from analysis.settings import MASTER_VARIABLE
from analysis.standalone import Cluster, clusters
from tests.judge.editing import Edited
from tests.judge.elsewhere import KINDS, cluster_of
from tests.judge.mutations import DEFECTS, SCENARIO
from tests.judge.runs import carry_out
from tests.judge.scenarios import SCHEMES, draw

pytestmark = [pytest.mark.sim, pytest.mark.spark]

PLANTED = ("altered payload", "a router's clock off by 50 ms", "a router's captures truncated")
RANDOM_RUNS = 2
ROOT = Path(__file__).parents[2]
ANALYZE = """
import sys
from pathlib import Path
from analysis.pipeline import Silence, analyze
class Told(Silence):
    def phase(self, name, total=None):
        print(name, flush=True)
for run in sys.argv[1:]:
    analyze(Path(run), progress=Told())
    print("analysed", flush=True)
"""


@pytest.fixture
def runs(seed: int, tmp_path: Path) -> Path:
    """A folder of runs: random ones, and one with a defect each."""
    folder = tmp_path / "runs"
    for number in range(RANDOM_RUNS):
        drawn = Random(f"{seed}/elsewhere/{number}").randrange(1_000_000)
        run = carry_out(draw(drawn, SCHEMES[drawn % len(SCHEMES)]), folder / f"drawn-{drawn}")
        run.rename(folder / f"run-{drawn}")
        shutil.rmtree(folder / f"drawn-{drawn}")
    whole = carry_out(SCENARIO, folder / "whole")
    for name in PLANTED:
        copy = Path(shutil.copytree(whole, folder / name.replace(" ", "-")))
        DEFECTS[name].plant(Edited(copy))
    shutil.rmtree(folder / "whole")
    return folder


@pytest.fixture
def here(spark: object, runs: Path, tmp_path: Path) -> Path:
    """The same runs, analysed in this process."""
    folder = Path(shutil.copytree(runs, tmp_path / "here"))
    for run in sorted(folder.iterdir()):
        analyze(run)
    return folder


def verdicts(folder: Path) -> dict[str, Any]:
    return {run.name: json.loads((run / "verdict.json").read_text()) for run in sorted(folder.iterdir())}


def tables(folder: Path) -> dict[str, list[str]]:
    """All rows of all tables, in an order of their own."""
    paths = sorted(folder.glob("*/tables/*.parquet"))
    return {
        str(path.relative_to(folder)): sorted(map(str, pq.read_table(path).to_pylist())) for path in paths
    }


def analysed(folder: Path, cluster: Cluster, kill_at: tuple[int, str] | None = None) -> None:
    """In one session of the cluster; a worker is killed as a phase of the n-th analysis begins."""
    command = [sys.executable, "-c", ANALYZE, *map(str, sorted(folder.iterdir()))]
    environment = os.environ | {"PYTHONPATH": str(ROOT), MASTER_VARIABLE: cluster.master}
    log = folder.with_suffix(".log")
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        done, killed = 0, False
        for line in process.stdout:
            done += line.strip() == "analysed"
            if kill_at == (done, line.strip()) and not killed:
                os.kill(cluster.worker_pids[0], signal.SIGKILL)
                killed = True
    assert process.returncode == 0, log.read_text()[-2000:]
    assert killed == (kill_at is not None)


@pytest.fixture(params=KINDS)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    with cluster_of(request.param, tmp_path / "logs") as started:
        yield started


def test_the_cluster_of_a_campaign_ends_with_it_if_the_campaign_is_terminated() -> None:
    command = [sys.executable, "-m", "tests.judge.elsewhere", "spark", "sleep", "600"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        master = process.stdout.readline().split()[-1]
        assert master in [cluster.master for cluster in clusters()]
        process.terminate()
        assert process.wait() == 128 + signal.SIGTERM
    assert master not in [cluster.master for cluster in clusters()]


@pytest.mark.timeout(600)
def test_a_cluster_comes_to_the_same_tables_and_verdicts_as_one_process(
    cluster: Cluster, runs: Path, here: Path, tmp_path: Path
) -> None:
    """Of the standalone cluster a worker is killed during the second analysis."""
    there = Path(shutil.copytree(runs, tmp_path / "there"))
    analysed(there, cluster, (1, "ingest") if cluster.worker_pids else None)
    assert cluster.answers() == (1 if cluster.worker_pids else cluster.workers)
    assert verdicts(there) == verdicts(here)
    assert tables(there) == tables(here) != {}
    for name in PLANTED:
        assert verdicts(there)[name.replace(" ", "-")]["checks"][DEFECTS[name].key], name

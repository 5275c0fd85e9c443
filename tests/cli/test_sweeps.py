"""`cbn run SWEEP --on MASTER`: the cells of a matrix as Spark tasks."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.cli import cells, exits
from testbed.cli.cells import CellTask, run_as_task
from testbed.cli.folder import Planned
from testbed.plan.load import read_scenario
from testbed.sim.world import SimulatedWorld

SWEEP = """\
name: sweep
parameters: {size: 3}
matrix:
  scheme: [pif, psf]
  size: [3, 5]
topology: {generate: ring, size: "${size}"}
populations:
  sub: {count: 4, subscribe: [all]}
  pub: {count: 1, publish: [{message: x = 1, every: 1ms, count: 20}]}
"""
DIFFERENT = ("run_id", "wall_s")
"""Of a manifest: what no two executions of a run have in common."""


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP)
    return path


@pytest.fixture
def task(sweep: Path, tmp_path: Path) -> CellTask:
    scenario = read_scenario(sweep)
    cell, plan = scenario.plans()[0]
    (tmp_path / "out").mkdir()
    token = tmp_path / "out" / ".token"
    token.touch()
    run = Planned(cell, plan, scenario.text, SimulatedWorld(), tmp_path / "out" / cell.name, True)
    return CellTask(run, "the-run", token)


def contents(folder: Path) -> dict[str, Any]:
    """All files of all runs; of manifests what two executions have in common."""
    found: dict[str, Any] = {}
    for path in sorted(p for p in folder.glob("*=*/**/*") if p.is_file()):
        name, data = str(path.relative_to(folder)), path.read_bytes()
        if path.name == "manifest.json":
            found[name] = {k: v for k, v in json.loads(data).items() if k not in DIFFERENT}
        else:
            found[name] = data
    return found


@pytest.mark.spark
def test_runs_as_tasks_are_the_same_bytes_as_in_processes(
    cbn_with_spark: Any, cbn: Any, sweep: Path, tmp_path: Path
) -> None:
    done = cbn_with_spark("run", sweep, "--on", "local[2]", "--out", "tasks")
    assert done.returncode == 0, done.stderr
    assert "4 runs in the world sim, as tasks of Spark on local[2], into tasks" in done.stderr
    assert "(4 of 4)" in done.stderr
    cbn("run", sweep, "--world", "sim", "--jobs", "2", "--out", "processes", "--quiet")
    assert contents(tmp_path / "tasks") == contents(tmp_path / "processes") != {}
    table = (tmp_path / "tasks" / "table.csv").read_text()
    assert table == (tmp_path / "processes" / "table.csv").read_text()
    assert [path.name for path in (tmp_path / "tasks").glob(".*")] == []


@pytest.mark.spark
def test_a_sweep_on_spark_goes_on_where_it_stopped(cbn_with_spark: Any, sweep: Path, tmp_path: Path) -> None:
    quietly = ("--on", "local[2]", "--quiet")
    assert cbn_with_spark("run", sweep, *quietly, "--out", "out", "--only", "size=3").returncode == 0
    before = {p: p.read_bytes() for p in (tmp_path / "out").glob("*/manifest.json")}
    assert len(before) == 2
    (tmp_path / "out" / ".sweep-spark-of-a-sweep-that-was-killed").touch()
    assert cbn_with_spark("run", sweep, *quietly, "--resume", "out").returncode == 0
    assert len(list((tmp_path / "out").glob("*/manifest.json"))) == 4
    assert {path: path.read_bytes() for path in before} == before
    assert list((tmp_path / "out").glob(".*")) == []


@pytest.mark.spark
def test_a_run_that_fails_is_named_with_the_command_that_repeats_it(
    cbn_with_spark: Any, sweep: Path, tmp_path: Path
) -> None:
    sweep.write_text(SWEEP.replace("  size: [3, 5]", "  timing.ready_timeout: [1ms, 60s]"))
    done = cbn_with_spark("run", sweep, "--on", "local[2]", "--only", "scheme=pif", "--out", "out")
    assert done.returncode == exits.FAILED
    again = "--only scheme=pif --only timing.ready_timeout=1ms --world sim --out sweep-again"
    assert f"[scheme=pif,timing.ready_timeout=1ms] again: cbn run {sweep} {again}" in done.stderr
    assert "was not ready" in done.stderr
    outcomes = [json.loads(p.read_text())["outcome"] for p in (tmp_path / "out").glob("*/manifest.json")]
    assert sorted(outcomes) == ["complete", "failed"]


@pytest.mark.sim
@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("--on", "local[2]", "--world", "emu"), "--on is for the simulator"),
        (("--on", "local[2]", "--jobs", "2"), "--jobs and --on: one of them"),
        (("--on", "sc://127.0.0.1:15002"), "Spark Connect cannot hand out runs"),
        (("--on", "spark://127.0.0.1:9"), "nothing answers at spark://127.0.0.1:9"),
    ],
)
def test_what_cannot_run_on_spark_is_refused(
    cbn: Any, sweep: Path, arguments: tuple[str, ...], reported: str
) -> None:
    done = cbn("run", sweep, *arguments, "--out", "out")
    assert done.returncode in (exits.USAGE, exits.FAILED)
    assert reported in done.stderr


@pytest.mark.sim
def test_a_second_attempt_of_a_task_leaves_the_result_of_the_first(task: CellTask) -> None:
    assert run_as_task(task).code == exits.OK
    before = {path: path.stat().st_mtime_ns for path in task.run.directory.rglob("*")}
    assert run_as_task(task).code == exits.OK
    assert {path: path.stat().st_mtime_ns for path in task.run.directory.rglob("*")} == before
    assert sorted(p.name for p in task.token.parent.iterdir()) == [".token", task.run.cell.name]


@pytest.mark.sim
def test_a_task_removes_no_file_that_it_has_made(task: CellTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """On ext4 files that were just removed make it slow to make others, and a cell makes some 50."""
    removed: list[str] = []
    unlink, replace_file = os.unlink, os.replace

    def counted_unlink(path: Path, *args: Any, **kwargs: Any) -> None:
        unlink(path, *args, **kwargs)
        removed.append(str(path))

    def counted_replace(source: Path, target: Path) -> None:
        removed.extend([str(target)] * Path(target).exists())
        replace_file(source, target)

    monkeypatch.setattr(os, "unlink", counted_unlink)
    monkeypatch.setattr(os, "replace", counted_replace)
    assert run_as_task(task).code == exits.OK
    assert removed == []


@pytest.mark.sim
def test_a_task_replaces_a_run_that_was_not_complete_by_a_whole_one(task: CellTask) -> None:
    run_as_task(replace(task, run_id="an-earlier-one"))
    (task.run.directory / "judged.json").unlink()
    assert run_as_task(task).code == exits.OK
    assert json.loads((task.run.directory / "manifest.json").read_text())["run_id"] == "the-run"
    assert (task.run.directory / "judged.json").exists()


@pytest.mark.sim
def test_a_worker_that_has_another_folder_says_so_and_writes_nothing(task: CellTask) -> None:
    task.token.unlink()
    ended = run_as_task(task)
    assert ended.code == exits.MACHINE
    assert "workers on other machines need it under the same path" in ended.said[0]
    assert list(task.token.parent.iterdir()) == []


@pytest.mark.sim
def test_a_defect_in_a_task_is_told_and_leaves_nothing_half_made(
    task: CellTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(*_: object, **__: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(cells, "conduct", break_off)
    ended = run_as_task(task)
    assert ended.code == exits.DEFECT
    assert "ZeroDivisionError: on purpose" in ended.said[0]
    assert [p.name for p in task.token.parent.iterdir()] == [".token"]


@pytest.mark.spark
def test_ctrl_c_ends_a_sweep_on_spark_in_order_and_keeps_what_there_is(
    sweep: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    text = SWEEP.replace("count: 20}", 'count: "${count}"}').replace("{size: 3}", "{size: 3, count: 9}")
    sweep.write_text(text.replace("  size: [3, 5]", "  count: [20, 500000]"))
    command = [sys.executable, "-m", "testbed.cli", "run", str(sweep), "--on", "local[1]", "--out", "out"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "complete (1 of 4)" in line:
                break
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(60) == exits.INTERRUPTED, said
    assert "Traceback" not in said
    with (tmp_path / "out" / "table.csv").open(encoding="utf-8", newline="") as table:
        assert [row["outcome"] for row in csv.DictReader(table)] == ["complete", *["not run"] * 3]
    assert list((tmp_path / "out").glob(".*")) == []

"""`cbn run` of a scenario with a matrix, from outside: what it leaves, how it ends, how it goes on."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sim

MANY = """\
name: many
parameters: {size: 3, count: 20}
matrix:
  scheme: [pif, psf]
  size: [3, 5]
topology: {generate: ring, size: "${size}"}
populations:
  sub: {count: 4, subscribe: [all]}
  pub: {count: 1, publish: [{message: x = 1, every: 1ms, count: "${count}"}]}
"""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.yaml"
    path.write_text(MANY, encoding="utf-8")
    return path


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "table.csv").open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def test_all_runs_of_a_matrix_go_into_one_folder_and_one_table(cbn: Any, many: Path, tmp_path: Path) -> None:
    done = cbn("run", many, "--world", "sim", "--no-analyze", "--out", "out", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    cells = [f"scheme={scheme},size={size}" for scheme in ("pif", "psf") for size in (3, 5)]
    assert [row["cell"] for row in rows(tmp_path / "out")] == cells
    assert {row["outcome"] for row in rows(tmp_path / "out")} == {"complete"}
    for cell in cells:
        manifest = json.loads((tmp_path / "out" / cell / "manifest.json").read_text())
        assert f"scheme={manifest['scheme']},size={manifest['overrides']['parameters.size']}" == cell
        assert f"[{cell}] complete" in done.stderr
    assert (
        len({json.loads((tmp_path / "out" / c / "manifest.json").read_text())["run_id"] for c in cells}) == 4
    )
    assert json.loads((tmp_path / "out" / "table.json").read_text())["rows"][0]["cell"] == cells[0]


def test_runs_side_by_side_are_the_same_as_one_after_the_other(cbn: Any, many: Path, tmp_path: Path) -> None:
    for out, jobs in (("one", 1), ("four", 4)):
        cbn("run", many, "--world", "sim", "--no-analyze", "--out", out, "--jobs", jobs, "--quiet")
    for cell in (tmp_path / "one").glob("scheme=*"):
        other = tmp_path / "four" / cell.name
        assert (cell / "events.jsonl").read_bytes() == (other / "events.jsonl").read_bytes()


def test_only_what_is_asked_for_is_run_and_the_rest_later(cbn: Any, many: Path, tmp_path: Path) -> None:
    arguments = ("--world", "sim", "--no-analyze", "--quiet")
    first = cbn("run", many, *arguments, "--out", "out", "--only", "scheme=pif")
    assert first.returncode == 0, first.stderr
    kept = {p.name: (p / "manifest.json").read_text() for p in (tmp_path / "out").glob("scheme=*")}
    assert set(kept) == {"scheme=pif,size=3", "scheme=pif,size=5"}
    again = cbn("run", many, *arguments, "--resume", "out", "--json")
    assert [row["outcome"] for row in json.loads(again.stdout)["rows"]] == ["complete"] * 4
    assert all((tmp_path / "out" / name / "manifest.json").read_text() == text for name, text in kept.items())


def test_a_run_that_fails_does_not_stop_the_others_unless_told_to(
    cbn: Any, many: Path, tmp_path: Path
) -> None:
    many.write_text(MANY.replace("size: [3, 5]", "timing.ready_timeout: [1ms, 60s]"), encoding="utf-8")
    many.write_text(
        many.read_text().replace("count: 20}", "count: 20}").replace("  scheme: [pif, psf]\n", "")
    )
    done = cbn("run", many, "--world", "sim", "--no-analyze", "--out", "out")
    assert done.returncode == 4
    assert [row["outcome"] for row in rows(tmp_path / "out")] == ["failed", "complete"]
    assert "was not ready" in done.stdout
    fast = cbn("run", many, "--world", "sim", "--no-analyze", "--out", "fast", "--fail-fast")
    assert fast.returncode == 4
    assert [row["outcome"] for row in rows(tmp_path / "fast")] == ["failed", "not run"]


def test_ctrl_c_ends_all_in_order_and_keeps_what_there_is(
    many: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "testbed.cli", "run", str(many), "--world", "sim", "--no-analyze"]
    command += ["--out", "out", "--jobs", "2", "--set", "parameters.count=500000"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        started = 0
        for line in process.stderr:
            started += "running the clients' scripts" in line
            if started == 2:
                break
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        assert process.wait(60) == 130
    outcomes = [row["outcome"] for row in rows(tmp_path / "out")]
    assert sorted(outcomes) == ["interrupted", "interrupted", "not run", "not run"]


def test_runs_do_not_outlive_who_started_them(
    many: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "testbed.cli", "run", str(many), "--world", "sim", "--no-analyze"]
    command += ["--out", "out", "--set", "parameters.count=500000"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "running the clients' scripts" in line:
                break
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
        process.wait(60)
    assert children
    deadline = time.monotonic() + 60
    while any(_lives(child) for child in children):
        assert time.monotonic() < deadline, "a run goes on by itself"
    manifest = json.loads((tmp_path / "out" / "scheme=pif,size=3" / "manifest.json").read_text())
    assert manifest["outcome"] == "interrupted"


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("--only", "scheme=flood"), "there is no such run; expected one of pif, psf"),
        (("--only", "colour=red"), "expected an axis: one of scheme, size"),
        (("--only", "scheme"), "expected AXIS=VALUE"),
        (("--jobs", "0"), "expected a whole number from 1 to 10,000,000"),
        (("--resume", "nowhere"), "it holds no runs of a matrix"),
        (("--out", "."), "is not empty: nothing in it was touched"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_started(
    cbn: Any, many: Path, tmp_path: Path, arguments: tuple[str, ...], reported: str
) -> None:
    done = cbn("run", many, "--world", "sim", *arguments)
    assert done.returncode == 2
    assert reported in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["many.yaml"]


def test_another_scenario_does_not_go_on_where_one_stopped(cbn: Any, many: Path) -> None:
    cbn("run", many, "--world", "sim", "--no-analyze", "--out", "out", "--only", "scheme=pif", "--quiet")
    many.write_text(MANY.replace("name: many", "name: other"), encoding="utf-8")
    done = cbn("run", many, "--world", "sim", "--resume", "out")
    assert done.returncode == 2
    assert "its runs are of another scenario" in done.stderr


def test_what_goes_with_a_matrix_alone_is_refused_without_one(cbn: Any, tiny: Path) -> None:
    done = cbn("run", tiny, "--world", "sim", "--jobs", "2")
    assert done.returncode == 2
    assert "--jobs goes with a scenario that has a matrix" in done.stderr


def test_show_prints_the_runs_and_the_time_line(cbn: Any, many: Path, tmp_path: Path) -> None:
    many.write_text(
        MANY + "phases: [{name: calm, lasts: 1s}]\nexpect: [missing == 0]\nfaults: [at 2s: crash r1 for 1s]\n"
    )
    shown = cbn("show", many).stdout
    for words in ("4 runs", "scheme=psf,size=5", "phase calm, 1 s, 20 messages", "crash r1", "missing == 0"):
        assert words in shown
    reported = json.loads(cbn("show", many, "--json").stdout)
    assert reported["matrix"][0] == {"cell": "scheme=pif,size=3", "scheme": "pif", "size": 3}
    assert reported["faults"] == [
        {"after": "start", "at_s": 2.0, "do": "crash", "target": "r1"},
        {"after": "start", "at_s": 3.0, "do": "start", "target": "r1"},
    ]

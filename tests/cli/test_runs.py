"""`cbn run` from outside: what it leaves, what it prints, how it ends."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sim

LONG = """\
name: long
topology: {generate: ring, size: 6}
clients:
  alice:
    at: r1
    publish: [{message: {price: {uniform: [0, 99]}}, every: 1ms, count: 60000, from: 0s}]
  bob: {at: r4, subscribe: [all]}
"""


def test_a_run_leaves_a_complete_directory_and_says_what_comes_next(
    cbn: Any, tiny: Path, tmp_path: Path
) -> None:
    done = cbn("run", tiny, "--world", "sim", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "out: complete" in done.stdout
    assert "cbn analyze out" in done.stdout
    names = {p.name for p in (tmp_path / "out").iterdir()}
    documents = {"manifest.json", "plan.json", "scenario.yaml", "judged.json"}
    assert names == documents | {"events.jsonl", "captures", "logs"}
    assert (tmp_path / "out" / "scenario.yaml").read_text() == tiny.read_text()


def test_without_out_the_directory_is_named_after_the_run(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    done = cbn("run", tiny, "--world", "sim", "--json")
    (path,) = (tmp_path / "runs").iterdir()
    assert re.fullmatch(r"tiny-sim-\d{8}T\d{6}Z-[0-9a-f]{4}", path.name)
    assert json.loads(done.stdout)["run_id"] == path.name


def test_the_manifest_says_what_ran_where_and_how(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    cbn("run", tiny, "--world", "sim", "--out", "out", "--seed", "7", "--set", "timing.hop_delay=2ms")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["format"] == 3
    assert (manifest["world"], manifest["scenario"], manifest["scheme"]) == ("sim", "tiny", "pif")
    assert manifest["seed"] == 7
    assert manifest["overrides"]["timing.hop_delay"] == "2ms"
    assert re.fullmatch("[0-9a-f]{64}", manifest["scenario_sha256"])
    assert (manifest["outcome"], manifest["message"]) == ("complete", "")
    assert manifest["start_ns"] < manifest["end_ns"]
    assert list(manifest["phases"]) == ["build_s", "ready_s", "workload_s", "drain_s", "stop_s"]
    assert manifest["implementation"]["links"] == "simulated"
    assert manifest["captures"]["frames"] > 0
    assert manifest["captures"]["drops"] == 0
    assert manifest["versions"]["python"]
    assert "git" in manifest["versions"]


def test_an_override_changes_the_run(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    cbn("run", tiny, "--world", "sim", "--out", "out", "--set", "timing.hop_delay=2ms")
    events = [json.loads(line) for line in (tmp_path / "out" / "events.jsonl").read_text().splitlines()]
    assert {e["latency_ns"] for e in events if e["event"] == "deliver"} == {6_000_000}


def test_json_is_one_object_and_progress_goes_elsewhere(cbn: Any, tiny: Path) -> None:
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--json")
    document = json.loads(done.stdout)
    assert document["outcome"] == "complete"
    assert document["directory"] == "out"
    assert document["verdict"]["verdict"] == "clean"
    assert "waiting until the network has converged" in done.stderr


def test_a_run_ends_with_its_verdict_and_needs_no_java(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--quiet", JAVA_HOME="/nonexistent")
    assert done.returncode == 0, done.stderr
    verdict = json.loads((tmp_path / "out" / "judged.json").read_text())
    assert verdict["delivered"] == verdict["owed"] > 0
    assert f"clean: All {verdict['owed']} owed deliveries arrived, each once." in done.stdout
    assert done.stdout.splitlines()[-1] == "Next: cbn analyze out"


def test_a_run_that_is_not_as_it_should_be_is_exit_code_1(cbn: Any, tiny: Path) -> None:
    done = cbn(
        "run", tiny, "--world", "sim", "--out", "out", "--json", "--set", "topology.link_defaults.loss=0.4"
    )
    assert done.returncode == 1, done.stderr
    verdict = json.loads(done.stdout)["verdict"]
    assert (verdict["verdict"], verdict["ok"]) == ("wrong", False)
    assert verdict["missing"] > 0


def test_without_a_verdict_nothing_is_judged(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    lossy = ("--set", "topology.link_defaults.loss=0.4")
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--no-judge", "--json", *lossy)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] is None
    assert not (tmp_path / "out" / "judged.json").exists()


def test_a_run_that_records_no_captures_has_no_verdict_and_says_why(cbn: Any, tiny: Path) -> None:
    tiny.write_text(tiny.read_text() + "record: {captures: false}\n")
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "no verdict: " in done.stderr
    assert "the scenario records none" in done.stderr


def test_quiet_says_nothing_but_the_result(cbn: Any, tiny: Path) -> None:
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--quiet")
    assert done.stderr == ""
    assert done.stdout.startswith("out: complete")


def test_a_world_that_is_chosen_is_named_with_the_reason(cbn: Any, tiny: Path) -> None:
    """As a user who cannot emulate: the reason is on standard error, quiet or not."""
    done = cbn("run", tiny, "--out", "out", "--quiet", PATH="/nonexistent")
    assert done.returncode == 0, done.stderr
    assert "world sim, because" in done.stderr
    assert "missing" in done.stderr or "root" in done.stderr


def test_a_world_that_this_machine_lacks_is_exit_code_3_and_starts_nothing(
    cbn: Any, tiny: Path, tmp_path: Path
) -> None:
    done = cbn("run", tiny, "--world", "emu", "--out", "out", PATH="/nonexistent")
    assert done.returncode == 3
    assert "--world sim" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_previous_run_is_replaced_only_by_force(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    command = ("run", tiny, "--world", "sim", "--out", "out")
    first = json.loads(cbn(*command, "--json").stdout)["run_id"]
    (tmp_path / "out" / "notes.txt").write_text("mine")
    refused = cbn(*command)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    second = json.loads(cbn(*command, "--json", "--force").stdout)["run_id"]
    assert second != first
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["run_id"] == second
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_a_folder_of_something_else_is_never_replaced(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "captures").mkdir(parents=True)
    (tmp_path / "out" / "captures" / "precious.pcap").write_text("mine")
    done = cbn("run", tiny, "--world", "sim", "--out", "out", "--force")
    assert done.returncode == 2
    assert "holds no run" in done.stderr
    assert (tmp_path / "out" / "captures" / "precious.pcap").read_text() == "mine"


@pytest.mark.parametrize("place", ["/proc/out", "tiny.yaml", "tiny.yaml/out"])
def test_a_place_that_cannot_be_written_to_is_a_clear_error(place: str, cbn: Any, tiny: Path) -> None:
    done = cbn("run", tiny, "--world", "sim", "--out", place)
    assert done.returncode == 2
    assert place in done.stderr
    assert "--out" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("limit", [5_000, 40_000, 100_000])
def test_a_disk_that_takes_no_more_ends_the_run_with_a_clear_message(
    limit: int, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The limit on the size of files stands for the full disk: writing fails in the same way.

    The plan does not fit, or a capture does not, or the events do not.
    """
    done = subprocess.run(
        [sys.executable, "-m", "testbed.cli", "run", "quickstart", "--world", "sim", "--out", "out", "-q"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 4
    assert "File too large" in done.stdout + done.stderr
    assert "out" in done.stdout + done.stderr
    assert "defect" not in done.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_run_in_order(
    number: signal.Signals, code: int, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "long.yaml").write_text(LONG)
    command = [sys.executable, "-m", "testbed.cli", "run", "long.yaml", "--world", "sim", "--out", "out"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    while "running the clients' scripts" not in (line := process.stderr.readline()):
        assert line, "the run ended before it was interrupted"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"interrupted by {number.name}" in out
    assert "Traceback" not in err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["outcome"], manifest["message"]) == ("interrupted", f"interrupted by {number.name}")
    assert manifest["captures"]["frames"] > 0
    for line in (tmp_path / "out" / "events.jsonl").read_text().splitlines():
        json.loads(line)


def test_a_killed_run_leaves_a_directory_that_is_known_for_a_run(
    cbn: Any, tmp_path: Path, environment: dict[str, str], tiny: Path
) -> None:
    (tmp_path / "long.yaml").write_text(LONG)
    command = [sys.executable, "-m", "testbed.cli", "run", "long.yaml", "--world", "sim", "--out", "out"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "running the clients' scripts" not in (line := process.stderr.readline()):
        assert line, "the run ended before it was killed"
    process.kill()
    process.communicate(timeout=60)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["outcome"] == "interrupted"
    assert "killed" in manifest["message"]
    assert cbn("run", tiny, "--world", "sim", "--out", "out", "--force").returncode == 0


def test_a_network_that_never_gets_ready_is_exit_code_4(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    done = cbn(
        "run", tiny, "--world", "sim", "--out", "out",
        "--set", "topology.link_defaults.loss=1.0", "--set", "timing.ready_timeout=2s",
    )  # fmt: skip
    assert done.returncode == 4
    assert "not ready after 2 s" in done.stdout
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["outcome"] == "failed"


def test_a_reader_that_stops_reading_is_no_error(tmp_path: Path, environment: dict[str, str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "testbed.cli", "scenarios"],
        cwd=tmp_path,
        env=environment,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_force_does_not_replace_a_run_that_is_going_on(
    cbn: Any, tiny: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    tiny.write_text(tiny.read_text().replace("count: 20", "count: 500000"))
    command = [sys.executable, "-m", "testbed.cli", "run", str(tiny), "--world", "sim", "--out", "out"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "running the clients' scripts" in line:
                break
        manifest = (tmp_path / "out" / "manifest.json").read_text()
        refused = cbn("run", tiny, "--world", "sim", "--out", "out", "--force")
        process.kill()
        process.wait(60)
    assert refused.returncode == 2
    assert f"{json.loads(manifest)['run_id']} is going on there, in process {process.pid}" in refused.stderr
    tiny.write_text(tiny.read_text().replace("count: 500000", "count: 20"))
    assert cbn("run", tiny, "--world", "sim", "--out", "out", "--force").returncode == 0

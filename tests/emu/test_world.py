"""The emulated world, end to end: deliveries, failures, and what is left behind (nothing)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from typing import Any

import pytest

from testbed.emu.cleanup import clean
from testbed.emu.links.tc import kernel_lacks
from testbed.emu.options import EmuOptions
from testbed.emu.world import EmulatedWorld
from testbed.live.registry import registry_root

pytestmark = pytest.mark.emu
LONG = {"every": "10ms", "count": 3000}
"""A workload of 30 s, which tests end before its time."""


def test_the_deliveries_are_those_of_the_oracle_and_nothing_is_left(bed: Any, progress: Any) -> None:
    used: set[str] = set()
    progress.at_phase["workload"] = lambda: used.update(bed.namespaces())
    outcome = bed.run(bed.plan(), progress)
    assert outcome.outcome == "complete", outcome.message
    assert sum(e["event"] == "publish" for e in bed.events()) == 80
    assert bed.delivered() == bed.owed()
    assert progress.phases == ["build", "ready", "workload", "drain", "stop"]
    assert progress.lines == []
    assert progress.done == 84
    assert len(used) == 6
    bed.assert_nothing_is_left(used)


def test_events_are_in_order_and_logs_and_statuses_are_kept(bed: Any) -> None:
    plan = bed.plan()
    outcome, rows = bed.run(plan), bed.events()
    assert rows == sorted(rows, key=lambda e: (e["time_ns"], e["node"], e["n"]))
    assert min(e["time_ns"] for e in rows if e["event"] == "publish") >= outcome.start_ns
    assert max(e["time_ns"] for e in rows) <= outcome.end_ns
    names = {f"{node.name}{end}" for node in plan.nodes for end in (".jsonl", ".status.json")}
    assert {path.name for path in (bed.out / "logs").iterdir()} == names | {"resources.json"}
    assert (bed.out / "config" / "r1.toml").exists()
    assert (bed.out / "config" / "a.script.jsonl").exists()


def test_the_messages_that_leave_one_end_of_a_link_arrive_at_the_other(bed: Any) -> None:
    plan = bed.plan()
    bed.run(plan)
    statuses = [json.loads(path.read_text()) for path in (bed.out / "logs").glob("*.status.json")]
    rows = {row["name"]: row for status in statuses for row in status["interfaces"]}
    for link in plan.links:
        a, b = rows[link.a_interface], rows[link.b_interface]
        assert (a["tx_messages"], a["rx_messages"]) == (b["rx_messages"], b["tx_messages"]), link.name
    assert sum(row["rx_overflows"] for row in rows.values()) == 0


@pytest.mark.parametrize("victim", ["r2", "c"])
def test_a_node_killed_mid_run_ends_the_run_with_its_name_and_its_logs(
    bed: Any, until_phase: Any, victim: str
) -> None:
    process = bed.start(**LONG)
    until_phase(process, "workload")
    os.kill(bed.process_of(victim), signal.SIGKILL)
    output, _ = process.communicate(timeout=10)
    outcome = json.loads(output.splitlines()[-1])
    assert outcome["outcome"] == "failed"
    assert f"node {victim} was killed by SIGKILL" in outcome["message"]
    assert f"{victim}.jsonl" in outcome["message"]
    assert (bed.out / "logs" / "r1.status.json").exists()
    assert bed.events()
    bed.assert_nothing_is_left()


@pytest.mark.parametrize("phase", ["build", "ready", "workload"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_phase_ends_the_run_and_leaves_nothing(
    bed: Any, until_phase: Any, number: signal.Signals, phase: str
) -> None:
    process = bed.start(**LONG)
    until_phase(process, phase)
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    outcome = json.loads(output.splitlines()[-1])
    assert outcome["outcome"] == "interrupted", errors
    assert outcome["message"] == f"interrupted by {number.name}"
    bed.assert_nothing_is_left()


@pytest.mark.parametrize("phase", ["build", "ready", "workload"])
def test_ctrl_c_at_a_terminal_reaches_the_whole_group_and_is_an_interruption(
    bed: Any, until_phase: Any, phase: str
) -> None:
    process = bed.start(**LONG)
    until_phase(process, phase)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert json.loads(output.splitlines()[-1])["message"] == "interrupted by SIGINT", errors
    assert (bed.out / "logs" / "r1.status.json").exists() or phase != "workload"
    bed.assert_nothing_is_left()


def test_a_second_ctrl_c_does_not_interrupt_the_cleaning_up(bed: Any, until_phase: Any) -> None:
    process = bed.start(**LONG)
    until_phase(process, "workload")
    process.send_signal(signal.SIGINT)
    until_phase(process, "stop")
    for _ in range(5):
        process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert json.loads(output.splitlines()[-1])["outcome"] == "interrupted"
    assert "already cleaning up" in errors
    bed.assert_nothing_is_left()


@pytest.mark.usefixtures("sole_cleaner")
@pytest.mark.parametrize("phase", ["build", "ready", "workload"])
def test_after_sigkill_clean_leaves_no_process_namespace_or_file(
    bed: Any, until_phase: Any, phase: str
) -> None:
    process = bed.start(**LONG)
    until_phase(process, phase)
    used = bed.namespaces() if phase == "workload" else set()
    process.kill()
    process.communicate()
    assert not clean().survivors
    bed.assert_nothing_is_left(used)
    assert bed.run_id not in [p.run_id for p in clean().processes]


@pytest.mark.usefixtures("sole_cleaner")
def test_clean_leaves_a_strangers_mininet_and_a_living_run_alone(bed: Any, until_phase: Any) -> None:
    """A shell in a namespace of its own that looks as Mininet's do, and a run that goes on."""
    command = ["unshare", "-n", "bash", "--norc", "-s", "mininet:h1"]
    stranger = subprocess.Popen(command, stdin=subprocess.PIPE, env={"PATH": os.environ["PATH"]})
    process = bed.start(**LONG)
    try:
        until_phase(process, "workload")
        nodes = set(bed.processes())
        assert bed.run_id in clean().live_runs
        assert set(bed.processes()) == nodes != set()
        assert stranger.poll() is None
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        stranger.kill()
        stranger.communicate()
    bed.assert_nothing_is_left()


def test_a_node_that_hangs_ends_the_run_with_its_name(bed: Any, progress: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("testbed.live.clients.REPLY_TIMEOUT_S", 0.5)
    monkeypatch.setattr("testbed.emu.nodes.STOP_TIMEOUT_S", 0.5)
    progress.at_phase["drain"] = lambda: os.kill(bed.process_of("r2"), signal.SIGSTOP)
    outcome = bed.run(bed.plan(), progress)
    assert outcome.outcome == "failed"
    assert "r2: no answer to 'status': no answer within 0.5 s" in outcome.message
    assert any("node r2 did not stop within 0.5 s and was killed" in output for output in progress.lines)
    bed.assert_nothing_is_left()


def test_two_runs_beside_each_other_do_not_meet(bed: Any, second_bed: Any) -> None:
    runs = [(each, each.start()) for each in (bed, second_bed)]
    for each, process in runs:
        outcome = json.loads(process.communicate(timeout=60)[0].splitlines()[-1])
        assert outcome["outcome"] == "complete", outcome["message"]
        assert each.delivered() == each.owed()
        each.assert_nothing_is_left()


def test_a_run_outside_the_main_thread_works_too(bed: Any) -> None:
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(bed.run(bed.plan())))
    thread.start()
    thread.join(60)
    assert [o.outcome for o in outcomes] == ["complete"]


@pytest.mark.usefixtures("sole_cleaner")
def test_a_run_id_in_use_fails_with_what_to_do(bed: Any) -> None:
    folder = registry_root() / bed.run_id
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    try:
        outcome = bed.run(bed.plan())
        assert outcome.outcome == "failed"
        assert "cbn clean" in outcome.message
        assert folder.exists()
    finally:
        clean()
    bed.assert_nothing_is_left()


def test_a_network_that_is_not_ready_in_time_fails_with_the_reasons(bed: Any) -> None:
    outcome = bed.run(bed.plan(extra="timing: {ready_timeout: 1ms}\n"))
    assert outcome.outcome == "failed"
    assert "no answer from" in outcome.message or "is not" in outcome.message
    bed.assert_nothing_is_left()


def test_what_this_kernel_cannot_do_is_refused_before_anything_starts(bed: Any) -> None:
    if kernel_lacks("netem") is None:
        pytest.skip("this kernel has sch_netem")
    asked = bed.plan(first_link="{between: [r1, r2], delay: 5ms}")
    assert EmulatedWorld().problems(asked) == []
    (problem,) = EmulatedWorld(EmuOptions(links="netem")).problems(asked)
    assert "r1" in problem
    assert "sch_netem" in problem
    assert "--world sim" in problem

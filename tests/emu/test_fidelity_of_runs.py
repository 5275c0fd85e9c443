"""The certificate of real runs: what is measured of them, what is seen of what was broken on purpose.

Nothing here asks for a quiet machine: that a run is trusted is never asserted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP
from statistics import median
from typing import Any

import pytest

from fastpath.pcap import decode_pcap
from testbed.emu.links.wire import WireProcess
from testbed.emu.links.wire_process import Orders
from testbed.emu.network import CbnNet
from testbed.emu.options import EmuOptions
from testbed.emu.world import EmulatedWorld
from testbed.plan.model import Impairment, Plan
from testbed.runs.world import Outcome

pytestmark = [pytest.mark.emu, pytest.mark.timed]
MS = 1_000_000
DELAY_MS = 5
DELAYED = f"{{between: [r1, r2], delay: {DELAY_MS}ms}}"
BURNER = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass"
BURNERS_A_CORE = 3
BURN_S = 30.0
CLOCKS_NS = 50_000
"""How far two clock readings of one machine may seem apart."""


@pytest.fixture
def burners() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that want all processors; bounded in time even if nobody ends them."""
    count = BURNERS_A_CORE * (os.cpu_count() or 1)
    started = [subprocess.Popen([sys.executable, "-S", "-c", BURNER, str(BURN_S)]) for _ in range(count)]
    yield started
    for process in started:
        process.kill()
        process.wait()


def run(bed: Any, progress: Any, plan: Plan, **options: Any) -> Outcome:
    outcome = EmulatedWorld(EmuOptions(**options)).run(plan, bed.directory(), progress)
    assert outcome.outcome == "complete", outcome.message
    assert outcome.fidelity is not None
    return outcome


def transits_ns(bed: Any, plan: Plan) -> list[int]:
    """How long each message took over the first link, by the captures at its ends."""
    link = plan.links[0]
    index = json.loads((bed.out / "captures" / "index.json").read_text())
    rows = {row["interface"]: row for row in index["interfaces"]}
    seen: dict[str, dict[tuple[int, int, int], int]] = {}
    for name in (link.a_interface, link.b_interface):
        batch, _ = decode_pcap(bed.out / "captures" / rows[name]["file"], mac=rows[name]["mac"])
        wanted = name == link.a_interface
        seen[name] = {
            (r["source"], r["sequence"], r["hop_count"]): r["time_ns"]
            for r in batch.to_pylist()
            if r["sequence"] is not None and r["source"] is not None and r["sent"] is wanted
        }
    sent, received = seen[link.a_interface], seen[link.b_interface]
    return [received[key] - at for key, at in sent.items() if key in received]


def test_slowed_time_delivers_the_same_in_the_runs_own_time_and_takes_longer_by_the_clock(
    bed: Any, second_bed: Any, progress: Any
) -> None:
    """Decision 15: 5 ms stay 5 ms of the run's time, while the wall shows four times as much."""
    plan = bed.plan(first_link=DELAYED, captures=True)
    real = run(bed, progress, plan)
    began = time.monotonic()
    slowed = run(second_bed, progress, plan, dilate=4)
    wall_s = time.monotonic() - began
    assert second_bed.delivered() == bed.delivered() == bed.owed()
    assert second_bed.hops() == bed.hops()
    for each in (bed, second_bed):
        found = transits_ns(each, plan)
        assert len(found) > 20
        assert min(found) >= DELAY_MS * MS - CLOCKS_NS
        assert median(found) < 3 * DELAY_MS * MS
    script_s = max(action.at_ns for client in plan.clients for action in client.script) / 1e9
    assert wall_s >= 4 * script_s
    assert slowed.phases["workload_s"] < wall_s / 2
    assert slowed.dilate == slowed.fidelity.dilate == 4 != real.dilate  # type: ignore[union-attr]
    lived_ns = slowed.end_ns - slowed.start_ns
    assert script_s * 1e9 <= lived_ns < wall_s * 1e9 / 2
    assert all(slowed.start_ns <= e["time_ns"] <= slowed.end_ns for e in second_bed.events() if "source" in e)


def test_machine_nodes_and_every_direction_of_a_link_are_measured(bed: Any, progress: Any) -> None:
    plan = bed.plan(first_link=DELAYED, captures=True)
    found = run(bed, progress, plan).fidelity
    assert found is not None
    assert found.verdict in {"trusted", "degraded"}
    assert bool(found.reasons) is (found.verdict == "degraded") is bool(found.affected)
    for name in ("lag_p50_ns", "lag_p99_ns", "lag_max_ns", "client_late_p99_ns", "router_late_p99_ns"):
        assert found.figures[name], name
    assert 0 <= found.figures["busy"] <= found.figures["busy_peak"] <= 1
    assert found.figures["measured_s"] > 0.2
    assert found.figures["captured_frames"] > 100
    interfaces = {i.name for node in plan.nodes for i in node.interfaces}
    assert {row.source for row in found.links} == interfaces
    first = [row for row in found.links if row.link == plan.links[0].name]
    assert {row.backend for row in first} <= {"wire", "netem"}
    assert all(row.asked["delay_ns"] == DELAY_MS * MS for row in first)
    assert all(row.measured.delivered > 0 for row in found.links)
    for row in found.links:
        assert (row.probe is not None) is (row.backend != "veth")
        if row.probe is not None:
            assert row.probe.received > 0
            assert row.probe.delay_min_ns is not None
            assert row.probe.delay_min_ns >= DELAY_MS * MS - CLOCKS_NS
    json.dumps(found.to_json())
    bed.assert_nothing_is_left()


def test_a_machine_that_others_keep_busy_is_seen_and_named(bed: Any, progress: Any, burners: Any) -> None:
    assert burners
    found = run(bed, progress, bed.plan(count=100)).fidelity
    assert found is not None
    assert found.verdict == "degraded"
    assert "rates" in found.affected
    named = ("processors were", "scheduling lag", "waited for a processor")
    assert any(name in reason for reason in found.reasons for name in named), found.reasons


def test_frames_that_find_no_room_are_a_loss_that_nobody_asked_for(
    bed: Any, progress: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tap that holds one frame, and a process that takes none of it while messages are published."""
    orders = WireProcess.orders
    monkeypatch.setattr(WireProcess, "orders", lambda *given: _cramped(orders(*given[1:])))
    progress.at_phase["workload"] = lambda: os.kill(
        _process_of(bed, "testbed.emu.links.wire_process"), SIGSTOP
    )
    progress.at_phase["drain"] = lambda: os.kill(_process_of(bed, "testbed.emu.links.wire_process"), SIGCONT)
    plan = bed.plan(first_link=DELAYED, every="0ms", count=400)
    found = run(bed, progress, replace(plan), links="wire").fidelity
    assert found is not None
    assert found.verdict == "degraded"
    assert "losses" in found.affected
    worst = found.links[0]
    assert worst.measured.overruns > 0
    assert "for want of time or room" in worst.reasons[0]


def test_a_delay_that_was_silently_not_applied_is_seen_by_probes(
    bed: Any, progress: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What troubles users of testbeds most: the carrier itself says that all is well."""
    cable = CbnNet._cable
    nothing = {"impairment": Impairment(), "back": Impairment()}
    monkeypatch.setattr(CbnNet, "_cable", lambda *given: replace(cable(*given), **nothing))
    found = run(bed, progress, bed.plan(first_link=DELAYED), links="wire").fidelity
    assert found is not None
    assert found.verdict == "degraded"
    assert "latency" in found.affected
    assert any("probes took" in reason and "asked 5 ms" in reason for reason in found.reasons)


def test_probing_bare_links_takes_nothing_and_slow_ones_are_left_out(
    bed: Any, progress: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("testbed.emu.probing.MOST_WAIT_S", 0.001)
    found = run(bed, progress, bed.plan(first_link=DELAYED)).fidelity
    assert found is not None
    assert all(row.probe is None for row in found.links)


def _cramped(orders: Orders) -> Orders:
    return replace(orders, tap_queue_frames=1)


def test_a_run_whose_sampler_dies_goes_on_and_is_not_trusted(bed: Any, progress: Any) -> None:
    progress.at_phase["workload"] = lambda: os.kill(_process_of(bed, "testbed.emu.measure"), SIGKILL)
    found = run(bed, progress, bed.plan()).fidelity
    assert found is not None
    assert found.verdict == "degraded"
    assert "nobody measured" in found.reasons[0]
    bed.assert_nothing_is_left()


def test_a_run_that_is_interrupted_has_no_certificate(bed: Any, progress: Any) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    progress.at_phase["workload"] = interrupt
    outcome = EmulatedWorld().run(bed.plan(), bed.directory(), progress)
    assert (outcome.outcome, outcome.fidelity) == ("interrupted", None)
    bed.assert_nothing_is_left()


def _process_of(bed: Any, module: str) -> int:
    """The process of the run that executes a module."""
    named = f"{module}\0".encode()
    (found,) = [pid for pid in bed.processes() if named in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return found

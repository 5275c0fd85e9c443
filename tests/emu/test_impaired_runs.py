"""Whole runs over links that do something to packets.

a           b
|           |
r1 ======= r2      the link in question
  \\       /
   \\     /
     r3 --- c
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from testbed.emu.links.tc import kernel_lacks
from testbed.emu.options import EmuOptions
from testbed.emu.world import EmulatedWorld

pytestmark = pytest.mark.timed

CARRIERS = ["wire", "netem"]
MANY = (
    "{between: [r1, r2], delay: 5ms, jitter: 2ms, jitter_shape: pareto, duplicate: 0.2, reorder: 0.1, "
    "back: {delay: 3ms}}"
)


@pytest.mark.emu
@pytest.mark.parametrize("carrier", CARRIERS)
def test_what_a_link_delays_doubles_and_reorders_arrives_and_routing_bears_it(
    bed: Any, progress: Any, carrier: str
) -> None:
    if carrier == "netem" and (why := kernel_lacks("netem")) is not None:
        pytest.skip(f"netem is not tested here: this kernel lacks sch_netem ({why})")
    options = EmuOptions(links=carrier)
    outcome = EmulatedWorld(options).run(bed.plan(first_link=MANY), bed.directory(), progress)
    assert outcome.outcome == "complete", outcome.message
    assert bed.delivered().keys() == bed.owed().keys()
    assert {*bed.delivered().values()} == {1, 2}  # routers forward a copy as they forward a message
    assert outcome.implementation["links"] == f"veth 5, {carrier} 1"
    assert all(link.measured.overruns == 0 for link in (outcome.fidelity.links if outcome.fidelity else ()))
    bed.assert_nothing_is_left()


@pytest.mark.emu
def test_every_link_of_a_network_that_people_may_change_can_change(bed: Any, progress: Any) -> None:
    outcome = EmulatedWorld(EmuOptions(links="wire", adjustable=True)).run(
        bed.plan(), bed.directory(), progress
    )
    assert outcome.outcome == "complete", outcome.message
    assert bed.delivered() == bed.owed()
    assert outcome.implementation["links"] == "wire 6"
    bed.assert_nothing_is_left()


@pytest.mark.emu
def test_a_run_whose_links_carry_nothing_any_more_fails_and_says_why(bed: Any, until_phase: Any) -> None:
    process = bed.start(every="10ms", count=3000, first_link="{between: [r1, r2], delay: 1ms}")
    until_phase(process, "workload")
    (wires,) = [
        pid for pid in bed.processes() if b"links.wire_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    os.kill(wires, signal.SIGKILL)
    output, errors = process.communicate(timeout=60)
    assert "the process that carries the links was killed by SIGKILL" in output + errors
    bed.assert_nothing_is_left()


@pytest.mark.emu
def test_a_link_follows_its_trace_without_a_disturbance(bed: Any, progress: Any) -> None:
    """As in the simulator: 40 messages, one each 50 ms; the link carries nothing from 500 to 1,000 ms."""
    (bed.folder / "t.csv").write_text("time_ms,loss,delay_ms\n0,0,2\n500,1,\n1000,0,2\n", encoding="utf-8")
    traced = "traces: [{link: all of links, file: t.csv}]\n"
    outcome = EmulatedWorld(EmuOptions(links="wire")).run(
        bed.plan(every="50ms", extra=traced), bed.directory(), progress
    )
    assert outcome.outcome == "complete", outcome.message
    assert outcome.implementation["links"] == "veth 3, wire 3"
    assert len(outcome.convergence) == 1
    owed, delivered = bed.owed(), bed.delivered()
    cut = {pair for pair in owed if 12 <= pair[1] - min(p[1] for p in owed if p[0] == pair[0]) < 18}
    assert cut
    assert not cut & delivered.keys()
    assert len(owed.keys() - delivered.keys()) < len(owed) / 2
    bed.assert_nothing_is_left()


@pytest.mark.emu
def test_messages_wait_behind_background_traffic_that_nobody_answers(bed: Any, progress: Any) -> None:
    flow = "background: [{from: r1, to: r2, rate: 900kbit, at: 0s, for: 300ms}]\n"
    plan = bed.plan(first_link="{between: [r1, r2], rate: 1mbit}", every="10ms", extra=flow, captures=True)
    outcome = EmulatedWorld(EmuOptions(links="wire")).run(plan, bed.directory(), progress)
    assert outcome.outcome == "complete", outcome.message
    assert bed.delivered().keys() == bed.owed().keys()
    link = plan.links[0]
    for name in (link.a_interface, link.b_interface):
        data = (bed.out / "captures" / f"{name}.pcap").read_bytes()
        assert data.count(b"\x88\xb5" + bytes(100)) == plan.background[0].frames == 33
    bed.assert_nothing_is_left()


@pytest.mark.emu
def test_background_traffic_that_cannot_be_sent_any_more_fails_the_run(
    bed: Any, progress: Any, until_phase: Any
) -> None:
    flow = "background: [{from: r1, to: r2, rate: 900kbit, at: 0s, for: 20s}]\n"
    process = bed.start(extra=flow, every="50ms")
    until_phase(process, "workload")
    (sender,) = [
        pid for pid in bed.processes() if b"testbed.emu.flows\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    os.kill(sender, signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    assert "the process that sends background traffic was killed by SIGKILL" in output
    bed.assert_nothing_is_left()

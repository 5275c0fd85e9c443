"""Every carrier of links does what is asked of it, and what the others do: one suite for all.

a ---- b
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.emu.links.tc import kernel_lacks
from testbed.plan.model import Impairment
from tests.emu.conformance import on_its_own
from tests.emu.link_checks import CHECKS, NOT_BY_NETEM, check_mtu
from tests.emu.link_lines import Line, RealLine, SimulatedLine

pytestmark = pytest.mark.timed

MS = 1_000_000
CARRIERS = [
    "simulator",
    pytest.param("wire", marks=pytest.mark.emu),
    pytest.param("netem", marks=pytest.mark.emu),
]


def made(carrier: str, mtu: int = 1500) -> Line:
    if carrier == "simulator":
        return SimulatedLine(mtu)
    if carrier == "netem" and (why := kernel_lacks("netem")) is not None:
        pytest.skip(f"netem is not tested here: this kernel lacks sch_netem ({why})")
    return RealLine(carrier, mtu)


@pytest.fixture(params=CARRIERS, scope="module")
def line(request: pytest.FixtureRequest) -> Iterator[Line]:
    found = made(request.param)
    yield found
    found.close()


@pytest.mark.parametrize("name", CHECKS)
def test_a_link_does_what_it_is_asked_for(line: Line, name: str, request: pytest.FixtureRequest) -> None:
    if "netem" in request.node.name and name in NOT_BY_NETEM:
        pytest.skip(NOT_BY_NETEM[name])
    netem = "netem" in request.node.name
    rows = on_its_own(CHECKS[name]) if netem else CHECKS[name](line)
    print(*rows, sep="\n")
    assert all(row.holds for row in rows), [row for row in rows if not row.holds]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_link_carries_packets_of_its_mtu_and_none_larger(carrier: str) -> None:
    line = made(carrier, mtu=600)
    try:
        assert all(row.holds for row in check_mtu(line))
    finally:
        line.close()


@pytest.mark.emu
def test_a_wire_of_slowed_time_takes_longer_and_reports_emulated_time() -> None:
    line = RealLine("wire", dilate=10)
    try:
        line.impair(Impairment(delay_ns=5 * MS))
        line.send([1, 2, 3])
        assert all(a.took_ns >= 50 * MS for a in line.collect(100 * MS))
        reported = line.measures()[0]
        assert (reported.backend, reported.frames, reported.delivered, reported.overruns) == ("wire", 3, 3, 0)
        assert reported.late_max_ns is not None
    finally:
        line.close()


@pytest.mark.emu
def test_a_wire_accounts_for_every_frame_and_loses_none_unasked() -> None:
    line = RealLine("wire")
    try:
        line.impair(Impairment(delay_ns=2 * MS, loss=0.1, duplicate=0.1))
        line.send(range(3000))
        arrived = line.collect(10 * MS)
        reported = line.measures()[0]
        assert reported.frames == 3000
        assert reported.overruns == reported.lost_queue == reported.lost_down == 0
        assert reported.delivered == len(arrived) == 3000 + reported.duplicated - reported.lost
    finally:
        line.close()

"""Impairments: the right tc commands, verified by reading back, and never a silent difference."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import pytest

from testbed.emu.impairment import commands, kernel_lacks, needs, verify
from testbed.emu.network import NetworkError
from testbed.plan.model import Impairment

MS = 1_000_000
NETEM = {
    "kind": "netem",
    "options": {"delay": {"delay": 0.005, "jitter": 0.001}, "loss-random": {"loss": 0.01}},
}
TBF = {"kind": "tbf", "options": {"rate": 1_250_000, "burst": 32768}}
ASKED = Impairment(5 * MS, MS, loss=0.01, rate_bps=10_000_000)


def test_an_unimpaired_link_needs_nothing() -> None:
    assert needs(Impairment()) == ()
    assert needs(Impairment(delay_ns=0)) == ()
    assert commands("x", Impairment()) == []


def test_a_rate_comes_before_the_delay() -> None:
    assert commands("r1-eth0", ASKED) == [
        "qdisc add dev r1-eth0 root handle 1: tbf rate 10000000bit burst 32768 latency 500ms",
        "qdisc add dev r1-eth0 parent 1:1 handle 10: netem limit 100000 delay 5000.000us 1000.000us "
        "loss 1.0000000%",
    ]


def test_a_delay_alone_stands_at_the_root() -> None:
    (line,) = commands("x", Impairment(delay_ns=1_500))
    assert line == "qdisc add dev x root handle 1: netem limit 100000 delay 1.500us"


def test_what_was_set_as_asked_passes() -> None:
    verify("link l", ASKED, [TBF, NETEM])


@pytest.mark.parametrize(
    ("asked", "found", "complaint"),
    [
        (ASKED, [TBF], "netem was asked for and is not there"),
        (ASKED, [NETEM], "tbf was asked for and is not there"),
        (ASKED, [{"kind": "noqueue"}], "netem was asked for"),
        (replace(ASKED, delay_ns=6 * MS), [TBF, NETEM], "a delay in seconds of 0.006 and read back 0.005"),
        (replace(ASKED, jitter_ns=0), [TBF, NETEM], "a jitter in seconds of 0 and read back 0.001"),
        (replace(ASKED, loss=0.02), [TBF, NETEM], "a loss of 0.02 and read back 0.01"),
        (replace(ASKED, rate_bps=20_000_000), [TBF, NETEM], r"a rate in bytes/s of 2.5e\+06"),
    ],
)
def test_what_differs_from_what_was_asked_fails_the_run(
    asked: Impairment, found: list[dict[str, Any]], complaint: str
) -> None:
    with pytest.raises(NetworkError, match=f"link l: .*{complaint}"):
        verify("link l", asked, found)


@pytest.mark.emu
@pytest.mark.parametrize("discipline", ["netem", "tbf"])
def test_the_probe_tells_what_tc_tells(discipline: str) -> None:
    options = {"netem": "delay 1ms", "tbf": "rate 1mbit burst 10kb latency 50ms"}[discipline].split()
    command = ["unshare", "-n", "tc", "qdisc", "add", "dev", "lo", "root", discipline, *options]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (kernel_lacks(discipline) is None) == (done.returncode == 0)


@pytest.mark.emu
def test_a_rate_is_set_at_both_ends_of_a_running_network(bed: Any, until_phase: Any) -> None:
    if kernel_lacks("tbf") is not None:
        pytest.skip("this kernel lacks sch_tbf")
    process = bed.start(every="10ms", count=3000, first_link="{between: [r1, r2], rate: 10mbit}")
    try:
        until_phase(process, "workload")
        for node, interface in (("r1", "r1-eth0"), ("r2", "r2-eth0")):
            inside = ["mnexec", "-a", str(bed.process_of(node)), "tc", "qdisc", "show", "dev", interface]
            shown = subprocess.run(inside, capture_output=True, text=True, check=True).stdout
            assert "tbf 1: root" in shown
            assert "rate 10Mbit" in shown
    finally:
        process.terminate()
        process.communicate(timeout=30)
    bed.assert_nothing_is_left()

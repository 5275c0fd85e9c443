"""Links by netem: the right tc commands, verified by reading back, and never a silent difference."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import pytest

from testbed.emu.links.tc import cannot, commands, kernel_lacks, queue_packets, verify
from testbed.live.fabric import NetworkError
from testbed.plan.model import Impairment

pytestmark = pytest.mark.timed

MS = 1_000_000
OUTER = {
    "kind": "netem",
    "handle": "1:",
    "root": True,
    "options": {"limit": 413, "rate": {"rate": 1_250_000, "packetoverhead": 0}},
}
INNER = {
    "kind": "netem",
    "handle": "10:",
    "parent": "1:1",
    "options": {
        "limit": 100_000,
        "delay": {"delay": 0.005, "jitter": 0.001},
        "loss-random": {"loss": 0.01},
        "reorder": {"reorder": 0.02},
        "corrupt": {"corrupt": 0.03},
    },
}
ASKED = Impairment(5 * MS, MS, loss=0.01, rate_bps=10_000_000, reorder=0.02, corrupt=0.03)


def test_the_rate_stands_before_the_rest_and_what_is_not_named_is_reset() -> None:
    assert commands("r1-eth0", ASKED, 1500) == [
        "qdisc replace dev r1-eth0 root handle 1: netem limit 413 rate 10000000bit",
        "qdisc replace dev r1-eth0 parent 1:1 handle 10: netem limit 100000 delay 5000.000us 1000.000us "
        "0.0000000% loss random 1.0000000% reorder 2.0000000% corrupt 3.0000000%",
    ]
    assert commands("x", Impairment(), 1500) == [
        "qdisc replace dev x root handle 1: netem limit 100000 rate 0bit",
        "qdisc replace dev x parent 1:1 handle 10: netem limit 100000 delay 0.000us "
        "reorder 0.0000000% corrupt 0.0000000%",
    ]


def test_a_link_that_duplicates_has_one_discipline() -> None:
    (line,) = commands("x", Impairment(delay_ns=1_500, duplicate=0.1), 1500)
    assert line == (
        "qdisc replace dev x root handle 1: netem limit 100000 delay 1.500us duplicate 10.0000000% "
        "reorder 0.0000000% corrupt 0.0000000%"
    )


def test_the_shape_of_jitter_its_correlation_and_bursts_are_passed_on() -> None:
    asked = Impairment(5 * MS, MS, "pareto", 0.25, loss=0.2, loss_burst=5)
    assert (
        "delay 5000.000us 1000.000us 25.0000000% distribution pareto loss gemodel 5.0000000% 20.0000000%"
    ) in commands("x", asked, 1500)[1]


def test_slowed_time_has_longer_delays_and_a_smaller_rate_and_the_same_queue() -> None:
    outer, inner = commands("x", ASKED, 1500, dilate=10)
    assert outer.endswith("limit 413 rate 1000000bit")
    assert "delay 50000.000us 10000.000us" in inner


@pytest.mark.parametrize(("packets", "limit"), [(None, 413), (5, 6), (0, 1), (10_000, 10_001)])
def test_a_queue_is_limited_by_what_was_asked_or_else_by_half_a_second(
    packets: int | None, limit: int
) -> None:
    """One more than may wait: netem counts the frame that is being sent."""
    assert queue_packets(replace(ASKED, queue_packets=packets), 1500) == limit


def test_what_was_set_as_asked_passes() -> None:
    verify("link l", ASKED, [OUTER, INNER], 1500)


@pytest.mark.parametrize(
    ("asked", "found", "complaint"),
    [
        (ASKED, [OUTER], "netem 10: was asked for and is not there"),
        (ASKED, [INNER], "netem 1: was asked for and is not there"),
        (ASKED, [{"kind": "noqueue"}], "netem 1: was asked for"),
        (replace(ASKED, delay_ns=6 * MS), [OUTER, INNER], "a delay in seconds of 0.006 and read back 0.005"),
        (replace(ASKED, jitter_ns=0), [OUTER, INNER], "a jitter in seconds of 0 and read back 0.001"),
        (replace(ASKED, loss=0.02), [OUTER, INNER], "a loss of 0.02 and read back 0.01"),
        (replace(ASKED, loss_burst=3), [OUTER, INNER], "a chance to turn bad of 0.003.* and read back 0"),
        (replace(ASKED, reorder=0), [OUTER, INNER], "a reordering of 0 and read back 0.02"),
        (replace(ASKED, corrupt=0.3), [OUTER, INNER], "a corruption of 0.3 and read back 0.03"),
        (replace(ASKED, rate_bps=None), [OUTER, INNER], r"a rate in bytes/s of 0 and read back 1.25e\+06"),
        (replace(ASKED, rate_bps=20_000_000), [OUTER, INNER], r"a rate in bytes/s of 2.5e\+06"),
        (replace(ASKED, queue_packets=3), [OUTER, INNER], "a limit in packets of 4 and read back 413"),
        (replace(ASKED, duplicate=0.5, rate_bps=None), [OUTER], "a delay"),
    ],
)
def test_what_differs_from_what_was_asked_fails_the_run(
    asked: Impairment, found: list[dict[str, Any]], complaint: str
) -> None:
    with pytest.raises(NetworkError, match=f"link l: .*{complaint}"):
        verify("link l", asked, found, 1500)


def test_what_netem_cannot_do_is_named() -> None:
    normal = replace(ASKED, jitter_shape="normal")
    assert cannot([ASKED, normal]) == ["jitter of several shapes (normal, uniform)"]
    twice = Impairment(duplicate=0.1)
    assert cannot([ASKED]) == cannot([twice, replace(twice, loss=0.5)]) == []
    assert cannot([replace(ASKED, queue_bytes=5000)]) == ["a limit of the queue in bytes"]
    assert cannot([ASKED, twice]) == ["duplication on a link with a rate"]
    assert cannot([Impairment(), twice]) == ["duplication at one time, or one way, and not at the other"]


@pytest.mark.emu
def test_the_probe_reports_what_tc_reports() -> None:
    command = ["unshare", "-n", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (kernel_lacks("netem") is None) == (done.returncode == 0)

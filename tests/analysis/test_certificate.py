"""The fidelity certificate in verdict and report: repeated, not judged."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.report.fidelity import badge, bits, figure_lines, link_lines
from analysis.rundir import load_run
from analysis.verdict import certificate_summary


def direction(source: str, backend: str = "wire", **others: Any) -> dict[str, Any]:
    return {
        "link": "r1--r2",
        "source": source,
        "backend": backend,
        "asked": {"delay_ns": 5_000_000, "jitter_ns": 0, "loss": 0.01, "rate_bps": 10_000_000},
        "measured": {"frames": 1000, "lost": 12, "overruns": 3, "late_p99_ns": 1_800_000},
        "probe": {"delay_p50_ns": 5_070_000},
        "carried_bps": 9_900_000,
        "reasons": ["late & lossy"],
        **others,
    }


DEGRADED = {
    "verdict": "degraded",
    "reasons": ["scheduling lag: 1 of 100 wake-ups came 3 ms late <b>"],
    "affected": ["latency", "rates"],
    "dilate": 4,
    "figures": {"lag_p99_ns": 3_000_000, "busy": 0.98, "capture_drops": 0, "pressure": None},
    "links": [direction("r1-eth0"), direction("r2-eth0", "veth", reasons=[], asked={"delay_ns": None})],
}


def test_the_verdict_repeats_all_but_the_links(hand_made: Any) -> None:
    hand_made.manifest["fidelity"] = DEGRADED
    run = load_run(hand_made.write())
    assert certificate_summary(run) == {k: v for k, v in DEGRADED.items() if k != "links"}
    assert badge(run) == ("fidelity: degraded, time slowed 4-fold", "doubt")


def test_bare_links_that_did_well_are_not_listed(hand_made: Any) -> None:
    hand_made.manifest["fidelity"] = DEGRADED
    (line,) = link_lines(load_run(hand_made.write()))
    assert line == DEGRADED["links"][0]


@pytest.mark.parametrize("reported", [None, {}, "trusted", {"verdict": None}])
def test_a_run_without_a_certificate_is_not_taken_for_trusted(hand_made: Any, reported: Any) -> None:
    hand_made.manifest["fidelity"] = reported
    run = load_run(hand_made.write())
    assert run.certificate is certificate_summary(run) is None
    assert badge(run) == ("fidelity not measured", "doubt")
    assert link_lines(run) == []


def test_figures_that_were_not_measured_are_left_out() -> None:
    assert figure_lines(DEGRADED["figures"]) == [
        ("Scheduling lag, 99 %", "3 ms"),
        ("Processors busy", "98%"),
        ("Not captured", "0"),
    ]
    assert figure_lines({}) == []


def test_rates_are_in_the_unit_that_suits_them() -> None:
    assert [bits(n) for n in (800, 64_000, 10_000_000, 2_500_000_000)] == [
        "800 bit/s",
        "64 kbit/s",
        "10 Mbit/s",
        "2.5 Gbit/s",
    ]

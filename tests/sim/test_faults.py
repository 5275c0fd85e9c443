"""Nodes and links of the simulator break and are repaired, and the run reports when and for how long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.sim

MS = 1_000_000
TIMERS = {
    "hello_ms": 50,
    "hold_ms": 200,
    "retransmit_ms": 20,
    "retransmit_max_ms": 100,
    "install_delay_ms": 2,
}


@pytest.fixture
def ring(simulate: Callable[..., Any], make_plan: Callable[..., Any]) -> Callable[..., Any]:
    """Run a ring of four with a publisher at r1 and subscribers at r2 and r3, with these faults."""

    def run(*faults: dict[str, Any], **more: Any) -> Any:
        scenario = {
            "name": "ring",
            "topology": {"generate": "ring", "size": 4, "link_defaults": {"delay": "1ms"}},
            "clients": {
                "alice": {"at": "r1", "publish": [{"message": "n = 1", "every": "10ms", "count": 300}]},
                "bob": {"at": "r2", "subscribe": ["all"]},
                "carol": {"at": "r3", "subscribe": ["all"]},
            },
            "faults": list(faults),
            "timers": TIMERS,
            "timing": {"ready_timeout": "10s"},
            **more,
        }
        return simulate(make_plan(scenario))

    return run


def received(run: Any, client: str) -> list[int]:
    """When the messages that a client got were published, in ms from the start."""
    found = [e for e in run.events if e["event"] == "deliver" and e["node"] == client]
    return [(e["time_ns"] - e["latency_ns"] - run.outcome.start_ns) // MS for e in found]


def changes(run: Any) -> list[tuple[str, int]]:
    return [(e["event"], (e["time_ns"] - run.outcome.start_ns) // MS) for e in run.events if e["node"] == ""]


def test_a_link_that_goes_down_is_routed_around_and_the_run_records_when(ring: Callable[..., Any]) -> None:
    run = ring({"at": "1s", "link_down": "r1 - r2"})
    assert run.outcome.outcome == "complete", run.outcome.message
    (ready, _), (fault, at), (converged, again) = changes(run)
    assert (ready, fault, converged) == ("converged", "fault", "converged")
    assert at == 1000
    assert 1150 <= again <= 1350
    got = received(run, "bob")
    assert {*range(0, 3000, 10)} - {*got} == {*range(1000, 1300, 10)} - {*got} != set()
    assert len(got) == len(set(got))
    start, after = run.outcome.convergence
    assert (start.causes, after.causes) == (("start",), ("link_down r1--r2",))
    assert after.took_ns == (again - at) * MS


def test_a_crashed_router_comes_back_with_nothing_and_learns_all_anew(ring: Callable[..., Any]) -> None:
    run = ring({"at": "1s", "crash": "r2"}, {"at": "2s", "start": "r2"})
    assert run.outcome.outcome == "complete", run.outcome.message
    assert [c.causes for c in run.outcome.convergence] == [("start",), ("crash r2",), ("start r2",)]
    assert all(c.took_ns is not None for c in run.outcome.convergence)
    got = received(run, "bob")
    assert {t for t in range(0, 3000, 10) if t < 990 or t > 2400} <= {*got}
    assert not {t for t in got if 1000 <= t < 2000}


def test_a_router_that_pauses_for_less_than_the_hold_time_is_late_and_nothing_else(
    ring: Callable[..., Any],
) -> None:
    run = ring({"at": "1s", "pause": "r2"}, {"at": "1.1s", "resume": "r2"})
    assert len(received(run, "bob")) == 300
    late = [e["latency_ns"] for e in run.events if e["event"] == "deliver" and e["node"] == "bob"]
    assert 90 * MS < max(late) < 110 * MS


def test_a_router_that_pauses_for_longer_is_given_up_and_taken_back(ring: Callable[..., Any]) -> None:
    run = ring({"at": "1s", "pause": "r2"}, {"at": "1.8s", "resume": "r2"})
    assert run.outcome.outcome == "complete", run.outcome.message
    assert [c.took_ns is not None for c in run.outcome.convergence] == [True, True, True]
    assert {*range(1400, 1750, 10)} <= {*received(run, "carol")}, "by the other way"


def test_the_parts_of_a_partitioned_network_go_on_by_themselves(ring: Callable[..., Any]) -> None:
    run = ring({"at": "1s", "partition": [["r1", "r2"], ["r3", "r4"]]}, {"at": "2s", "heal": True})
    assert [len(c.causes) for c in run.outcome.convergence] == [1, 2, 2]
    assert {*range(1300, 2000, 10)} <= {*received(run, "bob")}
    assert not {*range(1010, 1990, 10)} & {*received(run, "carol")}
    assert {*range(2400, 3000, 10)} <= {*received(run, "carol")}


def test_a_client_that_leaves_and_returns_receives_what_is_published_while_it_is_there(
    ring: Callable[..., Any],
) -> None:
    run = ring({"at": "1s", "leave": "bob"}, {"at": "2s", "return": "bob"})
    got = {*received(run, "bob")}
    assert not got & {*range(1010, 2000, 10)}
    assert {*range(0, 990, 10)} | {*range(2300, 3000, 10)} <= got


def test_a_fault_before_the_network_converged_after_the_last_one_is_reported_so(
    ring: Callable[..., Any],
) -> None:
    run = ring({"at": "1s", "flap": {"link": "r1 - r2", "times": 2, "every": "100ms"}})
    took = [c.took_ns is not None for c in run.outcome.convergence]
    assert took[0]
    assert took[-1]
    assert len(took) == 5


def test_a_run_fails_that_does_not_get_over_its_last_fault_and_says_who_waits_for_what(
    ring: Callable[..., Any],
) -> None:
    run = ring({"at": "3s", "link_down": "r2 - r3"}, timing={"ready_timeout": "100ms"})
    assert run.outcome.outcome == "failed"
    assert "had not converged again after 0.1 s" in run.outcome.message
    assert "has not noticed that the link to" in run.outcome.message
    assert run.outcome.convergence[-1].took_ns is None


def test_faults_leave_the_random_streams_of_links_unchanged(ring: Callable[..., Any]) -> None:
    lossy = {
        "clients": {
            "alice": {
                "at": "r1",
                "access": {"loss": 0.3},
                "publish": [{"message": "n = 1", "every": "10ms", "count": 100}],
            },
            "bob": {"at": "r1", "subscribe": ["all"]},
        }
    }
    runs = [ring(*faults, **lossy) for faults in ((), ({"at": "900ms", "crash": "r3"},))]
    assert received(runs[0], "bob") == received(runs[1], "bob")
    assert 50 < len(received(runs[0], "bob")) < 90

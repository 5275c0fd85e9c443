"""Background traffic takes time and room on simulated links, is captured, and reaches nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.sim
MS = 1_000_000


@pytest.fixture
def loaded(simulate: Callable[..., Any], make_plan: Callable[..., Any]) -> Callable[..., Any]:
    """Run 20 messages, one each 10 ms, over a link of 1 Mbit/s that carries this background traffic."""

    def run(*flows: dict[str, Any], **link: Any) -> Any:
        scenario = {
            "name": "busy",
            "topology": {
                "routers": ["r1", "r2"],
                "links": [{"between": ["r1", "r2"], "rate": "1mbit", **link}],
            },
            "clients": {
                "alice": {"at": "r1", "publish": [{"message": "n = 1", "every": "10ms", "count": 20}]},
                "bob": {"at": "r2", "subscribe": ["all"]},
            },
            "background": list(flows),
        }
        return simulate(make_plan(scenario))

    return run


def latencies_ns(run: Any) -> list[int]:
    return sorted(e["latency_ns"] for e in run.events if e["event"] == "deliver")


FLOW = {"from": "r1", "to": "r2", "rate": "900kbit", "size": 1000, "at": "0s", "for": "1s"}


def test_messages_wait_behind_frames_of_background_traffic(loaded: Callable[..., Any]) -> None:
    alone, behind = latencies_ns(loaded()), latencies_ns(loaded(FLOW))
    assert len(alone) == len(behind) == 20
    assert alone[-1] < behind[-1] <= alone[-1] + 9 * MS, "a frame of 1,000 bytes takes 8 ms at 1 Mbit/s"


def test_a_full_queue_loses_both(loaded: Callable[..., Any]) -> None:
    run = loaded({**FLOW, "rate": "3mbit"}, queue_packets=2)
    assert 0 < len(latencies_ns(run)) < 20


def test_nobody_receives_it_and_it_is_no_disturbance(loaded: Callable[..., Any]) -> None:
    run = loaded(FLOW)
    assert len(run.outcome.convergence) == 1
    assert not [e for e in run.events if e["event"] == "fault"]


def test_it_is_in_the_captures_of_both_ends(loaded: Callable[..., Any]) -> None:
    run = loaded({**FLOW, "rate": "400kbit", "for": "180ms"})
    for name in ("r1-eth0", "r2-eth0"):
        data = (run.path / "captures" / f"{name}.pcap").read_bytes()
        assert data.count(b"\x88\xb5" + bytes(100)) == 9

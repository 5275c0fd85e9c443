"""Links that follow a trace, in the simulator: by plan, and so without a disturbance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sim
MS = 1_000_000


@pytest.fixture
def traced(simulate: Callable[..., Any], make_plan: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Run 30 messages, one each 10 ms, over a link that follows these rows."""

    def run(rows: str) -> Any:
        (tmp_path / "t.csv").write_text(rows, encoding="utf-8")
        scenario = {
            "name": "traced",
            "topology": {"routers": ["r1", "r2"], "links": [{"between": ["r1", "r2"], "delay": "1ms"}]},
            "clients": {
                "alice": {"at": "r1", "publish": [{"message": "n = 1", "every": "10ms", "count": 30}]},
                "bob": {"at": "r2", "subscribe": ["all"]},
            },
            "traces": [{"link": "r1 - r2", "file": "t.csv"}],
        }
        return simulate(make_plan(scenario))

    return run


def latencies_ms(run: Any) -> list[int]:
    found = [e for e in run.events if e["event"] == "deliver"]
    return [e["latency_ns"] // MS for e in sorted(found, key=lambda e: e["sequence"])]


def test_a_message_takes_as_long_as_the_trace_says_when_it_is_sent(traced: Callable[..., Any]) -> None:
    run = traced("time_ms,delay_ms\n0,1\n95,40\n195,3\n")
    access_ms = latencies_ms(run)[0] - 1
    assert latencies_ms(run) == [access_ms + delay for delay in [1] * 10 + [40] * 10 + [3] * 10]


def test_what_follows_a_trace_is_no_disturbance(traced: Callable[..., Any]) -> None:
    run = traced("time_ms,loss\n0,0\n95,1\n195,0\n")
    assert not [event for event in run.events if event["event"] == "fault"]
    assert len(run.outcome.convergence) == 1
    assert len(latencies_ms(run)) == 20

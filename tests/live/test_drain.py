"""When the traffic of a run has come to rest."""

from __future__ import annotations

from typing import Any

from testbed.live.traffic import Drain
from testbed.plan.model import LinkPlan, Plan, TimingPlan

SECOND = 1_000_000_000


def drain() -> Drain:
    link = LinkPlan("a-b", "a", "b", "a-eth0", "b-eth0")
    timing = TimingPlan(drain_quiet_ns=SECOND)
    return Drain(Plan("p", "", 1, "pif", {}, (), (link,), timing=timing))


def statuses(a: tuple[int, int], b: tuple[int, int]) -> dict[str, Any]:
    """(sent, received) at each end."""
    return {
        name: {
            "core": {},
            "interfaces": [{"name": f"{name}-eth0", "tx_messages": sent, "rx_messages": received}],
        }
        for name, (sent, received) in {"a": a, "b": b}.items()
    }


def test_rest_takes_two_polls_without_movement_and_ends_that_agree() -> None:
    watched = drain()
    assert not watched.at_rest(0, statuses((5, 2), (2, 5)))
    assert watched.at_rest(1, statuses((5, 2), (2, 5)))


def test_a_message_on_its_way_is_not_rest() -> None:
    watched = drain()
    assert not watched.at_rest(0, statuses((5, 0), (0, 4)))
    assert not watched.at_rest(1, statuses((5, 0), (0, 4)))
    assert watched.open == ["a-b ((5, 0) / (0, 4))"]
    assert not watched.at_rest(2, statuses((5, 0), (0, 5)))
    assert watched.at_rest(3, statuses((5, 0), (0, 5)))
    assert watched.open == []


def test_a_link_that_lost_messages_is_at_rest_after_the_quiet_time_and_is_named() -> None:
    watched = drain()
    for now_ns in (0, SECOND // 2):
        assert not watched.at_rest(now_ns, statuses((5, 0), (0, 4)))
    assert watched.at_rest(SECOND, statuses((5, 0), (0, 4)))
    assert watched.open


def test_movement_starts_the_quiet_time_anew() -> None:
    watched = drain()
    watched.at_rest(0, statuses((5, 0), (0, 4)))
    watched.at_rest(SECOND - 1, statuses((6, 0), (0, 4)))
    assert not watched.at_rest(SECOND, statuses((6, 0), (0, 4)))
    assert watched.at_rest(2 * SECOND - 1, statuses((6, 0), (0, 4)))


def test_a_router_that_holds_messages_back_to_recognise_patterns_is_not_at_rest() -> None:
    watched, seen = drain(), statuses((5, 5), (5, 5))
    seen["a"]["core"] = {"recognising": True}
    assert not watched.at_rest(0, seen)
    assert not watched.at_rest(1, seen)
    assert watched.at_rest(2, statuses((5, 5), (5, 5)))

"""Whole scenarios whose neighbours prove who they are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import UDP
from scapy.utils import PcapReader

from nodes.scheme_catalog import CATALOG
from nodes.wire.codec import split_datagram
from nodes.wire.packets import PORT, PacketType
from nodes.wire.seal import seal_of
from testbed.plan.load import load_plan
from testbed.plan.problems import ScenarioError

pytestmark = pytest.mark.sim
QUICKSTART = Path(__file__).parents[2] / "topologies" / "scenarios" / "quickstart.yaml"
CONTROL = (PacketType.HELLO, PacketType.CONTROL, PacketType.ACK)


def quickstart(**overrides: str) -> Any:
    return load_plan(QUICKSTART, overrides=overrides)


@pytest.mark.parametrize("scheme", sorted(CATALOG))
def test_every_scheme_delivers_the_same_over_the_same_hops(scheme: str, simulate: Callable[..., Any]) -> None:
    sealed = simulate(quickstart(scheme=scheme, **{"security.neighbours": "required"}))
    assert sealed.outcome.outcome == "complete", sealed.outcome.message
    assert set(sealed.deliveries()) == sealed.owed()
    assert len(sealed.deliveries()) == len(sealed.owed()) > 100


def test_all_that_neighbours_say_is_sealed_and_messages_are_not(simulate: Callable[..., Any]) -> None:
    run = simulate(quickstart(**{"security.neighbours": "required"}))
    seen = {True: 0, False: 0}
    for path in sorted(run.path.glob("captures/**/*.pcap")):
        for frame in PcapReader(str(path)):
            if UDP in frame and PORT in (frame[UDP].sport, frame[UDP].dport):
                for kind, packet in split_datagram(bytes(frame[UDP].payload)):
                    assert (seal_of(packet) is not None) == (kind in CONTROL)
                    seen[kind in CONTROL] += 1
    assert min(seen.values()) > 100


def test_a_sealed_run_repeats_itself_to_the_bit(simulate: Callable[..., Any]) -> None:
    plan = quickstart(**{"security.neighbours": "required"})
    one, other = simulate(plan), simulate(plan)
    files = sorted(path.relative_to(one.path) for path in one.path.glob("captures/**/*.pcap"))
    assert len(files) > 10
    for name in (*files, Path("events.jsonl")):
        assert (one.path / name).read_bytes() == (other.path / name).read_bytes()


REKEYED = {
    "name": "rekeyed",
    "topology": {
        "routers": ["r1", "r2", "r3"],
        "links": ["r1 - r2", "r2 - r3", "r3 - r1"],
        "link_defaults": {"delay": "4ms", "jitter": "3ms", "reorder": 0.1, "duplicate": 0.05},
    },
    "clients": {
        "alice": {
            "at": "r1",
            "publish": [
                {"message": {"price": {"uniform": [0, 99]}}, "every": "5ms", "count": 400, "from": "0s"}
            ],
        },
        "bob": {
            "at": "r2",
            "subscribe": [
                {"predicate": f"price < {n}", "at": f"{15 * n}ms", "until": "1800ms"} for n in range(20, 60)
            ],
        },
        "carol": {"at": "r3", "subscribe": ["price any integer"]},
    },
    "security": {"neighbours": "required"},
    "timers": {"hello_ms": 50, "hold_ms": 500},
}
SEALS_REFUSED = {"no_seal", "unknown_key", "wrong_seal", "repeated_seal"}


def refused(run: Any) -> dict[str, int]:
    """The packets that nodes refused for their seals, but for those that links have doubled."""
    found: Counter[str] = Counter()
    for path in (run.path / "logs").glob("*.status.json"):
        found.update(json.loads(path.read_text(encoding="utf-8"))["drops"]["control"])
    return {reason: found[reason] for reason in SEALS_REFUSED - {"repeated_seal"} if found[reason]}


def rekeyed(*faults: dict[str, str]) -> dict[str, Any]:
    return {**REKEYED, "faults": [*faults]}


def test_keys_are_changed_while_messages_and_subscriptions_flow_and_nobody_notices(
    simulate: Callable[..., Any],
) -> None:
    changes = [{"at": f"{at}ms", "rekey": "links, access"} for at in (200, 300, 301, 900)]
    run, undisturbed = simulate(rekeyed(*changes)), simulate(rekeyed())
    assert run.outcome.outcome == "complete", run.outcome.message
    assert [event["do"] for event in run.events if event["event"] == "fault"] == ["rekey"] * 4 * 6
    assert run.deliveries() == undisturbed.deliveries() != []
    assert refused(run) == {}


def test_who_stands_still_or_is_down_meanwhile_has_the_new_keys_when_it_goes_on(
    simulate: Callable[..., Any],
) -> None:
    breaks = {"at": "200ms", "pause": "r3", "for": "200ms"}, {"at": "500ms", "crash": "r2", "for": "200ms"}
    changes = [{"at": f"{at}ms", "rekey": "links, access"} for at in (300, 600, 650)]
    run = simulate(rekeyed(*breaks, *changes))
    assert run.outcome.outcome == "complete", run.outcome.message
    assert refused(run) == {}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"security": {"neighbours": "off"}}, "links have no keys"),
        ({"clients": {"carol": {"at": "r3", "run": "true"}}}, "carol is a program, which reads keys only"),
    ],
)
def test_a_link_without_keys_or_of_a_program_gets_no_new_key(
    changed: dict[str, Any], why: str, make_plan: Callable[[Any], Any]
) -> None:
    with pytest.raises(ScenarioError, match=why):
        make_plan({**rekeyed({"at": "1s", "rekey": "access"}), **changed})

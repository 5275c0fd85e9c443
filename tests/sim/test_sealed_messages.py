"""Whole scenarios whose datagrams of messages are sealed."""

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
from nodes.wire.datagram_seal import seal_of_datagram
from nodes.wire.packets import PORT, PacketType
from testbed.plan.load import load_plan
from testbed.plan.problems import ScenarioError
from tests.sim.test_sealed_runs import QUICKSTART, REKEYED

pytestmark = pytest.mark.sim
SEALED = {"neighbours": "required", "messages": "required"}
REFUSED = ("NO_SEAL", "UNKNOWN_KEY", "WRONG_SEAL", "OTHER_SESSION")


def sealed(mode: str = "required", **changed: Any) -> dict[str, Any]:
    """The scenario of keys that change, with messages sealed."""
    return {**REKEYED, "security": {"neighbours": "required", "messages": mode}, **changed}


def quickstart(**overrides: str) -> Any:
    security = {f"security.{name}": mode for name, mode in SEALED.items()}
    return load_plan(QUICKSTART, overrides={**security, **overrides})


def refused(run: Any) -> dict[str, int]:
    """By reason, the messages that nodes refused for their seals, but for those that links have doubled."""
    found: Counter[str] = Counter()
    for path in (run.path / "logs").glob("*.status.json"):
        found.update(json.loads(path.read_text(encoding="utf-8"))["drops"].get("forwarding", {}))
    return {reason: found[reason] for reason in REFUSED if found[reason]}


def datagrams(run: Any) -> list[tuple[list[PacketType], bytes]]:
    """All that went over links, with the types of its packets."""
    frames = [f for path in sorted(run.path.glob("captures/**/*.pcap")) for f in PcapReader(str(path))]
    found = [bytes(f[UDP].payload) for f in frames if UDP in f and PORT in (f[UDP].sport, f[UDP].dport)]
    return [([kind for kind, _ in split_datagram(datagram)], datagram) for datagram in found]


@pytest.mark.parametrize("scheme", sorted(CATALOG))
def test_every_scheme_delivers_the_same_with_sealed_messages(
    scheme: str, simulate: Callable[..., Any]
) -> None:
    run = simulate(quickstart(scheme=scheme))
    assert run.outcome.outcome == "complete", run.outcome.message
    assert set(run.deliveries()) == run.owed()
    assert len(run.deliveries()) == len(run.owed()) > 100
    assert refused(run) == {}


def test_every_datagram_of_messages_ends_with_a_seal_and_no_other(simulate: Callable[..., Any]) -> None:
    seen = Counter[bool]()
    for kinds, datagram in datagrams(simulate(quickstart())):
        has_message = PacketType.MESSAGE in kinds
        assert kinds.count(PacketType.SEAL) == has_message
        assert (seal_of_datagram(datagram) is not None) == has_message
        seen[has_message] += 1
    assert min(seen.values()) > 100


def test_a_run_with_sealed_messages_repeats_itself_to_the_bit(simulate: Callable[..., Any]) -> None:
    one, other = simulate(quickstart()), simulate(quickstart())
    files = sorted(path.relative_to(one.path) for path in one.path.glob("captures/**/*.pcap"))
    assert len(files) > 10
    for name in (*files, Path("events.jsonl")):
        assert (one.path / name).read_bytes() == (other.path / name).read_bytes()


def test_keys_are_changed_while_sealed_messages_flow_and_none_is_lost(simulate: Callable[..., Any]) -> None:
    changes = [{"at": f"{at}ms", "rekey": "links, access"} for at in (200, 300, 301, 900)]
    run, undisturbed = simulate(sealed(faults=changes)), simulate(sealed())
    assert run.outcome.outcome == "complete", run.outcome.message
    assert run.deliveries() == undisturbed.deliveries() != []
    assert refused(run) == {}


def test_sealed_messages_go_on_after_a_crash_a_pause_and_a_link_that_was_down(
    simulate: Callable[..., Any],
) -> None:
    faults = [
        {"at": "200ms", "pause": "r3", "for": "200ms"},
        {"at": "300ms", "rekey": "links, access"},
        {"at": "500ms", "crash": "r2", "for": "200ms"},
        {"at": "600ms", "rekey": "links, access"},
        {"at": "900ms", "link_down": "r1 - r3", "for": "700ms"},
    ]
    plain = {
        **REKEYED["topology"],
        "link_defaults": {"delay": "4ms"},
    }  # else a copy more or less changes all draws
    run, without = (simulate(sealed(mode, faults=faults, topology=plain)) for mode in ("required", "off"))
    assert run.outcome.outcome == "complete", run.outcome.message
    assert set(run.deliveries()) == set(without.deliveries()) != set()


def test_a_datagram_that_a_link_doubles_is_taken_once(simulate: Callable[..., Any]) -> None:
    doubling = {**REKEYED["topology"], "link_defaults": {"delay": "1ms", "duplicate": 1.0}}
    plain = simulate({**sealed("off", topology=doubling)})
    proved = simulate(sealed(topology=doubling))
    assert len(plain.deliveries()) > len(set(plain.deliveries()))
    assert len(proved.deliveries()) == len(set(proved.deliveries())) == len(set(plain.deliveries()))


def test_messages_are_sealed_at_most_as_strictly_as_neighbours_prove_who_they_are(
    make_plan: Callable[[Any], Any],
) -> None:
    with pytest.raises(ScenarioError, match="messages is required, but neighbours is permissive"):
        make_plan({**REKEYED, "security": {"neighbours": "permissive", "messages": "required"}})


def test_the_largest_message_leaves_room_for_the_seal(make_plan: Callable[[Any], Any]) -> None:
    def with_text(size: int) -> dict[str, Any]:
        publish = [{"message": {"text": "x" * size}, "at": "1s"}]
        return sealed(clients={"alice": {"at": "r1", "publish": publish}})

    fitting = 1500 - 28 - 40 - 36 - 2 - len("text") - 2
    make_plan(with_text(fitting))
    with pytest.raises(ScenarioError, match="less 28 for IP and UDP and 40 for the seal"):
        make_plan(with_text(fitting + 1))

"""Whole scenarios whose routers sign what others pass on of them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import UDP
from scapy.utils import PcapReader

from nodes.scheme_catalog import CATALOG
from nodes.wire.codec import decode, split_datagram
from nodes.wire.packets import PORT, Control, Kind, PacketType
from nodes.wire.signature import REMEMBERED, SIGNATURE_BYTES, SIGNED, proves, remember
from testbed.plan.keys import Keys
from testbed.plan.load import load_plan
from testbed.plan.problems import ScenarioError

pytestmark = pytest.mark.sim
QUICKSTART = Path(__file__).parents[2] / "topologies" / "scenarios" / "quickstart.yaml"
REKEYED = {
    "name": "rekeyed",
    "topology": {"routers": ["r1", "r2", "r3", "r4"], "links": ["r1 - r2", "r2 - r3", "r3 - r4", "r4 - r1"]},
    "security": {"neighbours": "required", "records": "signed"},
    "timers": {"hello_ms": 50, "hold_ms": 200},
    "clients": {
        "alice": {
            "at": "r1",
            "publish": [{"message": {"n": 1}, "every": "20ms", "count": 250, "from": "0s"}],
        },
        "bob": {"at": "r3", "subscribe": ["n = 1"]},
    },
}
OF_CHANGES = {Kind.INTEREST_CHANGE, Kind.OFFER_CHANGE}
REFUSED = {"wrong_signature", "unknown_signer", "malformed_payload"}


def quickstart(**overrides: str) -> Any:
    return load_plan(QUICKSTART, overrides={"security.records": "signed", **overrides})


@pytest.mark.parametrize("scheme", sorted(CATALOG))
def test_every_scheme_delivers_the_same_and_refuses_nothing(
    scheme: str, simulate: Callable[..., Any]
) -> None:
    signed = simulate(quickstart(scheme=scheme))
    assert signed.outcome.outcome == "complete", signed.outcome.message
    assert set(signed.deliveries()) == signed.owed()
    assert len(signed.deliveries()) == len(signed.owed()) > 100
    texts = [path.read_text(encoding="utf-8") for path in signed.path.glob("logs/r*.status.json")]
    drops = [json.loads(text)["drops"]["control"].keys() for text in texts]
    assert drops
    assert not any(REFUSED & each for each in drops)


@pytest.mark.parametrize("scheme", sorted(CATALOG))
def test_routers_get_other_keys_one_after_the_other_and_all_believe_them(
    scheme: str, simulate: Callable[..., Any], make_plan: Callable[[Any], Any]
) -> None:
    faults = [
        {"at": f"{at}ms", "rekey_router": router} for at, router in ((300, "r2"), (900, "r3"), (1500, "r2"))
    ]
    run = simulate(make_plan({**REKEYED, "scheme": scheme, "faults": faults}))
    assert run.outcome.outcome == "complete", run.outcome.message
    recovered_ns = max(event["time_ns"] for event in run.events if event["event"] == "converged")
    late = [e for e in run.events if e["event"] == "publish" and e["time_ns"] > recovered_ns]
    assert len(late) > 50
    arrived = Counter((e["source"], e["sequence"]) for e in run.events if e["event"] == "deliver")
    assert all(arrived[e["source"], e["sequence"]] == 1 for e in late)


def test_routers_that_do_not_sign_get_no_key_to_sign_with(make_plan: Callable[[Any], Any]) -> None:
    unsigned = {**REKEYED, "security": {"records": "off"}, "faults": [{"at": "1s", "rekey_router": "r2"}]}
    with pytest.raises(ScenarioError, match="routers have no keys to sign with"):
        make_plan(unsigned)


@pytest.mark.parametrize("scheme", ["pif", "cbcb", "bs"])
def test_all_records_that_cross_a_link_are_signed_by_whom_they_are_of(
    scheme: str, simulate: Callable[..., Any]
) -> None:
    plan = quickstart(scheme=scheme, **{"security.neighbours": "required"})
    run, seen = simulate(plan), Counter[int]()
    secret = hashlib.sha256(f"cbn simulator {plan.seed}".encode()).digest()
    signers = Keys(secret).signers(node.node_id for node in plan.routers)
    for control in controls(run.path):
        seen[control.kind] += 1
        if control.kind in SIGNED - OF_CHANGES:
            assert control.first
            assert control.last
            record, signature = control.fragment[:-SIGNATURE_BYTES], control.fragment[-SIGNATURE_BYTES:]
            public = signers[int.from_bytes(record[:4], "big")]
            assert proves(control.kind, record, signature, public)
    assert len(SIGNED & seen.keys()) >= 2
    assert seen[Kind.LINK_STATE] > 20


def controls(run: Path) -> Iterator[Control]:
    """The CONTROL packets in the captures of a run."""
    for path in sorted(run.glob("captures/**/*.pcap")):
        for frame in PcapReader(str(path)):
            if UDP in frame and PORT in (frame[UDP].sport, frame[UDP].dport):
                for kind, packet in split_datagram(bytes(frame[UDP].payload)):
                    control = decode(packet) if kind == PacketType.CONTROL else None
                    if isinstance(control, Control):
                        yield control


def test_a_signed_run_repeats_itself_to_the_bit_whatever_was_remembered(simulate: Callable[..., Any]) -> None:
    one = simulate(quickstart())
    remember(REMEMBERED)
    other = simulate(quickstart())
    files = sorted(path.relative_to(one.path) for path in one.path.glob("captures/**/*.pcap"))
    assert len(files) > 10
    for name in (*files, Path("events.jsonl")):
        assert (one.path / name).read_bytes() == (other.path / name).read_bytes()

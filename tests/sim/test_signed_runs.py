"""Whole scenarios whose routers sign what others pass on of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import UDP
from scapy.utils import PcapReader

from fastpath.wire.codec import split_signature
from nodes.scheme_catalog import CATALOG
from nodes.wire.codec import decode, split_datagram
from nodes.wire.packets import PORT, Control, PacketType
from nodes.wire.signature import SIGNATURE_BYTES, SIGNED, forget
from testbed.plan.load import load_plan

pytestmark = pytest.mark.sim
QUICKSTART = Path(__file__).parents[2] / "topologies" / "scenarios" / "quickstart.yaml"
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


def test_all_records_that_cross_a_link_are_signed(simulate: Callable[..., Any]) -> None:
    run = simulate(quickstart(**{"security.neighbours": "required"}))
    seen = dict.fromkeys(SIGNED, 0)
    for path in sorted(run.path.glob("captures/**/*.pcap")):
        for frame in PcapReader(str(path)):
            if UDP in frame and PORT in (frame[UDP].sport, frame[UDP].dport):
                for kind, packet in split_datagram(bytes(frame[UDP].payload)):
                    control = decode(packet) if kind == PacketType.CONTROL else None
                    if isinstance(control, Control) and control.kind in SIGNED:
                        assert len(split_signature(control.kind, control.fragment)[1]) == SIGNATURE_BYTES
                        seen[control.kind] += 1
    assert sum(seen.values()) > 20


def test_a_signed_run_repeats_itself_to_the_bit_whatever_was_remembered(simulate: Callable[..., Any]) -> None:
    one = simulate(quickstart())
    forget()
    other = simulate(quickstart())
    files = sorted(path.relative_to(one.path) for path in one.path.glob("captures/**/*.pcap"))
    assert len(files) > 10
    for name in (*files, Path("events.jsonl")):
        assert (one.path / name).read_bytes() == (other.path / name).read_bytes()

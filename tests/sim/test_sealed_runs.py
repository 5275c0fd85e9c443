"""Whole scenarios whose neighbours prove who they are."""

from __future__ import annotations

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

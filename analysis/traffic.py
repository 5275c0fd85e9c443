"""What the protocols themselves cost, by kind of packet: sums over the traffic of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from analysis.findings import NO_CONTROL, Traffic
from analysis.rundir import Run
from nodes.wire.packets import Kind, PacketType


def control_columns(run: Run, traffic: Sequence[Traffic]) -> dict[str, list[Any]]:
    """Packets and bytes by link and kind of packet."""
    links = {c.interface.name: run.plan.links[c.interface.link].name for c in run.captures}
    packets: Counter[tuple[str, str]] = Counter()
    size: Counter[tuple[str, str]] = Counter()
    for each in traffic:
        if each.type not in NO_CONTROL and each.interface in links:
            key = (links[each.interface], kind_name(each.type, each.kind))
            packets[key] += each.packets
            size[key] += each.bytes
    rows = sorted(packets)
    return {
        "link": [link for link, _ in rows],
        "kind_name": [name for _, name in rows],
        "packets": [packets[key] for key in rows],
        "bytes": [size[key] for key in rows],
    }


def control_by_kind(traffic: Iterable[Traffic]) -> dict[str, dict[str, int]]:
    """Packets and bytes of each kind of control payload, and of packets without one, largest first."""
    sums: dict[str, dict[str, int]] = {}
    for row in traffic:
        if row.type not in NO_CONTROL:
            load = sums.setdefault(kind_name(row.type, row.kind), {"packets": 0, "bytes": 0})
            load["packets"] += row.packets
            load["bytes"] += row.bytes
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1]["bytes"], pair[0])))


def kind_name(packet_type: int, kind: int | None) -> str:
    """`HELLO`, `INTEREST`, `CBCB_RA`; of a kind that is not known, its number."""
    known = {int(k): k.name for k in Kind} if kind is not None else {int(t): t.name for t in PacketType}
    number = packet_type if kind is None else kind
    return known.get(number, f"kind {number}")

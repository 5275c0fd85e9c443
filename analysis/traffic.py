"""What the protocols themselves cost, by kind of packet: sums over the traffic of a run."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.findings import NO_CONTROL, Traffic
from nodes.wire.packets import Kind, PacketType


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

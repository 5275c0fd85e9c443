"""The part of `verdict.json` about the scheme: its trees, its latency, its control traffic, its state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from analysis.findings import Findings, SchemeFindings, Traffic
from analysis.network import HELD, RouterState
from nodes.scheme_formulas import formula
from nodes.wire.packets import Kind, PacketType


def to_scheme(findings: Findings) -> dict[str, Any]:
    """The value of the key `scheme`."""
    name, found = str(findings.run.manifest.get("scheme", "")), findings.scheme
    trees = found.trees
    return {
        "name": name,
        "trees": asdict(trees) | {"ratio": round(trees.crossings / trees.ideal, 4) if trees.ideal else None},
        "stretch": asdict(found.stretch) if found.stretch else None,
        "control": control_by_kind(findings.traffic),
        "state": _state(name, found),
    }


def control_by_kind(traffic: Iterable[Traffic]) -> dict[str, dict[str, int]]:
    """Packets and bytes of each kind of control payload, and of packets without one, largest first."""
    sums: dict[str, dict[str, int]] = {}
    for row in traffic:
        if row.type != PacketType.MESSAGE:
            load = sums.setdefault(kind_name(row.type, row.kind), {"packets": 0, "bytes": 0})
            load["packets"] += row.packets
            load["bytes"] += row.bytes
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1]["bytes"], pair[0])))


def kind_name(packet_type: int, kind: int | None) -> str:
    """`HELLO`, `INTEREST`, `CBCB_RA`; of a kind that is not known, its number."""
    known = {int(k): k.name for k in Kind} if kind is not None else {int(t): t.name for t in PacketType}
    number = packet_type if kind is None else kind
    return known.get(number, f"kind {number}")


def _state(name: str, found: SchemeFindings) -> dict[str, Any] | None:
    """Sums over the routers, and the paper's formula with alpha = 1 where there is one."""
    if not found.states:
        return None
    bits = formula(name, found.figures) if found.figures else None
    return {
        "routers": len(found.states),
        **totals(found.states),
        "formula_bytes": None if bits is None else round(bits / 8),
    }


def totals(states: Sequence[RouterState]) -> dict[str, int]:
    """The sum of each count over all routers."""
    return {key: sum(state.held[key] for state in states) for key in HELD}

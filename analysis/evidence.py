"""What the captures of a run can prove: which of them hold all frames, and whose frames these are.

Nothing is concluded from the absence of a packet in a capture that is incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analysis.findings import Ingested
from analysis.rundir import Capture, Run
from nodes.wire.packets import Role
from testbed.plan.model import NodePlan

GAPS = {
    "truncated_file": "it ends within a frame",
    "truncated": "frames were captured in part",
    "ip_fragments": "datagrams lack fragments",
    "damaged_file": "it is damaged",
    "bad_block": "blocks in it are damaged",
    "untimed": "frames have no time",
    "unknown_link": "frames are of another kind of link",
    "foreign": "frames have the addresses of another link",
}
"""What was skipped in a capture that is incomplete, and what that means."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Which captures are incomplete, by interface, and why."""

    run: Run
    gaps: Mapping[str, str]

    @property
    def unseen_clients(self) -> list[int]:
        """Clients to which what is sent was not captured completely."""
        return [peer.node_id for _, peer in self._unseen() if peer.role is Role.CLIENT]

    @property
    def partial_routers(self) -> list[int]:
        """Routers of which some interface was not captured completely."""
        return sorted({router.node_id for router, _ in self._unseen()})

    @property
    def partial_ways(self) -> list[tuple[int, int]]:
        """From which router to which other node the sending side was not captured completely."""
        return [(router.node_id, peer.node_id) for router, peer in self._unseen()]

    def _unseen(self) -> Iterator[tuple[NodePlan, NodePlan]]:
        """Each interface that was not captured completely: its router, and the node at the other end."""
        complete = {c.interface.name for c in self.run.captures} - {*self.gaps}
        nodes = {node.name: node for node in self.run.plan.nodes}
        for router in self.run.plan.routers:
            for interface in router.interfaces:
                if interface.name not in complete:
                    yield router, nodes[interface.peer]

    def problems(self) -> list[str]:
        """A line for each incomplete capture."""
        return [
            f"The capture of {name} is incomplete: {why}. Deliveries that need it are unknown, not missing."
            for name, why in self.gaps.items()
        ]


def evidence_of(run: Run, ingested: Ingested) -> Evidence:
    """What the captures were found to be."""
    gaps = {c.interface.name: why for c in run.captures if (why := _gap(c, ingested))}
    return Evidence(run, gaps)


def _gap(capture: Capture, ingested: Ingested) -> str:
    """Why a capture is incomplete; empty: it is complete."""
    name = capture.interface.name
    if name in ingested.unreadable:
        return "a file of it is missing or cannot be read"
    counts = ingested.captures.get(name, {})
    reasons = [f"{why} ({counts[skip]:,})" for skip, why in GAPS.items() if counts.get(skip)]
    if capture.drops:
        reasons.append(f"{capture.drops:,} frames were dropped")
    if capture.frames != counts.get("records", 0):
        reasons.append(f"it holds {counts.get('records', 0):,} frames, and the index says {capture.frames:,}")
    return ", ".join(reasons)


def swapped_access(run: Run, ingested: Ingested) -> list[tuple[str, str]]:
    """Pairs of captures that each have the frames of the other's link."""
    owners = {
        frozenset((i.mac, i.peer_mac)): i.name for router in run.plan.routers for i in router.interfaces
    }
    true = {name: owners.get(frozenset(ends), "") for name, ends in ingested.foreign.items()}
    return [(a, b) for a, b in true.items() if a < b and true.get(b) == a]

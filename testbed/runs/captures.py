"""`captures/index.json`: which file is which interface, the same from every world.

Not here: capturing itself, and the files' own format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.plan.model import InterfacePlan, Plan
from testbed.runs.directory import RunDirectory


@dataclass(frozen=True, slots=True)
class Captured:
    """What one interface's file holds, and what it had to let go."""

    packets: int
    bytes: int
    drops: int


def capture_name(interface: InterfacePlan) -> str:
    """The file of an interface within `captures/`."""
    return f"{interface.name}.pcap"


def write_capture_index(
    plan: Plan, directory: RunDirectory, start_ns: int, captured: Mapping[str, Captured]
) -> None:
    """Write the index of the captured interfaces (by name), ordered by node id and interface index."""
    nodes = {node.name: node for node in plan.nodes}
    rows = []
    for node in plan.routers:
        for interface in node.interfaces:
            got = captured.get(interface.name)
            if got is None:
                continue
            peer = nodes[interface.peer]
            rows.append(
                {
                    "file": capture_name(interface),
                    "interface": interface.name,
                    "node": node.name,
                    "node_id": node.node_id,
                    "mac": interface.mac,
                    "peer": peer.name,
                    "peer_id": peer.node_id,
                    "peer_role": peer.role.name.lower(),
                    "link": plan.links[interface.link].name,
                    "packets": got.packets,
                    "bytes": got.bytes,
                    "drops": got.drops,
                }
            )
    index = {"interfaces": rows, "start_ns": start_ns, "snap_bytes": plan.record.snap_bytes}
    directory.write_json(f"{directory.captures.name}/index.json", index)

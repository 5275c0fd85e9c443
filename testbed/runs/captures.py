"""`captures/index.json`: which files belong to which interface; every world writes it the same way.

Not here: capturing itself, and the files' own format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from testbed.plan.model import InterfacePlan, NodePlan, Plan
from testbed.runs.directory import RunDirectory


@dataclass(frozen=True, slots=True)
class Captured:
    """What one interface's files hold, and how many frames are missing in them."""

    packets: int
    bytes: int
    drops: int
    files: int = 1
    decoded: str = ""
    """The machine of a cluster that has decoded them into rows, which are there in their place."""


@dataclass(frozen=True, slots=True)
class CaptureFigures:
    """How capturing one interface went, in detail: what a world reports as losses."""

    interface: str
    packets: int
    bytes: int
    kernel_drops: int
    """Frames there was no room for when they passed: the machine was too slow."""
    write_errors: int
    """Frames the disk would not take."""
    read_errors: int
    """Errors of the interface, such as going down."""
    gone: bool
    """Whether the interface was no more when the capture ended."""


def captured_interfaces(plan: Plan) -> Iterator[tuple[NodePlan, InterfacePlan]]:
    """What a run captures, ordered by node id and interface index."""
    if plan.record.captures:
        for node in plan.nodes if plan.record.clients else plan.routers:
            for interface in node.interfaces:
                yield node, interface


def capture_name(interface: InterfacePlan, plan: Plan, number: int = 0) -> str:
    """A file of an interface within `captures/`: its only one, or its first, or a later one."""
    later = f".{number}" if number else ""
    return f"{interface.name}{later}.{plan.record.format}"


def write_capture_index(
    plan: Plan, directory: RunDirectory, start_ns: int, captured: Mapping[str, Captured]
) -> None:
    """Write the index of the captured interfaces (by name), ordered by node id and interface index."""
    nodes = {node.name: node for node in plan.nodes}
    rows = [
        _row(plan, node, interface, nodes[interface.peer], captured[interface.name])
        for node, interface in captured_interfaces(plan)
        if interface.name in captured
    ]
    index = {
        "interfaces": rows,
        "start_ns": start_ns,
        "snap_bytes": plan.record.snap_bytes,
        "format": plan.record.format,
    }
    directory.write_json(f"{directory.captures.name}/index.json", index)


def _row(
    plan: Plan, node: NodePlan, interface: InterfacePlan, peer: NodePlan, got: Captured
) -> dict[str, object]:
    names = [] if got.decoded else [capture_name(interface, plan, number) for number in range(got.files)]
    return {
        "file": names[0] if names else None,
        "files": names,
        **({"decoded": got.decoded} if got.decoded else {}),
        "interface": interface.name,
        "node": node.name,
        "node_id": node.node_id,
        "role": node.role.name.lower(),
        "mac": interface.mac,
        "peer": peer.name,
        "peer_id": peer.node_id,
        "peer_role": peer.role.name.lower(),
        "link": plan.links[interface.link].name,
        "frames": got.packets,
        "bytes": got.bytes,
        "drops": got.drops,
    }

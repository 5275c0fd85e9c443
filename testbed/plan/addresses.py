"""Gives every end of every link its interface: index, name, address and MAC.

A /30 a link out of 10.0.0.0/8, in order of the links, so that addresses depend
on nothing but the scenario. Interfaces are numbered in order of the links too.
"""

from __future__ import annotations

from ipaddress import IPv4Address

from nodes.wire.packets import Role
from testbed.plan.graph import Graph, Wire
from testbed.plan.model import InterfacePlan, LinkPlan, NodePlan

PREFIX_LENGTH = 30
_BASE = int(IPv4Address("10.0.0.0"))


def address(link: int, end: int) -> str:
    """The address of a link's end: 0 for `a`, 1 for `b`."""
    return str(IPv4Address(_BASE + 4 * link + 1 + end))


def mac(link: int, end: int) -> str:
    """A locally administered MAC that says which link and end it belongs to."""
    return ":".join(f"{byte:02x}" for byte in (2, *link.to_bytes(4, "big"), end))


def lay_out(graph: Graph) -> tuple[list[NodePlan], list[LinkPlan]]:
    """Nodes (without scripts) and links, with all that any world needs to address them."""
    interfaces: dict[str, list[InterfacePlan]] = {n: [] for n in (*graph.routers, *graph.clients)}
    links = [_link(i, wire, interfaces) for i, wire in enumerate(graph.wires)]
    nodes = [
        NodePlan(
            name,
            i,
            Role.ROUTER if name in graph.routers else Role.CLIENT,
            tuple(interfaces[name]),
            tags=graph.tags.get(name, ()),
        )
        for i, name in enumerate(interfaces, 1)
    ]
    return nodes, links


def _link(link: int, wire: Wire, interfaces: dict[str, list[InterfacePlan]]) -> LinkPlan:
    names = []
    for end, (node, peer) in enumerate(((wire.a, wire.b), (wire.b, wire.a))):
        made = _interface(len(interfaces[node]), node, peer, link, end)
        interfaces[node].append(made)
        names.append(made.name)
    return LinkPlan(
        f"{wire.a}--{wire.b}",
        wire.a,
        wire.b,
        a_interface=names[0],
        b_interface=names[1],
        cost=wire.cost,
        mtu=wire.mtu,
        impairment=wire.impairment,
        back=wire.back,
        tags=wire.tags,
    )


def _interface(index: int, node: str, peer: str, link: int, end: int) -> InterfacePlan:
    return InterfacePlan(
        index=index,
        name=f"{node}-eth{index}",
        link=link,
        address=address(link, end),
        prefix_length=PREFIX_LENGTH,
        mac=mac(link, end),
        peer=peer,
        peer_address=address(link, 1 - end),
        peer_mac=mac(link, 1 - end),
    )

"""The configuration of a node, made of the Plan: the same in every world but for its paths."""

from __future__ import annotations

from nodes.config import MILLISECOND_NS, InterfaceConfig, NodeConfig
from testbed.plan.keys import Keys
from testbed.plan.model import InterfacePlan, NodePlan, Plan


def node_config(
    plan: Plan,
    node: NodePlan,
    run_id: str,
    *,
    keys: Keys | None = None,
    keys_path: str = "",
    log_path: str = "",
    events_path: str = "",
    admin_socket: str = "",
    script_path: str = "",
    dilate: int = 1,
    dilate_from_ns: int = 0,
) -> NodeConfig:
    """The configuration of one node of the plan in one run, whose time may be slowed.

    Args:
        plan: Of the experiment.
        node: Which node.
        run_id: Of the run.
        keys: Of the run's links, for a plan whose links have any.
        keys_path: Where they stand, for a node that reads them from a file; the other paths likewise.
        log_path: Of its log.
        events_path: Of its events.
        admin_socket: On which it answers.
        script_path: Of its script.
        dilate: How many times slower its time goes.
        dilate_from_ns: When both times were the same.
    """
    peers = {n.name: n for n in plan.nodes}
    keys = keys if plan.security.seals else None
    return NodeConfig(
        name=node.name,
        node_id=node.node_id,
        role=node.role,
        run_id=run_id,
        seed=plan.seed,
        interfaces=tuple(_interface(plan, i, peers[i.peer], keys) for i in node.interfaces),
        scheme=plan.scheme,
        scheme_options=plan.scheme_options,
        timers=plan.timers,
        limits=plan.limits,
        security=plan.security,
        keys_path=keys_path,
        hop_limit=plan.hop_limit,
        settle_ms=-(-plan.timing.settle_ns // MILLISECOND_NS),
        log_path=log_path,
        events_path=events_path,
        admin_socket=admin_socket,
        script_path=script_path,
        dilate=dilate,
        dilate_from_ns=dilate_from_ns,
    )


def _interface(plan: Plan, interface: InterfacePlan, peer: NodePlan, keys: Keys | None) -> InterfaceConfig:
    link = plan.links[interface.link]
    return InterfaceConfig(
        index=interface.index,
        name=interface.name,
        address=interface.address,
        peer_address=interface.peer_address,
        peer_name=interface.peer,
        peer_id=peer.node_id,
        peer_role=peer.role,
        cost=link.cost,
        mtu=link.mtu,
        keys=() if keys is None else keys.of(interface.link),
    )

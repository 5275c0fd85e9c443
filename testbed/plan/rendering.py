"""The configuration of a node, made of the Plan: the same in every world but for its paths."""

from __future__ import annotations

from nodes.config import MILLISECOND_NS, InterfaceConfig, NodeConfig
from nodes.wire.packets import Role
from testbed.plan.keys import Keys
from testbed.plan.model import InterfacePlan, NodePlan, Plan


def node_config(
    plan: Plan,
    node: NodePlan,
    run_id: str,
    *,
    keys: Keys | None = None,
    keys_path: str = "",
    signers_path: str = "",
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
        keys: Of the run, for a plan whose links or routers have any.
        keys_path: Where its own stand, for a node that reads them from a file; the other paths likewise.
        signers_path: Where the public keys of all routers stand.
        log_path: Of its log.
        events_path: Of its events.
        admin_socket: On which it answers.
        script_path: Of its script.
        dilate: How many times slower its time goes.
        dilate_from_ns: When both times were the same.
    """
    peers = {n.name: n for n in plan.nodes}
    of_links = keys if plan.security.seals else None
    of_routers = keys if plan.security.signs and node.role is Role.ROUTER else None
    return NodeConfig(
        name=node.name,
        node_id=node.node_id,
        role=node.role,
        run_id=run_id,
        seed=plan.seed,
        interfaces=tuple(_interface(plan, i, peers[i.peer], of_links) for i in node.interfaces),
        scheme=plan.scheme,
        scheme_options=plan.scheme_options,
        timers=plan.timers,
        limits=plan.limits,
        security=plan.security,
        keys_path=keys_path,
        signing_seed=b"" if of_routers is None else of_routers.signing_seed(node.node_id),
        signers_path=signers_path,
        signers={} if of_routers is None else of_routers.signers(n.node_id for n in plan.routers),
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
        policy=peer.policy,
    )

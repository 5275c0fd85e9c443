"""Networks whose routers sign what others pass on of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nodes.config import NodeConfig, RecordSigning
from nodes.wire.packets import Role
from nodes.wire.signature import Signer, signer_seed

SECRET = b"the secret of tests, of 32 bytes"


def signer(node: int) -> Signer:
    """Signs in the name of a router of tests."""
    return Signer(signer_seed(SECRET, node))


def signed(configs: Mapping[str, NodeConfig]) -> dict[str, NodeConfig]:
    """The same nodes, whose routers sign their records and have the public keys of all."""
    routers = [config.node_id for config in configs.values() if config.role is Role.ROUTER]
    signers = {node: signer(node).public for node in routers}
    return {name: _signed(config, signers) for name, config in configs.items()}


def _signed(config: NodeConfig, signers: Mapping[int, bytes]) -> NodeConfig:
    security = replace(config.security, records=RecordSigning.SIGNED)
    if config.role is not Role.ROUTER:
        return replace(config, security=security)
    seed = signer_seed(SECRET, config.node_id)
    return replace(config, security=security, signing_seed=seed, signers=signers)

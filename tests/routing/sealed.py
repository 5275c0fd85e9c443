"""Networks whose neighbours prove to each other who they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nodes.config import InterfaceConfig, LinkKey, Neighbours, NodeConfig, SecurityConfig
from nodes.wire.seal import link_key

SECRET = b"the secret of tests, of 32 bytes"


def key_of(node: NodeConfig, interface: InterfaceConfig, number: int = 1) -> LinkKey:
    """A key of the link at an interface."""
    one, other = sorted((node.node_id, interface.peer_id))
    return LinkKey(number, link_key(SECRET, number << 24 | one << 12 | other))


def sealed(
    configs: Mapping[str, NodeConfig], mode: Neighbours = Neighbours.REQUIRED, numbers: tuple[int, ...] = (1,)
) -> dict[str, NodeConfig]:
    """The same nodes with keys."""
    return {name: sealed_node(config, mode, numbers) for name, config in configs.items()}


def sealed_node(node: NodeConfig, mode: Neighbours, numbers: tuple[int, ...] = (1,)) -> NodeConfig:
    """The same node with keys."""
    interfaces = tuple(replace(i, keys=tuple(key_of(node, i, n) for n in numbers)) for i in node.interfaces)
    return replace(node, interfaces=interfaces, security=SecurityConfig(mode))

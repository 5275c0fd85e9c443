"""Networks whose routers have a policy, and what of it the plain model says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from nodes.config import NodeConfig, PolicyConfig
from nodes.model import Filter, Predicate, advertisement_covers, covers, parse_predicate
from tests.routing.fabric import SECOND, Conditions, Network, configure, line


def obeying(config: NodeConfig, policy: Mapping[str, PolicyConfig]) -> NodeConfig:
    """A router that permits its clients so much."""
    interfaces = (replace(i, policy=policy.get(i.peer_name)) for i in config.interfaces)
    return replace(config, interfaces=tuple(interfaces))


def policed(
    policy: Mapping[str, PolicyConfig],
    clients: Mapping[str, int] | None = None,
    scheme: str = "pif",
    *,
    advertise: bool = False,
    seed: int = 1,
    conditions: Conditions | None = None,
) -> Network:
    """Two routers, c1 at the first and c2 at the second, converged."""
    options = {"advertisements": True} if advertise else {}
    configs = {
        name: replace(obeying(config, policy), scheme=scheme, scheme_options=options)
        for name, config in configure(line(2), clients or {"c1": 1, "c2": 2}, routers=2).items()
    }
    net = Network(configs, seed, conditions or Conditions())
    net.converge(within_ns=20 * SECOND)
    return net


def may_subscribe(policy: PolicyConfig, text: str) -> bool:
    """By the plain model; under `none` nothing, not even what matches no message."""
    return _each_within(parse_predicate(policy.subscribe), parse_predicate(text), covers)


def may_advertise(policy: PolicyConfig, text: str) -> bool:
    """By the plain model."""
    allowed, asked = parse_predicate(policy.advertise), parse_predicate(text)
    anything = any(not each.constraints for each in allowed.filters)
    return anything or _each_within(allowed, asked, advertisement_covers)


def _each_within(allowed: Predicate, asked: Predicate, covering: Callable[[Filter, Filter], bool]) -> bool:
    return all(any(covering(wide, each) for wide in allowed.filters) for each in asked.filters)

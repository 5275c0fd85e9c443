"""Networks of `bp` and `bs` for their tests, what they say, and what they are held to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from nodes.config import LimitConfig
from nodes.routing.schemes.base import of_client
from nodes.scheme_catalog import OptionValue
from nodes.wire.codec import decode_datagram
from nodes.wire.matchmaker_payloads import DescriptorUpdate
from nodes.wire.packets import Control, Kind
from tests.routing.central import Network as Whole
from tests.routing.comparison import Tables, differences
from tests.routing.fabric import LIMITS, Conditions, Network, configure
from tests.routing.workload import Edges, advertisements, scripts

OPTIONS: list[Mapping[str, OptionValue]] = [
    {},
    {"tree": "shared"},
    {"advertisements": True},
    {"tree": "shared", "advertisements": True},
]


def network(
    scheme: str,
    edges: Edges,
    options: Mapping[str, OptionValue],
    seed: int = 1,
    conditions: Conditions = Conditions(),  # noqa: B008
    clients: int = 5,
    limits: LimitConfig = LIMITS,
) -> Network:
    """As `workload.populated`; where publishers have to advertise, they do."""
    rng = random.Random(f"{seed}/matchmaker")
    routers = max(max(a, b) for a, b, _ in edges)
    places = {f"c{i}": rng.randrange(1, routers + 1) for i in range(1, clients + 1)}
    actions = scripts(rng, clients)
    if options.get("advertisements"):
        actions = {name: [*advertisements(rng), *own] for name, own in actions.items()}
    configs = configure(edges, places, limits=limits)
    return Network(of_scheme(configs, scheme, options), seed, conditions, actions)


def of_scheme(configs: dict, scheme: str, options: Mapping[str, OptionValue]) -> dict:
    return {name: replace(c, scheme=scheme, scheme_options=options) for name, c in configs.items()}


def faults(net: Network, scheme: str, options: Mapping[str, OptionValue]) -> list[str]:
    """How routers' tables differ from what a computation that sees all finds."""
    routers = {n: net.router(n) for n in net.configs if n[0] == "r"}
    wants: dict[int, bytes] = {}
    offers: dict[int, bytes] = {}
    for router in routers.values():
        peers = {i.index: i.peer_id for i in router.config.interfaces}
        for interface in router.clients.by_interface:
            wants[peers[interface]] = router.store.predicate(of_client(interface))
        for interface, held in router.advertisements.by_interface.items():
            offers[peers[interface]] = held.together()
    whole = Whole(net.configs.values(), wants, (), offers if options.get("advertisements") else None)
    found = []
    for name, router in routers.items():
        node = router.config.node_id
        expected = Tables.of_names(whole.expected(node, scheme, options), whole.store(node, scheme, options))
        found += [f"{name}: {what}" for what in differences(Tables.installed(router.installer), expected)]
    return found


def said(net: Network, since: int = 0) -> Counter[str]:
    """How many PCDs, SCDs and MCDs crossed links, and withdrawals of each, on quiet wires."""
    found: Counter[str] = Counter()
    for _, _, _, datagram in net.sent[since:]:
        for packet in decode_datagram(datagram):
            if isinstance(packet, Control) and packet.kind == Kind.CD_UPDATE:
                update = DescriptorUpdate.decode(packet.fragment)
                name = (
                    "MCD" if update.publisher and update.subscriber else "PCD" if update.publisher else "SCD"
                )
                found[f"{name} withdrawn" if update.withdrawn else name] += 1
    return found

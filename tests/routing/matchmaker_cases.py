"""Networks of `bp`, `bs` and `amsp` for their tests, what they say, and what they are held to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from nodes.config import LimitConfig
from nodes.matchmaker.marking import is_valid
from nodes.matchmaker.problem import Problem
from nodes.matchmaker.topdown import top_down
from nodes.routing.router import Router
from nodes.routing.schemes.amsp import Amsp
from nodes.routing.schemes.base import of_client
from nodes.routing.schemes.siena_trees import on_shared_tree
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


def whole_of(net: Network, options: Mapping[str, OptionValue]) -> Whole:
    """All of a network, by what its clients have told their routers."""
    wants: dict[int, bytes] = {}
    offers: dict[int, bytes] = {}
    for router in routers_of(net).values():
        peers = {i.index: i.peer_id for i in router.config.interfaces}
        for interface in router.clients.by_interface:
            wants[peers[interface]] = router.store.predicate(of_client(interface))
        for interface, held in router.advertisements.by_interface.items():
            offers[peers[interface]] = held.together()
    return Whole(net.configs.values(), wants, (), offers if options.get("advertisements") else None)


def routers_of(net: Network) -> dict[int, Router]:
    """By id."""
    return {net.configs[n].node_id: net.router(n) for n in net.configs if n[0] == "r"}


def faults(net: Network, scheme: str, options: Mapping[str, OptionValue]) -> list[str]:
    """How routers' tables differ from what a computation that sees all finds."""
    whole, found = whole_of(net, options), []
    for node, router in routers_of(net).items():
        expected = Tables.of_names(whole.expected(node, scheme, options), whole.store(node, scheme, options))
        differing = differences(Tables.installed(router.installer), expected)
        found += [f"{router.config.name}: {what}" for what in differing]
    return found


def marks_of(routers: Mapping[int, Router]) -> tuple[dict[tuple[int, int], int], list[str]]:
    """The mark of each link at its upstream end, and where the other end has another (K8)."""
    marks: dict[tuple[int, int], int] = {}
    found = []
    for node, router in routers.items():
        for link in adaptive(router)._links.values():
            marks[node, link.neighbour] = int(link.is_p_out)
            far = adaptive(routers[link.neighbour])._links.values()
            if link.is_p_out not in [each.is_p_in for each in far if each.neighbour == node]:
                found.append(f"the ends of {node} -> {link.neighbour} have marked it differently")
    return marks, found


def problems_of(routers: Mapping[int, Router], whole: Whole) -> Iterator[Problem]:
    """What is to be marked in each connected part, by what its routers announce of themselves."""
    left = {*routers}
    while left:
        first = min(left)
        view = whole.view(first)
        left -= {*view.topology.nodes}
        if adaptive(routers[first])._shared:
            view = on_shared_tree(view)
        records = {node: adaptive(routers[node])._costs.of(node) for node in view.topology.nodes}
        assert all(records.values())
        f = {n: r.publication_rate for n, r in records.items() if r is not None and r.publishes}
        g = {n: r.subscription_rate for n, r in records.items() if r is not None and r.subscribes}
        path = view.topology.path
        yield Problem(f, g, {x: {b: a for y in g for a, b in pairwise(path(x, y))} for x in f})


def marking_faults(routers: Mapping[int, Router], whole: Whole) -> list[str]:
    """How the marks of `amsp` differ from top-down marking by the announced rates, at a fixpoint.

    With hysteresis 0. A link outside of all trees may have any mark, the same at both ends.
    """
    marks, found = marks_of(routers)
    for problem in problems_of(routers, whole):
        have, expected = {link: marks[link] for link in problem.links}, dict(top_down(problem))
        if have != expected:
            found.append(f"marks are {have}, top-down marking says {expected}")
        elif not is_valid(problem, have):
            found.append(f"the marking is not valid: {have}")
    return found


def adaptive(router: Router) -> Amsp:
    """The scheme of a router of `amsp`."""
    assert isinstance(router._scheme, Amsp)
    return router._scheme


def said(net: Network, since: int = 0) -> Counter[str]:
    """How many PCDs, SCDs and MCDs crossed links, and how many withdrawn or told again, on quiet wires."""
    found: Counter[str] = Counter()
    for _, _, _, datagram in net.sent[since:]:
        for packet in decode_datagram(datagram):
            if isinstance(packet, Control) and packet.kind == Kind.CD_UPDATE:
                update = DescriptorUpdate.decode(packet.fragment)
                name = (
                    "MCD" if update.publisher and update.subscriber else "PCD" if update.publisher else "SCD"
                )
                found[name + " withdrawn" * update.withdrawn + " again" * update.again] += 1
    return found

"""Posets and networks of siena for its tests, and what they are held to, straight from the definitions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from fastpath import cover
from nodes.config import LimitConfig
from nodes.model import (
    Filter,
    Predicate,
    advertisement_covers,
    advertisement_overlaps,
    covers,
    format_filter,
    parse_filter,
    reduce,
)
from nodes.routing.router import Router
from nodes.routing.schemes.base import of_client
from nodes.routing.schemes.siena import Siena
from nodes.routing.schemes.siena_poset import Poset, interfaces
from nodes.routing.schemes.siena_trees import shared_tree
from nodes.scheme_catalog import OptionValue
from nodes.wire.codec import decode_filter, decode_predicate, encode_filter
from tests.routing.fabric import LIMITS, Conditions, Network, configure
from tests.routing.workload import Edges, advertisements, scripts

# A network is held to the definition at hundreds of instants, between most of which nothing has changed.
_reduce = lru_cache(maxsize=1 << 14)(reduce)
_overlaps = lru_cache(maxsize=1 << 14)(advertisement_overlaps)
_filter = lru_cache(maxsize=1 << 14)(decode_filter)
_filters = lru_cache(maxsize=1 << 14)(lambda encoded: decode_predicate(encoded).filters)

SHARED: dict[str, OptionValue] = {}
SOURCE: dict[str, OptionValue] = {"tree": "source"}
LITERAL: dict[str, OptionValue] = {"tree": "source", "mode": "literal"}
ADVERTISED: dict[str, OptionValue] = {"advertisements": True}
SOURCE_ADVERTISED: dict[str, OptionValue] = {"tree": "source", "advertisements": True}
LITERAL_ADVERTISED: dict[str, OptionValue] = {"tree": "source", "mode": "literal", "advertisements": True}


def encoded(text: str) -> bytes:
    return cover.reduce_filter(encode_filter(parse_filter(text)))


def text(filter_: bytes) -> str:
    return format_filter(decode_filter(filter_))


def texts(filters: Iterable[bytes]) -> list[str]:
    return sorted(map(text, filters))


def model_covers(wide: bytes, narrow: bytes) -> bool:
    """Covering by the model; of two that say the same, the lesser bytes are the cover."""
    first, second = decode_filter(wide), decode_filter(narrow)
    return wide != narrow and covers(first, second) and (wide < narrow or not covers(second, first))


def model_advertisement_covers(wide: bytes, narrow: bytes) -> bool:
    """The same of advertisements (M5)."""
    first, second = decode_filter(wide), decode_filter(narrow)
    within = advertisement_covers(first, second)
    return wide != narrow and within and (wide < narrow or not advertisement_covers(second, first))


def check(
    poset: Poset,
    output: dict[int, set[bytes]],
    open_to: dict[int, int],
    covering: Callable[[bytes, bytes], bool] = model_covers,
) -> None:
    """The poset is what S1 to S3 say of what each subscriber said, whatever happened before."""
    roots = {u: {f for f in fs if not any(covering(g, f) for g in fs)} for u, fs in output.items()}
    wanted = {f: {u for u in roots if f in roots[u]} for f in set().union(*roots.values())}
    assert {f: set(interfaces(n.subscribers)) for f, n in poset.nodes.items()} == wanted, "S2"
    for f, node in poset.nodes.items():
        above = {g for g in wanted if covering(g, f)}
        immediate = {g for g in above if not any(covering(g, h) for h in above)}
        assert {n.filter for n in node.above} == immediate, f"S1: {text(f)}"
        assert all(node in n.below for n in node.above)
        assert all(node in n.above for n in node.below)
        reached = {i for g in above for i in interfaces(open_of(wanted[g], open_to))}
        expected = set(interfaces(open_of(wanted[f], open_to))) - reached
        assert set(interfaces(node.forwards)) == expected, f"S3: {text(f)}"


def open_of(subscribers: Iterable[int], open_to: dict[int, int]) -> int:
    found = 0
    for subscriber in subscribers:
        found |= open_to[subscriber]
    return found


def network(
    edges: Edges,
    options: Mapping[str, OptionValue],
    seed: int = 1,
    conditions: Conditions = Conditions(),  # noqa: B008
    clients: int = 5,
    limits: LimitConfig = LIMITS,
) -> Network:
    """As `workload.populated`, but of siena; where publishers have to advertise, they do."""
    rng = random.Random(f"{seed}/siena")
    places = {
        f"c{i}": rng.randrange(1, max(max(a, b) for a, b, _ in edges) + 1) for i in range(1, clients + 1)
    }
    actions = scripts(rng, clients)
    if options.get("advertisements"):
        actions = {name: [*advertisements(rng), *own] for name, own in actions.items()}
    return Network(of_siena(configure(edges, places, limits=limits), options), seed, conditions, actions)


def of_siena(configs: dict, options: Mapping[str, OptionValue]) -> dict:
    return {name: replace(c, scheme="siena", scheme_options=options) for name, c in configs.items()}


def scheme(router: Router) -> Siena:
    assert isinstance(router._scheme, Siena)
    return router._scheme


def table(router: Router) -> dict[str, Predicate]:
    """What is forwarded to each neighbouring router, reduced."""
    spec = router.installer.spec
    assert spec is not None
    names = {i.index: i.peer_name for i in router.config.interfaces if i.peer_name[0] == "r"}
    return {
        names[interface]: _reduce(
            Predicate(f for source in sources for f in _filters(router.store.predicate(source)))
        )
        for interface, sources in spec.tables[0].items()
        if interface in names
    }


def central(network: Network, name: str, options: Mapping[str, OptionValue]) -> dict[str, Predicate]:
    """What a computation that sees all finds: predicates by the next router on the tree to who wants them.

    Where publishers advertise, only what overlaps something of a publisher whose messages come by here.
    """
    router = network.router(name)
    node, topology = router.config.node_id, router.linkstate.database.topology()
    tree = topology if options.get("tree") == "source" else shared_tree(topology)
    offers = _offers(network, topology.nodes) if options.get("advertisements") else None
    found: dict[str, Predicate] = {}
    for other, hop in tree.first_hops(node).items():
        there = network.router(f"r{other}")
        wanted = {_filter(f) for i in there.clients.by_interface for f in there.store.filters(of_client(i))}
        if offers is not None:
            coming_by = [a for who, all_ in offers.items() if node in tree.path(who, other) for a in all_]
            wanted = {f for f in wanted if any(_overlaps(a, f) for a in coming_by)}
        found[f"r{hop}"] = found.get(f"r{hop}", Predicate()).union(Predicate(wanted))
    return {hop: _reduce(predicate) for hop, predicate in found.items() if predicate.filters}


def _offers(network: Network, nodes: Iterable[int]) -> dict[int, list[Filter]]:
    """What the clients of each router advertise."""
    found = {}
    for node in nodes:
        held = network.router(f"r{node}").advertisements.by_interface
        found[node] = [f for each in held.values() for f in _filters(each.together())]
    return found

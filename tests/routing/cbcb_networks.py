"""Networks of routers that speak `cbcb`, and what their tables are to be."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from nodes.config import LimitConfig, TimerConfig
from nodes.routing.predicates import reduced_union
from nodes.routing.router import Router
from nodes.routing.schemes.base import learned, of_router
from nodes.scheme_catalog import OptionValue
from tests.routing.fabric import LIMITS, TIMERS, Conditions, Network, configure
from tests.routing.workload import Edges, scripts

LOSSLESS = Conditions()


def network(
    edges: Edges,
    seed: int,
    clients: Mapping[str, int] | None = None,
    conditions: Conditions = LOSSLESS,
    scheme: str = "cbcb",
    limits: LimitConfig = LIMITS,
    timers: TimerConfig = TIMERS,
    **options: OptionValue,
) -> Network:
    """Routers of a scheme and clients without scripts."""
    configs = configure(edges, clients or {}, limits=limits, timers=timers)
    schemed = {n: replace(c, scheme=scheme, scheme_options=options) for n, c in configs.items()}
    return Network(schemed, seed, conditions, {client: [] for client in clients or {}})


def populated(
    edges: Edges, seed: int, conditions: Conditions = LOSSLESS, clients: int = 4, **options: OptionValue
) -> Network:
    """Clients with random scripts at random routers."""
    rng = random.Random(f"{seed}/clients")
    routers = max(max(a, b) for a, b, _ in edges)
    places = {f"c{i}": rng.randrange(1, routers + 1) for i in range(1, clients + 1)}
    made = network(edges, seed, places, conditions, "cbcb", LIMITS, **options)
    return Network(made.configs, seed, conditions, scripts(rng, clients))


def routers(net: Network) -> dict[int, Router]:
    """The living routers by id."""
    cores = {core.config.node_id: core for core in net.cores.values() if isinstance(core, Router)}
    return dict(sorted(cores.items()))


def central(net: Network) -> dict[tuple[int, int], bytes]:
    """F*_u(w) for all routers u and neighbours w, from what all routers' clients want (E7)."""
    alive = routers(net)
    found: dict[tuple[int, int], list[bytes]] = {}
    for u, router in alive.items():
        for v, hop in router.linkstate.database.topology().first_hops(u).items():
            found.setdefault((u, hop), []).append(alive[v].store.predicate(of_router(v)))
    return {key: reduced_union(wanted) for key, wanted in found.items()}


def held(net: Network) -> dict[tuple[int, int], bytes]:
    """What each router has learned, by neighbour in its own tree."""
    return {(u, w): routers(net)[u].store.predicate(learned(w)) for u, w in central(net)}

"""What every router should hold at the fixpoint, computed from the whole network at once.

The graph and what clients want are taken from the configurations, not from what
routers told each other, so whatever flooding, talking or editing of tables got
wrong shows as a difference.

Schemes that need everybody's interest are given it. For those that talk it is
F*: with unique symmetric paths the predicates of all routers, grouped by next
hop (E7), along the shared tree if that is what `siena` was told to use. Where clients have to
advertise, interest is told to whom something was advertised that it overlaps (E14).

Not here: how tables come about (`install`) and messages (`fastpath`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from fastpath import cover
from nodes.config import InterfaceConfig, NodeConfig
from nodes.routing.predicates import NOTHING, filters_of, predicate_of, reduced_union
from nodes.routing.schemes import make_scheme
from nodes.routing.schemes.base import FibSpec, Options, View, of_client, of_router, talks
from nodes.routing.schemes.siena_trees import on_shared_tree, shared_tree
from nodes.routing.store import PredicateStore
from nodes.routing.trees import Edge, Topology
from nodes.scheme_catalog import complete
from nodes.wire.packets import Role

BY_SOURCE = ("amsp", "bp", "bs")
"""Talking schemes whose tables differ by source."""
BY_PATH = ("siena", *BY_SOURCE)
"""Those under which a router knows of no subscription that does not pass it."""


class Network:
    """Routers, links and clients that are up, and what the clients want.

    Args:
        configs: Those of all nodes.
        wants: The encoded predicate of each client that wants anything, by the client's id.
        offers: Likewise what each advertises; None: nobody has to.
        inner: What the monitors of routers subscribe to, by the router's id; None: they have none.
        down: Names of nodes and of interfaces that are down, as `nodes.convergence` takes them.
    """

    def __init__(
        self,
        configs: Iterable[NodeConfig],
        wants: Mapping[int, bytes],
        down: Collection[str] = (),
        offers: Mapping[int, bytes] | None = None,
        inner: Mapping[int, bytes] | None = None,
    ) -> None:
        self._inner = inner
        up = [config for config in configs if config.name not in down]
        self._routers = {config.node_id: config for config in up if config.role is Role.ROUTER}
        self._wants = {config.node_id: wants.get(config.node_id, NOTHING) for config in up}
        self._offers = offers and {c.node_id: offers.get(c.node_id, NOTHING) for c in up}
        self._down = frozenset(down)

    @property
    def routers(self) -> tuple[int, ...]:
        """Those that are up, ascending."""
        return tuple(sorted(self._routers))

    @property
    def configs(self) -> Mapping[int, NodeConfig]:
        """Of the routers that are up."""
        return self._routers

    def offered(self, client: int) -> bytes:
        """What a client advertises, where clients have to."""
        return (self._offers or {}).get(client, NOTHING)

    def up(self, end: InterfaceConfig) -> bool:
        """Whether an interface is up, as it is meant to be, and who is behind it runs."""
        return self._down.isdisjoint((end.name, end.peer_name))

    def expected(self, router: int, scheme: str, options: Options | None = None) -> FibSpec:
        """What a router's scheme should come to, in names of `store`."""
        made = make_scheme(scheme, options or {})
        if talks(made):
            view = self.view(router)
            shared = scheme in BY_PATH and complete(scheme, options or {})["tree"] == "shared"
            alike = "psf" if scheme in BY_SOURCE else "pif"
            return make_scheme(alike, {}).compile(on_shared_tree(view) if shared else view)
        return made.compile(self.view(router, interest=made.floods_interest))

    def view(self, router: int, interest: bool = True) -> View:
        """What a router would know, of everybody's interest as well if asked for."""
        topology = Topology.around(router, self.edges)
        told = {r: self._told(r, topology.nodes) for r in topology.nodes}
        wanting = [r for r in topology.nodes if told[r] != NOTHING]
        return View(
            node=router,
            topology=topology,
            interfaces=self._live_interfaces(router),
            wanting=tuple(wanting) if interest else (),
            clients=tuple(self._of_clients(router)),
        )

    def store(self, router: int, scheme: str = "", options: Options | None = None) -> PredicateStore:
        """The predicates by the names that `expected` uses."""
        store = PredicateStore()
        topology = Topology.around(router, self.edges)
        by_path = scheme in BY_PATH and self._offers is not None
        shared = by_path and complete(scheme, options or {})["tree"] == "shared"
        tree = shared_tree(topology) if shared else topology
        for other in topology.nodes:
            # Routers are told on the way there what may come by on the way back.
            near = (p for p in topology.nodes if router in tree.path(p, other)) if by_path else topology.nodes
            store.replace(of_router(other), self._told(other, near))
        for interface, predicate in self._of_clients(router).items():
            store.replace(of_client(interface), predicate)
        return store

    @cached_property
    def edges(self) -> list[Edge]:
        """The live links between routers: of several between two, the cheapest as its dearer end sees it."""
        costs = {(r, n): self._cost(r, n) for r in self.routers for n in self._live_interfaces(r)}
        return [(a, b, max(cost, costs[b, a])) for (a, b), cost in costs.items() if a < b and (b, a) in costs]

    @cached_property
    def interest(self) -> dict[int, bytes]:
        """What the clients of each router want together."""
        return {router: reduced_union(self._of_clients(router).values()) for router in self.routers}

    def _told(self, router: int, publishers: Iterable[int]) -> bytes:
        """What the clients of a router want that those of others among these routers may publish."""
        if self._offers is None:
            return self.interest[router]
        offered = [
            advertisement
            for publisher in publishers
            if publisher != router
            for end in self._routers[publisher].interfaces
            if end.peer_role is Role.CLIENT and self.up(end)
            for advertisement in filters_of(self._offers.get(end.peer_id, NOTHING))
        ]
        return predicate_of(
            wanted
            for wanted in filters_of(self.interest[router])
            if any(cover.advertisement_overlaps(each, wanted) for each in offered)
        )

    def _of_clients(self, router: int) -> dict[int, bytes]:
        ends = [i for i in self._routers[router].interfaces if i.peer_role is Role.CLIENT]
        found = {
            i.index: reduced_union([self._wants.get(i.peer_id, NOTHING)]) if self.up(i) else NOTHING
            for i in ends
        }
        if self._inner is not None:
            inner = self._inner.get(router, NOTHING)
            found[len(self._routers[router].interfaces)] = reduced_union([inner])
        return found

    def _live_interfaces(self, router: int) -> dict[int, tuple[int, ...]]:
        ends = [
            i
            for i in self._routers[router].interfaces
            if i.peer_role is Role.ROUTER and i.peer_id in self._routers and self.up(i)
        ]
        by_cost = sorted(ends, key=lambda end: (end.cost, end.index))
        peers = sorted({end.peer_id for end in ends})
        return {peer: tuple(end.index for end in by_cost if end.peer_id == peer) for peer in peers}

    def _cost(self, router: int, neighbour: int) -> int:
        interfaces = self._routers[router].interfaces
        return min(interfaces[index].cost for index in self._live_interfaces(router)[neighbour])

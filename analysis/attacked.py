"""Attacks on a run: who attacked, and which pairs of publisher and subscriber are honest (decision 35).

Pairs are of three sides:

    honest      no attacker has to do with what is owed: ends, first routers and paths are honest
    through     the ends are honest, and a path of least cost leads through an attacker
    attackers   an end, or the router of one, is an attacker

Somebody on a link, without keys, is no node: pairs whose messages cross the link are honest.
Not here: what became of pairs (`messages`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from analysis import network
from analysis.counts import Counts
from analysis.history import NetworkChange
from analysis.rundir import Run, attacked_events
from topologies.fault_kinds import KINDS
from topologies.ideal import ShortestPaths

if TYPE_CHECKING:
    from analysis.columns import Numbers

SIDES = ("honest", "through", "attackers")
HONEST, THROUGH, ATTACKERS = range(len(SIDES))


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack."""

    do: str
    target: str
    from_ns: int
    acts: int | None
    """How many single acts there were; None: it did not end, or lasted."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """What is known of attacks before messages are judged."""

    attacks: Sequence[Attack]
    nodes: tuple[str, ...]
    """The attackers that are nodes, by name."""
    sides: Mapping[tuple[int, int], int]
    """Of pairs of clients, by ids, that are not honest."""
    own: frozenset[int]
    """Clients that attack, or whose router does."""

    def sides_of(self, source: Numbers, client: Numbers) -> Numbers:
        """The side of each pair; that of a source that is no client goes by the subscriber."""
        import numpy as np  # here: `cbn run` reads SIDES on machines that have no packages of the analysis

        from analysis.columns import groups

        kind, first = groups(source, client)
        each = zip(source[first].tolist(), client[first].tolist(), strict=True)
        found = np.array([self._side(*pair) for pair in each], dtype=np.int64)
        sides: Numbers = found[kind] if len(found) else np.zeros(0, np.int64)
        return sides

    def _side(self, source: int, client: int) -> int:
        return ATTACKERS if client in self.own else self.sides.get((source, client), HONEST)


def attacked(run: Run, changes: Iterable[NetworkChange]) -> Attacked | None:
    """The attacks of a run, by its events; None: there were none."""
    begun = [c for c in changes if c.do and KINDS[c.do].attacking]
    if not begun:
        return None
    counts = {(do, target, began_ns): acts for do, target, began_ns, acts in attacked_events(run)}
    attacks = [Attack(c.do, c.target, c.time_ns, counts.get((c.do, c.target, c.time_ns))) for c in begun]
    names = {c.target for c in begun if (kind := KINDS[c.do].attacking) and kind.compromised}
    nodes = tuple(node.name for node in run.plan.nodes if node.name in names)
    routers = {run.router_ids[name] for name in nodes if name in run.router_ids}
    homes = network.homes(run)
    clients = {run.client_ids[name] for name in nodes if name in run.client_ids}
    own = frozenset(clients | {client for client, at in homes.items() if at in routers})
    return Attacked(attacks, nodes, _sides(run, homes, routers, own), own)


def _sides(
    run: Run, homes: Mapping[int, int], routers: Iterable[int], own: frozenset[int]
) -> dict[tuple[int, int], int]:
    """By pairs of clients; the network's links are taken as the plan has them."""
    edges = network.cost_edges(run)
    nearest = {
        router: ShortestPaths(edges, router).distance for router in sorted({*homes.values(), *routers})
    }
    found: dict[tuple[int, int], int] = {}
    for source, begins in homes.items():
        for client, ends in homes.items():
            if source in own or client in own:
                found[source, client] = ATTACKERS
            elif any(_lies_between(nearest, begins, router, ends) for router in routers):
                found[source, client] = THROUGH
    return found


def _lies_between(nearest: Mapping[int, Mapping[Any, float]], begins: int, router: int, ends: int) -> bool:
    """Whether a path of least cost from one router to another leads through a third."""
    if ends not in nearest[begins] or router not in nearest[begins]:
        return False
    return nearest[begins][router] + nearest[router][ends] == nearest[begins][ends]


def as_verdict(found: Attacked | None, counts: Mapping[str, Counts]) -> dict[str, Any] | None:
    """The key `attacks` of the verdict."""
    if found is None:
        return None
    sides = {side: counts.get(side, Counts()).as_verdict() for side in SIDES}
    return {"attacks": [asdict(each) for each in found.attacks], "nodes": list(found.nodes), **sides}

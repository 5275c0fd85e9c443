"""Which node runs on which machine: a function of the plan, the machines and the rule.

A client is always on its router's machine, so access links stay inside. A router that is
placed by hand stays where it was put; one that has a tag of a machine goes to a machine with
a tag of its own; the others go where the rule puts them:

- `balanced` fills the machines in proportion to their capacity;
- `cut` starts there, and with pieces of the network that hang together, and moves routers
  while that leaves fewer links between machines and no machine much fuller.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from testbed.cluster.hosts import Machine
from testbed.cluster.options import BALANCED, CUT, RULES
from testbed.plan.model import LinkPlan, Plan
from testbed.plan.problems import did_you_mean
from topologies.quantities import listed

SLACK = 0.1
"""By how much of its share a move of `cut` may overfill a machine."""
_EPSILON = 1e-9
MOST_NAMED = 10


class PlacementError(ValueError):
    """Nodes cannot be placed as asked; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where every node of a plan runs."""

    machines: tuple[str, ...]
    machine_of: Mapping[str, str]
    """By the node's name, in the plan's order."""

    def nodes_on(self, machine: str) -> tuple[str, ...]:
        """The nodes that run on a machine, in the plan's order."""
        return tuple(node for node, at in self.machine_of.items() if at == machine)

    def crosses(self, link: LinkPlan) -> bool:
        """Whether a link's ends are on two machines."""
        return self.machine_of[link.a] != self.machine_of[link.b]

    def links_between(self, plan: Plan) -> tuple[LinkPlan, ...]:
        """The links whose ends are on two machines."""
        return tuple(link for link in plan.links if self.crosses(link))


def place(
    plan: Plan,
    machines: Sequence[Machine],
    rule: str = BALANCED,
    by_hand: Mapping[str, str] | None = None,
) -> Placement:
    """Where each node runs.

    Args:
        plan: whose nodes.
        machines: where they may run.
        rule: one of `RULES`.
        by_hand: routers and the names of the machines that they are put on.

    Raises:
        PlacementError: There is no such rule, router or machine.
    """
    if rule not in RULES:
        raise PlacementError(f"there is no rule {rule!r}; rules are {', '.join(RULES)}")
    task = _task(plan, machines, by_hand or {})
    at = _balanced(task)
    if rule == CUT:
        starts = (_moved(task, start) for start in (at, _in_pieces(task)))
        at = min(starts, key=lambda found: _between(task, found))
    return _placement(plan, machines, at)


@dataclass(frozen=True, slots=True)
class _Task:
    """What is to be placed: routers by number, each with the weight of its clients."""

    names: tuple[str, ...]
    weights: tuple[int, ...]
    capacities: tuple[float, ...]
    allowed: tuple[tuple[int, ...], ...]
    """By router: the machines that it may be on."""
    neighbours: tuple[Mapping[int, int], ...]
    """By router: other routers, and how many links there are to each."""

    def share(self, machine: int) -> float:
        """How much of the weight is a machine's by its capacity."""
        return sum(self.weights) * self.capacities[machine] / sum(self.capacities)

    def loads(self, at: Sequence[int]) -> list[int]:
        """The weight on each machine."""
        loads = [0] * len(self.capacities)
        for router, machine in enumerate(at):
            loads[machine] += self.weights[router]
        return loads


def _task(plan: Plan, machines: Sequence[Machine], by_hand: Mapping[str, str]) -> _Task:
    names = tuple(router.name for router in plan.routers)
    numbers = {name: number for number, name in enumerate(names)}
    _check(plan, machines, by_hand)
    neighbours: list[dict[int, int]] = [defaultdict(int) for _ in names]
    weights = [1] * len(names)
    for link in plan.links:
        if link.b not in numbers:
            weights[numbers[link.a]] += 1  # a client
            continue
        a, b = numbers[link.a], numbers[link.b]
        neighbours[a][b] += 1
        neighbours[b][a] += 1
    allowed = tuple(_allowed(router.name, router.tags, machines, by_hand) for router in plan.routers)
    capacities = tuple(machine.capacity for machine in machines)
    return _Task(names, tuple(weights), capacities, allowed, tuple(neighbours))


def _check(plan: Plan, machines: Sequence[Machine], by_hand: Mapping[str, str]) -> None:
    routers, clients = ({n.name for n in nodes} for nodes in (plan.routers, plan.clients))
    known = {machine.name for machine in machines}
    if not known:
        raise PlacementError("there is no machine to place nodes on")
    for name, machine in by_hand.items():
        if name in clients:
            raise PlacementError(f"{name} is a client, which is on its router's machine: place the router")
        if name not in routers:
            hint = did_you_mean(name, routers) or f"routers are {listed(sorted(routers), MOST_NAMED)}"
            raise PlacementError(f"there is no router {name!r} to place: {hint}")
        if machine not in known:
            raise PlacementError(f"{name} cannot be on {machine!r}: machines are {', '.join(sorted(known))}")


def _allowed(
    name: str, tags: Sequence[str], machines: Sequence[Machine], by_hand: Mapping[str, str]
) -> tuple[int, ...]:
    if name in by_hand:
        return tuple(i for i, machine in enumerate(machines) if machine.name == by_hand[name])
    tagged = tuple(i for i, machine in enumerate(machines) if set(tags) & set(machine.tags))
    return tagged or tuple(range(len(machines)))


def _balanced(task: _Task) -> list[int]:
    """The heaviest first, those with least choice before them, each where it is emptiest then."""
    at = [0] * len(task.names)
    loads = [0] * len(task.capacities)
    order = sorted(range(len(at)), key=lambda r: (len(task.allowed[r]), -task.weights[r], r))
    for router in order:
        weight = task.weights[router]
        best = min(task.allowed[router], key=lambda m: ((loads[m] + weight) / task.capacities[m], m))
        at[router] = best
        loads[best] += weight
    return at


def _in_pieces(task: _Task) -> list[int]:
    """Machines are filled one after the other, in an order in which neighbours are near each other."""
    at = [-1] * len(task.names)
    loads = [0] * len(task.capacities)
    for router in _by_nearness(task):
        weight = task.weights[router]
        room = [m for m in task.allowed[router] if loads[m] + weight / 2 <= task.share(m)]
        best = min(room) if room else min(task.allowed[router], key=lambda m: loads[m] / task.capacities[m])
        at[router] = best
        loads[best] += weight
    return at


def _by_nearness(task: _Task) -> Iterator[int]:
    """All routers, each piece of the network breadth first from an end of it."""
    seen: set[int] = set()
    for first in range(len(task.names)):
        if first not in seen:
            farthest = list(_breadth_first(task, first, set()))[-1]
            yield from _breadth_first(task, farthest, seen)


def _breadth_first(task: _Task, first: int, seen: set[int]) -> Iterator[int]:
    queue = deque([first])
    seen.add(first)
    while queue:
        router = queue.popleft()
        yield router
        for other in sorted(task.neighbours[router]):
            if other not in seen:
                seen.add(other)
                queue.append(other)


def _moved(task: _Task, start: Sequence[int]) -> list[int]:
    """Move one router after the other, always the one that saves most links, until none saves any."""
    at = list(start)
    loads = task.loads(at)
    limits = [max(load, task.share(m) * (1 + SLACK)) + _EPSILON for m, load in enumerate(loads)]
    while best := max(_moves(task, at, loads, limits), default=None):
        _, router, machine = best[0], -best[1], -best[2]
        loads[at[router]] -= task.weights[router]
        loads[machine] += task.weights[router]
        at[router] = machine
    return at


def _moves(
    task: _Task, at: Sequence[int], loads: Sequence[int], limits: Sequence[float]
) -> Iterator[tuple[int, int, int]]:
    """Moves that save links: how many, then router and machine, negative: of equals the first counts."""
    for router, near in enumerate(task.neighbours):
        links: dict[int, int] = defaultdict(int)
        for other, count in near.items():
            links[at[other]] += count
        for machine in task.allowed[router]:
            saved = links[machine] - links[at[router]]
            if saved > 0 and loads[machine] + task.weights[router] <= limits[machine]:
                yield saved, -router, -machine


def _between(task: _Task, at: Sequence[int]) -> int:
    """How many links are between machines; each is counted from both ends."""
    return sum(
        count for r, near in enumerate(task.neighbours) for other, count in near.items() if at[r] != at[other]
    )


def _placement(plan: Plan, machines: Sequence[Machine], at: Sequence[int]) -> Placement:
    of_router = {router.name: machines[at[i]].name for i, router in enumerate(plan.routers)}
    of_client = {link.b: of_router[link.a] for link in plan.links if link.b not in of_router}
    every = {**of_router, **of_client}
    return Placement(
        tuple(machine.name for machine in machines), {node.name: every[node.name] for node in plan.nodes}
    )

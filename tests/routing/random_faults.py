"""Random faults in a network of the fabric: what wires do, what breaks when, and how all is mended."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.routing.fabric import MS, SECOND, Conditions, Network, random_graph
from tests.routing.workload import Edges

Pause = Callable[[random.Random], int]


def anything_within_three_seconds(rng: random.Random) -> int:
    return rng.randrange(3 * SECOND)


def drawn_network(rng: random.Random, most_loss: float = 0.2) -> tuple[Edges, Conditions]:
    """A graph of 2 to 8 routers, and wires that delay, reorder, lose and repeat."""
    edges = random_graph(rng, rng.randrange(2, 9), rng.randrange(8))
    delay_ns, jitter_ns = rng.choice([MS // 10, 20 * MS]), rng.choice([0, MS, 50 * MS])
    return edges, Conditions(delay_ns, jitter_ns, rng.choice([0, 0.05, most_loss]), 0.1)


def break_at_random(
    net: Network,
    rng: random.Random,
    edges: Edges,
    pause: Pause = anything_within_three_seconds,
    besides: Callable[[], None] = lambda: None,
    most: int = 11,
) -> None:
    """Faults one after another, and something besides; then all is mended, and the network converges."""
    dead: set[str] = set()
    for _ in range(rng.randint(1, most)):
        net.run(pause(rng))
        apply_random_fault(net, rng, edges, dead)
        besides()
    for name in sorted(dead):
        net.start(name)
    for wire in net.wires.values():
        wire.cut = False
    net.converge(within_ns=30 * SECOND)


def calm(net: Network) -> None:
    """From now on wires lose and repeat nothing; what is on its way arrives."""
    for wire in net.wires.values():
        wire.conditions = Conditions()
    net.run(SECOND)


def apply_random_fault(network: Network, rng: random.Random, edges: Edges, dead: set[str]) -> None:
    """One random fault, or the end of one."""
    name, (a, b, _) = rng.choice(sorted(network.configs)), rng.choice(edges)
    match rng.randrange(4):
        case 0:
            network.cut(f"r{a}", f"r{b}", down=rng.random() < 0.6)
        case 1:
            network.wires[rng.choice(sorted(network.wires))].cut = rng.random() < 0.5
        case 2 if name in dead:
            dead.remove(name)
            network.start(name)
        case 2:
            dead.add(name)
            network.kill(name)
        case 3 if name not in dead:
            network.kill(name)
            network.start(name)

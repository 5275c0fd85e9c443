"""Plays every attack against a network with honest traffic: `make test-attacks`. Figures as a table.

    r1 --- r2 --- r3         a publisher at r1, subscribers at r2, r3 and r4;
     |             |         the attacker is r5, beside the shortest paths between them
    r5 --- r4 -----+

The publisher sends 50 messages a second, from before the attack until all is well. Of
each attack it is counted how many deliveries were lost and doubled that nobody's
honest behaviour explains, how many routers ended, what invented records take at most, how
many lines were logged, and how long after the attack the network is converged.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from nodes.config import Action
from nodes.convergence import unconverged
from nodes.routing.router import Router
from tests.attacks.attacker import ATTACKS, TICK_NS, Attack, Attacker
from tests.routing.fabric import EPOCH_NS, MS, SECOND, Network, configure

ROUTERS = (1, 2, 3, 4, 5)
EDGES = [(1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 5, 1), (5, 1, 5)]
CLIENTS = {"publisher": 1, "s2": 2, "s3": 3, "s4": 4}
BEGIN_NS = EPOCH_NS + 2 * SECOND
PATIENCE_NS = 40 * SECOND
"""How long after an attack a network may take; what is not well then is not going to be."""


@dataclass
class Figures:
    """What one attack did."""

    name: str
    item: int
    owed: int = 0
    lost: int = 0
    doubled: int = 0
    exits: int = 0
    held_bytes: int = 0
    log_lines: int = 0
    settled_ms: int | None = None

    def cells(self) -> tuple[str, ...]:
        """For the table."""
        settled = "never" if self.settled_ms is None else f"{self.settled_ms / 1000:.1f} s"
        counts = (self.owed, self.lost, self.doubled, self.exits, self.held_bytes, self.log_lines)
        return (self.name, str(self.item), *(f"{count:,}" for count in counts), settled)


HEAD = ("attack", "item", "owed", "lost", "twice", "exits", "most held", "log lines", "well after")


class Attacked(Network):
    """A network of which a router may end: it stays away for a second, as if somebody restarted it."""

    def __post_init__(self) -> None:
        self.exits: Counter[str] = Counter()
        super().__post_init__()

    def put(self, name: str, core: Router) -> None:
        """Let another core be at a node that has not begun yet."""
        self.cores[name] = core
        self._wakes.pop(name)
        self._wake(name)

    def _arrive(self, name: str, interface: int, datagram: bytes) -> None:
        self._survive(name, lambda: super(Attacked, self)._arrive(name, interface, datagram))

    def _timer(self, name: str, core: object, deadline: int) -> None:
        self._survive(name, lambda: super(Attacked, self)._timer(name, core, deadline))

    def _survive(self, name: str, do: Callable[[], None]) -> None:
        try:
            do()
        except Exception:  # what a daemon would end with, exit code 70
            if isinstance(self.cores[name], Attacker):
                raise
            self.exits[name] += 1
            self.kill(name)
            self.at(self.now_ns + SECOND, lambda: self.start(name))


def play(name: str, attack: Attack, seed: int = 1) -> Figures:
    """One attack, from a network that is well to one that is well again, or is not."""
    net = _network(attack, seed)
    ends_ns = BEGIN_NS + attack.ticks * TICK_NS
    figures = Figures(name, attack.item)
    while net.now_ns < ends_ns + PATIENCE_NS:
        net.run(50 * MS)
        figures.held_bytes = max(figures.held_bytes, _held(net))
        if net.now_ns >= ends_ns and not _reasons(net):
            figures.settled_ms = (net.now_ns - ends_ns) // MS
            break
    net.run(SECOND)
    _count(net, figures)
    return figures


def _network(attack: Attack, seed: int) -> Attacked:
    found = configure(EDGES, CLIENTS)
    options = attack.options or {}
    configs = {n: replace(c, scheme=attack.scheme, scheme_options=options) for n, c in found.items()}
    publications = [Action(n * 20 * MS, "publish", text="a = 2") for n in range(6_000)]
    scripts = {name: [Action(-1, "subscribe", 1, "a > 1")] for name in CLIENTS if name != "publisher"}
    net = Attacked(configs, seed, scripts={**scripts, "publisher": publications})
    net.put("r5", Attacker(configs["r5"], random.Random(f"{seed}/attacker"), attack, BEGIN_NS, ROUTERS))
    net.converge()
    for name in CLIENTS:
        net.client(name).start(net.now_ns)
        net.after(name)
    return net


def _reasons(net: Attacked) -> list[str]:
    statuses = {name: core.status() for name, core in net.cores.items() if name != "r5"}
    missing = [f"{name} is not there" for name in net.configs if name not in net.cores]
    return [*missing, *unconverged(statuses)]


def _held(net: Attacked) -> int:
    routers = [core for name, core in net.cores.items() if isinstance(core, Router) and name != "r5"]
    return max((sum(router.rules.holdings.stats().values()) for router in routers), default=0)


def _count(net: Attacked, figures: Figures) -> None:
    sent = {event["sequence"] for event in net.events if event["event"] == "publish"}
    last = max(sent, default=0)
    counted = {number for number in sent if number <= last - 25}  # the others may be on their way
    arrived = Counter((e["node"], e["sequence"]) for e in net.events if e["event"] == "deliver")
    owed = [(name, number) for name in ("s2", "s3", "s4") for number in counted]
    figures.owed = len(owed)
    figures.lost = sum(each not in arrived for each in owed)
    figures.doubled = sum(count - 1 for count in arrived.values())
    figures.exits = sum(count for name, count in net.exits.items() if name != "r5")
    figures.log_lines = sum(time_ns >= BEGIN_NS and name != "r5" for time_ns, name, _ in net.logs)


def table(rows: list[Figures]) -> str:
    """As Markdown."""
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    return "\n".join(lines + ["| " + " | ".join(row.cells()) + " |" for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description="Play every attack against a network in memory.")
    parser.add_argument("--only", choices=sorted(ATTACKS), action="append")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    names = arguments.only or list(ATTACKS)
    print(table([play(name, ATTACKS[name], arguments.seed) for name in names]))


if __name__ == "__main__":
    main()

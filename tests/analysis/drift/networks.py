"""Random networks of hosts whose clocks are off, and the packets that they exchange."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from analysis.drift.least import LeastDelays, least_by_window, window_ns

START_NS = 1_700_000_000_000_000_000


@dataclass
class Network:
    """Node n is host `h{n}`; times are exact."""

    seed: int
    nodes: int
    duration_ns: int
    offsets_ns: dict[int, int] = field(default_factory=dict)
    drifts_ppb: dict[int, int] = field(default_factory=dict)
    steps: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By node: when its clock is set, and by how much it then jumps."""
    least_ns: tuple[int, int] = (10_000, 5_000_000)
    jitter_ns: int = 300_000
    packets: int = 400
    extra_links: int = 2

    def __post_init__(self) -> None:
        self.random = random.Random(f"{self.seed}/network")
        links = {(self.random.randrange(n), n) for n in range(1, self.nodes)}
        for _ in range(self.extra_links if self.nodes > 2 else 0):
            a, b = sorted(self.random.sample(range(self.nodes), 2))
            links.add((a, b))
        self.links = sorted(links)

    def shown(self, node: int, time_ns: int) -> int:
        """What the clock of a node shows."""
        drifted = Fraction(self.drifts_ppb.get(node, 0), 10**9) * (time_ns - START_NS)
        step_at, step = self.steps.get(node, (0, 0))
        late = step if time_ns - START_NS >= step_at else 0
        return time_ns + self.offsets_ns.get(node, 0) + round(drifted) + late

    def traffic(self) -> tuple[LeastDelays, dict[tuple[int, int], int]]:
        """What was captured of all links, and what each direction certainly delays."""
        rows, certain = [], {}
        for pair in (way for link in self.links for way in (link, link[::-1])):
            least = certain[pair] = self.random.randint(*self.least_ns)
            for _ in range(self.packets):
                sent = START_NS + self.random.randrange(self.duration_ns)
                arrived = sent + least + int(self.random.expovariate(1) * self.jitter_ns)
                rows.append((*pair, self.shown(pair[0], sent), self.shown(pair[1], arrived)))
        columns = np.array(rows, np.int64).T
        return least_by_window(*columns, window_ns(self.duration_ns)), certain

    @property
    def hosts(self) -> dict[int, str]:
        return {node: f"h{node}" for node in range(self.nodes)}

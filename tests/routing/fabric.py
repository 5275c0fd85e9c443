"""An in-memory network of cores: seeded delays, losses, duplicates, reordering; no clock, no socket.

Events are ordered by (time, sequence). Every wire has its own luck, so a run is
a pure function of its seed.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from fastpath.fib import Fib
from nodes.client.core import ClientCore
from nodes.client.script import ScriptedClient
from nodes.config import Action, InterfaceConfig, LimitConfig, NodeConfig, TimerConfig
from nodes.convergence import unconverged
from nodes.routing.effects import Install, Log, Output, Send
from nodes.routing.router import Router
from nodes.wire.packets import Role

MS = 1_000_000
SECOND = 1_000 * MS
TIMERS = TimerConfig()
LIMITS = LimitConfig()
EPOCH_NS = 946_684_800 * SECOND


@dataclass(frozen=True)
class Conditions:
    """What wires do to datagrams."""

    delay_ns: int = MS
    jitter_ns: int = 0
    loss: float = 0.0
    duplicate: float = 0.0


@dataclass
class Wire:
    """One direction of a link."""

    target: str
    interface: int
    rng: random.Random
    conditions: Conditions
    cut: bool = False
    datagrams: int = 0

    def arrivals(self, now_ns: int) -> Iterable[int]:
        """When the copies of a datagram sent now arrive; jitter reorders them."""
        if self.cut or self.rng.random() < self.conditions.loss:
            return
        copies = 2 if self.rng.random() < self.conditions.duplicate else 1
        for _ in range(copies):
            yield now_ns + self.conditions.delay_ns + self.rng.randrange(self.conditions.jitter_ns + 1)


@dataclass
class Network:
    """Routers 1..n joined by edges, clients hanging off them."""

    configs: dict[str, NodeConfig]
    seed: int
    conditions: Conditions = Conditions()
    scripts: Mapping[str, list[Action]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.now_ns = EPOCH_NS
        self.cores: dict[str, Router | ScriptedClient] = {}
        self.fibs: dict[str, Fib] = {}
        self.logs: list[tuple[int, str, Log]] = []
        self.events: list[dict[str, object]] = []
        self.sent: list[tuple[int, str, int, bytes]] = []
        self.forward_drops: list[tuple[str, object]] = []
        self.wires = {
            (name, i.index): Wire(
                i.peer_name,
                self._far_end(name, i.index),
                random.Random(f"{self.seed}/wire/{name}/{i.index}"),
                self.conditions,
            )
            for name, config in self.configs.items()
            for i in config.interfaces
        }
        self._starts: dict[str, int] = {}
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._wakes: dict[str, int] = {}
        for name in self.configs:
            self.start(name)

    def start(self, name: str) -> None:
        """Boot a node, or boot it again without any memory."""
        config = self.configs[name]
        self._starts[name] = self._starts.get(name, 0) + 1
        rng = random.Random(f"{self.seed}/node/{name}/{self._starts[name]}")
        if config.role is Role.ROUTER:
            self.cores[name] = Router(config, rng)
        else:
            self.cores[name] = ScriptedClient(ClientCore(config, rng), self.scripts.get(name, []))
        self._wakes.pop(name, None)
        self._wake(name)

    def kill(self, name: str) -> None:
        """The node is gone, without a word."""
        self.cores.pop(name)
        self.fibs.pop(name, None)

    def cut(self, a: str, b: str, down: bool = True) -> None:
        """Take the links between two nodes down, or up again."""
        for wire_from, wire_to in ((a, b), (b, a)):
            for (name, _), wire in self.wires.items():
                if (name, wire.target) == (wire_from, wire_to):
                    wire.cut = down

    def at(self, time_ns: int, do: Callable[[], None]) -> None:
        """Schedule something."""
        self._sequence += 1
        heapq.heappush(self._heap, (time_ns, self._sequence, do))

    def run(self, for_ns: int) -> None:
        """Let time pass."""
        end = self.now_ns + for_ns
        while self._heap and self._heap[0][0] <= end:
            self.now_ns, _, do = heapq.heappop(self._heap)
            do()
        self.now_ns = end

    def reasons(self, down: Iterable[str] = ()) -> list[str]:
        """Why the network has not converged."""
        return unconverged({name: core.status() for name, core in self.cores.items()}, tuple(down))

    def converge(self, within_ns: int = 20 * SECOND, down: Iterable[str] = ()) -> int:
        """Run until converged; returns how long it took."""
        began, down = self.now_ns, tuple(down)
        while reasons := self.reasons(down):
            assert self.now_ns - began < within_ns, f"seed {self.seed}: {reasons}"
            self.run(5 * MS)
        return self.now_ns - began

    def router(self, name: str) -> Router:
        core = self.cores[name]
        assert isinstance(core, Router)
        return core

    def client(self, name: str) -> ScriptedClient:
        core = self.cores[name]
        assert isinstance(core, ScriptedClient)
        return core

    def after(self, name: str) -> None:
        """Carry out what a core wants; call it after every call of a core."""
        for output in self.cores[name].take_outputs():
            match output:
                case Send(interface=interface, datagram=datagram):
                    self.transmit(name, interface, datagram)
                case Install(fib):
                    self.fibs[name] = fib
                case Log():
                    self.logs.append((self.now_ns, name, output))
                case _:
                    self.see(name, output)
        core = self.cores[name]
        if isinstance(core, ScriptedClient):
            self.events += core.take_events()
        self._wake(name)

    def see(self, name: str, output: Output) -> None:
        """What else a core wants, for who watches it."""

    def transmit(self, name: str, interface: int, datagram: bytes) -> None:
        limit = self.configs[name].interfaces[interface].mtu - 28
        assert len(datagram) <= limit, f"{name} sends {len(datagram)} bytes where {limit} fit"
        self.sent.append((self.now_ns, name, interface, datagram))
        wire = self.wires[name, interface]
        wire.datagrams += 1
        for time_ns in wire.arrivals(self.now_ns):
            self.at(time_ns, lambda: self._arrive(wire.target, wire.interface, datagram))

    def _arrive(self, name: str, interface: int, datagram: bytes) -> None:
        core = self.cores.get(name)
        if core is None:
            return
        control, inside = [datagram], []
        if isinstance(core, Router):
            control, copies, drops = self.fibs[name].forward_datagram(datagram, interface)
            self.forward_drops += [(name, drop) for drop in drops]
            for out, copy in copies:
                if out in core.inner:
                    inside += [packet for _, packet in split(copy)]
                else:
                    self.transmit(name, out, copy)
        else:
            control = [packet for _, packet in split(datagram)]
        for packet in control:
            core.receive(self.now_ns, interface, packet)
        for packet in inside:
            core.receive(self.now_ns, len(self.configs[name].interfaces), packet)
        self.after(name)

    def _wake(self, name: str) -> None:
        deadline = self.cores[name].next_deadline()
        if deadline is None or self._wakes.get(name, deadline + 1) <= deadline:
            return
        self._wakes[name] = deadline
        core = self.cores[name]
        self.at(max(deadline, self.now_ns), lambda: self._timer(name, core, deadline))

    def _timer(self, name: str, core: object, deadline: int) -> None:
        if self.cores.get(name) is not core or self._wakes.get(name) != deadline:
            return
        del self._wakes[name]
        wanted = self.cores[name].next_deadline()
        if wanted is not None and wanted <= self.now_ns:
            self.cores[name].handle_timer(self.now_ns)
        self.after(name)

    def _far_end(self, name: str, index: int) -> int:
        """The neighbour's index of the same link; of parallel links, the first is its first, and so on."""
        interfaces = self.configs[name].interfaces
        peer = interfaces[index].peer_name
        which = sum(i.peer_name == peer for i in interfaces[:index])
        return [i.index for i in self.configs[peer].interfaces if i.peer_name == name][which]


def split(datagram: bytes) -> list[tuple[int, bytes]]:
    from nodes.wire.codec import split_datagram

    return [(int(kind), packet) for kind, packet in split_datagram(datagram)]


def configure(
    edges: Iterable[tuple[int, int, int]],
    clients: Mapping[str, int] | None = None,
    routers: int = 0,
    mtu: int = 1500,
    timers: TimerConfig = TIMERS,
    limits: LimitConfig = LIMITS,
) -> dict[str, NodeConfig]:
    """Routers r1.. by (a, b, cost) edges; clients by name, each at a router."""
    edges, clients = list(edges), clients or {}
    count = max([routers, *(end for edge in edges for end in edge[:2]), *clients.values()])
    ids = {f"r{i}": i for i in range(1, count + 1)}
    ids |= {name: count + n for n, name in enumerate(clients, 1)}
    joins = [(f"r{a}", f"r{b}", cost) for a, b, cost in edges]
    joins += [(f"r{router}", name, 1) for name, router in clients.items()]
    found = {}
    for name, node_id in ids.items():
        role = Role.CLIENT if name in clients else Role.ROUTER
        blank = NodeConfig(name, node_id, role, "test", 1, (), timers=timers, limits=limits)
        found[name] = replace(blank, interfaces=_interfaces(name, joins, ids, clients, mtu))
    return found


def _interfaces(
    name: str,
    joins: list[tuple[str, str, int]],
    ids: Mapping[str, int],
    clients: Mapping[str, int],
    mtu: int,
) -> tuple[InterfaceConfig, ...]:
    mine = [(b if a == name else a, cost) for a, b, cost in joins if name in (a, b)]
    return tuple(
        InterfaceConfig(
            index=index,
            name=f"{name}-eth{index}",
            address="",
            peer_address="",
            peer_name=peer,
            peer_id=ids[peer],
            peer_role=Role.CLIENT if peer in clients else Role.ROUTER,
            cost=cost,
            mtu=mtu,
        )
        for index, (peer, cost) in enumerate(mine)
    )


def ring(count: int) -> list[tuple[int, int, int]]:
    return [(i, i % count + 1, 1) for i in range(1, count + 1)]


def line(count: int) -> list[tuple[int, int, int]]:
    return [(i, i + 1, 1) for i in range(1, count)]


def random_graph(rng: random.Random, count: int, extra: int) -> list[tuple[int, int, int]]:
    """A random tree and some more edges, with small costs so that ties are common."""
    edges = {(rng.randrange(1, i), i): rng.randrange(1, 4) for i in range(2, count + 1)}
    for _ in range(extra):
        a, b = sorted(rng.sample(range(1, count + 1), 2))
        edges.setdefault((a, b), rng.randrange(1, 4))
    return [(a, b, cost) for (a, b), cost in edges.items()]

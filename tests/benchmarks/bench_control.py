"""The control plane of one router with 20 neighbours: prints figures, judges nothing.

Each neighbour tells 100,000 filters (FWD Table 1, F7), then interest changes a
thousand times a second. The neighbours are real ends of links that listen to
all they are told; only the router's own calls are timed. Time on the links is
simulated, so the figures are processor time, whatever else the machine does.
Meanwhile a data plane forwards by the FIBs as they are installed.

Then, apart from that, one router of a network of 200 hears of 1,000 changed
subscriptions a second at all others, under each pure scheme: what the scheme
itself costs, and how often it runs.

    CBN_BENCH_NEIGHBOURS=20 CBN_BENCH_FILTERS=100000 pytest -s tests/benchmarks/bench_control.py
"""

from __future__ import annotations

import os
import random
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from fastpath.interests import FilterPool, Predicate
from fastpath.wire import codec
from fastpath.workload import FilterList, Generator, Recipe
from nodes.config import NodeConfig
from nodes.routing.effects import Install, Send
from nodes.routing.link import Link
from nodes.routing.records import HEAD
from nodes.routing.router import Router
from nodes.routing.schemes.base import FibSpec, View
from nodes.routing.trees import Edge, Topology
from nodes.wire.packets import Kind
from tests.benchmarks.forwarding import Forwarding
from tests.routing.fabric import configure, random_graph

NEIGHBOURS = int(os.environ.get("CBN_BENCH_NEIGHBOURS", "20"))
FILTERS = int(os.environ.get("CBN_BENCH_FILTERS", "100000"))
CHANGES, SECONDS = 1_000, 5
ROUTERS = 200
MS = 1_000_000
PROBE = codec.encode_filter([(2, 10, "probe", None)])
EMPTY = bytes(4)


def encoded(filters: list[bytes]) -> bytes:
    found = sorted(set(filters))
    return len(found).to_bytes(4, "big") + b"".join(found)


@dataclass
class Neighbour:
    """The far end of one of the router's links: says what it is told to, acknowledges all it hears."""

    config: NodeConfig
    link: Link
    filters: list[bytes]
    sequence: int = 1
    spare: list[bytes] = field(default_factory=list)

    def introduce(self, now_ns: int) -> None:
        node, hub = self.config.node_id, self.config.interfaces[0].peer_id
        self.link.send(now_ns, Kind.LINK_STATE, codec.encode_link_state(node, 1, [(hub, 1)]))
        self.link.send(now_ns, Kind.INTEREST, HEAD.pack(node, 1) + encoded(self.filters))

    def change(self, now_ns: int, pool: FilterPool, predicate: Predicate, count: int) -> None:
        """Exchange so many filters, half of them out, half in."""
        gone, new = self.filters[: (count + 1) // 2], self.spare[: (count + 1) // 2]
        self.filters, self.spare = self.filters[len(gone) :] + new, self.spare[len(new) :] + gone
        removed, added = pool.read(encoded(gone)), pool.read(encoded(new))
        predicate.change(removed, added)
        self.sequence += 1
        head = HEAD.pack(self.config.node_id, self.sequence) + predicate.digest()
        self.link.send(now_ns, Kind.INTEREST_CHANGE, head + removed.encode() + added.encode())


class Bench:
    """The router, its neighbours, and the time the router took."""

    def __init__(self, filters: list[list[bytes]], forwarding: Forwarding) -> None:
        edges = [(1, number, 1) for number in range(2, len(filters) + 2)]
        configs = configure(edges, {"c": 1})
        rng = random.Random(1)
        self.now_ns = 10**18
        self.busy_s = self.longest_s = 0.0
        self.forwarding = forwarding
        self.installs = 0
        self.router = Router(configs["r1"], rng)
        self.ends = [
            Link(config, config.interfaces[0], number, rng)
            for number, config in enumerate([*(configs[f"r{b}"] for _, b, _ in edges), configs["c"]], 1)
        ]
        self.neighbours = [
            Neighbour(configs[f"r{b}"], end, mine[: -FILTERS // 10], spare=mine[-FILTERS // 10 :])
            for (_, b, _), end, mine in zip(edges, self.ends[:-1], filters, strict=True)
        ]
        self.client = self.ends[-1]

    @contextmanager
    def timed(self) -> Iterator[None]:
        began = time.thread_time()
        yield
        took = time.thread_time() - began
        self.busy_s += took
        self.longest_s = max(self.longest_s, took)

    def step(self, for_ns: int = MS) -> None:
        """Let all that is under way arrive, then let time pass."""
        with self.timed():
            self.router.handle_timer(self.now_ns)
        self._carry_out()
        for interface, end in enumerate(self.ends):
            end.handle_timer(self.now_ns)
            for output in list(end.take_outputs()):
                if isinstance(output, Send):
                    self._receive(interface, output.datagram)
        self._carry_out()
        self.now_ns += for_ns

    def _receive(self, interface: int, datagram: bytes) -> None:
        frames = codec.split_datagram(datagram)
        packets = [datagram[offset : offset + length] for _, offset, length in frames]
        with self.timed():
            for packet in packets:
                self.router.receive(self.now_ns, interface, packet)

    def _carry_out(self) -> None:
        with self.timed():
            outputs = self.router.take_outputs()
        for output in outputs:
            if isinstance(output, Install):
                self.installs += 1
                self.forwarding.install(output.fib)
            elif isinstance(output, Send):
                end = self.ends[output.interface]
                for _, offset, length in codec.split_datagram(output.datagram):
                    end.receive(self.now_ns, output.datagram[offset : offset + length])

    def installed(self) -> int:
        found = self.router.installer.stats().get("filters", 0)
        assert isinstance(found, int)
        return found

    def reset(self) -> None:
        self.busy_s = self.longest_s = 0.0
        self.installs = 0


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    path = tmp_path_factory.mktemp("workload") / "filters.txt"
    count = FILTERS + FILTERS // 10
    with path.open("wb") as file:
        file.writelines(Generator(Recipe(interfaces=NEIGHBOURS, filters=NEIGHBOURS * count)).filters())
    read = FilterList(path)
    filters: list[list[bytes]] = [[] for _ in range(NEIGHBOURS)]
    for line in range(len(read)):
        interface, filter_ = read[line]
        filters[interface].append(filter_)
    mine = [list(dict.fromkeys(each)) for each in filters]
    del read, filters
    mine[0].insert(len(mine[0]) // 2, PROBE)
    last = NEIGHBOURS  # leads to the client
    forwarding = Forwarding(interfaces=last + 1, publisher=last, listener=0, source=last + 2)
    try:
        yield Bench(mine, forwarding)
    finally:
        forwarding.stop()


def resident_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_a_hundred_thousand_filters_from_each_of_twenty_neighbours(bench: Bench) -> None:
    before = resident_mb()
    while not all(end.up for end in bench.ends):
        bench.step()
    bench.reset()
    began = time.perf_counter()
    for neighbour in bench.neighbours:
        neighbour.introduce(bench.now_ns)
    wanted = sum(len(neighbour.filters) for neighbour in bench.neighbours)
    while bench.installed() < wanted:
        bench.step()
    what = f"{wanted:,} filters of {NEIGHBOURS} neighbours"
    print(f"\n  {what} installed after {bench.busy_s:.1f} s of the router,")
    took = time.perf_counter() - began
    print(f"    {took:.1f} s with its neighbours; the longest call {bench.longest_s:.2f} s,")
    print(f"    {bench.installs} FIBs; {resident_mb() - before:.0f} MB more at most, neighbours included")
    while not bench.router.settled:
        bench.step(5 * MS)
    print(f"    told to all other neighbours after {bench.busy_s:.1f} s")
    print(f"    state: {bench.router.store.stats()}, {sizes(bench)}")
    print(f"    {bench.forwarding.report()}")


def sizes(bench: Bench) -> dict[str, object]:
    stats = bench.router.installer.stats()
    return {name: stats[name] for name in ("filters", "constraints", "bytes", "upkeep_bytes")}


@pytest.mark.parametrize("delay_ms", [160, 10])
def test_a_thousand_changes_a_second_at_the_neighbours(bench: Bench, delay_ms: int) -> None:
    """Neighbours say what changed every `delay_ms`: a busy router waits 160 ms, an idle one 10."""
    pool = FilterPool()
    predicates = [pool.read(encoded(neighbour.filters)) for neighbour in bench.neighbours]
    rng, due = random.Random(2), [0] * NEIGHBOURS
    count = CHANGES * delay_ms // 1_000 // NEIGHBOURS or 1
    every_ns = count * NEIGHBOURS * 1_000 * MS // CHANGES
    began_ns = bench.now_ns
    for number in range(NEIGHBOURS):
        due[number] = began_ns + rng.randrange(every_ns)
    bench.reset()
    while bench.now_ns < began_ns + SECONDS * 1_000 * MS:
        for number, neighbour in enumerate(bench.neighbours):
            if due[number] <= bench.now_ns:
                neighbour.change(bench.now_ns, pool, predicates[number], count)
                due[number] += every_ns
        bench.step(2 * MS)
    drops = {name: n for name, n in bench.router.drops.items() if n}
    say(bench, f"{CHANGES} changes a second at neighbours, {count} at a time", drops)


def test_a_thousand_changes_a_second_at_a_client(bench: Bench) -> None:
    def subscribe(number: int) -> None:
        predicate = codec.encode_predicate([[(2, 1, "own", number)]])
        bench.client.send(bench.now_ns, Kind.SUBSCRIBE, (number % 10_000).to_bytes(4, "big") + predicate)

    for number in range(10_000):
        subscribe(number)
    for _ in range(600):
        bench.step(5 * MS)
    bench.reset()
    for number in range(10_000, 10_000 + SECONDS * CHANGES):
        subscribe(number)
        bench.step(1 * MS)
    assert bench.installs, "the changes went in"
    say(bench, f"{CHANGES} changes a second by a client with 10,000 subscriptions", {})


class Quiet:
    """Takes FIBs and forwards nothing."""

    def install(self, fib: object) -> None:
        """Nothing is measured of it."""

    def report(self) -> str:
        return "no forwarding"


class InNetwork(Bench):
    """One router of a random network; its neighbours send it what all others announce."""

    def __init__(self, scheme: str, routers: int, filters: int) -> None:
        rng = random.Random(3)
        edges = random_graph(rng, routers, routers // 2)
        configs = configure(edges, {"c": 1})
        self.now_ns = 10**18
        self.busy_s = self.longest_s = 0.0
        self.forwarding = Quiet()  # type: ignore[assignment]
        self.installs = 0
        self.router = Router(replace(configs["r1"], scheme=scheme), rng)
        peers = [interface.peer_name for interface in configs["r1"].interfaces]
        self.ends = [
            Link(configs[peer], next(i for i in configs[peer].interfaces if i.peer_name == "r1"), n, rng)
            for n, peer in enumerate(peers, 1)
        ]
        self.runs, self.compiling_s = 0, 0.0
        self._count_runs()
        self.origins = list(range(2, routers + 1))
        self.pool = FilterPool()
        self.wants = {o: [one_filter(o, number) for number in range(filters)] for o in self.origins}
        self.predicates = {o: self.pool.read(encoded(wants)) for o, wants in self.wants.items()}
        self.sequences = dict.fromkeys(self.origins, 1)
        self.towards = Topology.around(1, edges).first_hops(1)
        self._introduce(edges)

    def _count_runs(self) -> None:
        run = self.router._scheme.compile

        def compile_(view: View) -> FibSpec:
            began = time.thread_time()
            made = run(view)
            self.compiling_s += time.thread_time() - began
            self.runs += 1
            return made

        self.router._scheme.compile = compile_  # type: ignore[method-assign]

    def end_towards(self, origin: int) -> Link:
        hop = self.towards[origin]
        return next(end for end in self.ends if end._node.node_id == hop)

    def _introduce(self, edges: list[Edge]) -> None:
        while not all(end.up for end in self.ends):
            self.step()
        neighbours: dict[int, list[tuple[int, int]]] = {}
        for a, b, cost in edges:
            neighbours.setdefault(a, []).append((b, cost))
            neighbours.setdefault(b, []).append((a, cost))
        for origin in self.origins:
            end = self.end_towards(origin)
            end.send(self.now_ns, Kind.LINK_STATE, codec.encode_link_state(origin, 1, neighbours[origin]))
            end.send(self.now_ns, Kind.INTEREST, HEAD.pack(origin, 1) + encoded(self.wants[origin]))
        for _ in range(1_000):
            self.step()
        assert len(self.router.status()["fib"]["by_table"])  # type: ignore[index,call-overload]

    def change(self, origin: int, number: int) -> None:
        """An origin's clients want another filter instead of one of theirs."""
        wants = self.wants[origin]
        gone, new = wants.pop(0), one_filter(origin, number)
        wants.append(new)
        removed, added = self.pool.read(encoded([gone])), self.pool.read(encoded([new]))
        self.predicates[origin].change(removed, added)
        self.sequences[origin] += 1
        head = HEAD.pack(origin, self.sequences[origin]) + self.predicates[origin].digest()
        payload = head + removed.encode() + added.encode()
        self.end_towards(origin).send(self.now_ns, Kind.INTEREST_CHANGE, payload)


def one_filter(origin: int, number: int) -> bytes:
    return codec.encode_filter([(2, 1, f"at{origin % 7}", origin * 100_000 + number)])


@pytest.mark.parametrize("scheme", ["pif", "psf", "ipsf", "multicast", "drp"])
def test_a_thousand_changes_a_second_in_a_network_of_200_routers(scheme: str) -> None:
    bench = InNetwork(scheme, ROUTERS, filters=50)
    bench.reset()
    bench.runs, bench.compiling_s = 0, 0.0
    rng = random.Random(4)
    for number in range(1_000, 1_000 + SECONDS * CHANGES):
        bench.change(rng.choice(bench.origins), number)
        bench.step(1 * MS)
    say(bench, f"{scheme}, {ROUTERS} routers, {CHANGES} changes a second", dict(bench.router.drops))
    print(f"    the scheme ran {bench.runs} times, {bench.compiling_s / SECONDS * 1e3:.1f} ms a second")


def say(bench: Bench, what: str, drops: object) -> None:
    print(f"\n  {what}: {bench.busy_s / SECONDS:.3f} s of the router a second,")
    rate = bench.installs / SECONDS
    print(f"    the longest call {bench.longest_s * 1e3:.0f} ms, {rate:.1f} FIBs a second")
    print(f"    drops {drops or 'none'}; {bench.forwarding.report()}")

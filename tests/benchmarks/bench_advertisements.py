"""A router of `siena` with 100,000 advertisements and 100,000 subscriptions: prints figures, judges nothing.

One neighbour advertises, the other subscribes; each advertisement is of a topic of its own, and each
subscription wants a range of one topic's values. Then advertisements and subscriptions are replaced one by
one. Meanwhile a data plane forwards what a client publishes, by the FIBs installed every ten changes.

    CBN_BENCH_ADVERTISED=100000 pytest -s tests/benchmarks/bench_advertisements.py
"""

from __future__ import annotations

import os
import random
import resource
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nodes.model import parse_filter, parse_predicate
from nodes.routing.effects import Install
from nodes.routing.router import Router
from nodes.routing.schemes.siena import Siena
from nodes.routing.schemes.siena_messages import payloads
from nodes.wire.codec import encode_filter, encode_predicate
from nodes.wire.packets import Kind
from tests.benchmarks.forwarding import Forwarding
from tests.routing.fabric import Network, configure, line

NUMBER = int(os.environ.get("CBN_BENCH_ADVERTISED", "100000"))
SECONDS = 5
PER_INSTALL = 10
VALUES, WIDTH = 1_000_000, 1_000
PROBE = encode_filter(parse_filter("probe any integer"))
ADVERTISE = Kind.SIENA_ADVERTISE, Kind.SIENA_UNADVERTISE
SUBSCRIBE = Kind.SIENA_SUBSCRIBE, Kind.SIENA_UNSUBSCRIBE


class Bench:
    """Router 2 of three in a row: 1 advertises, 3 subscribes, and a client here publishes."""

    def __init__(self) -> None:
        options = {"scheme": "siena", "scheme_options": {"advertisements": True}}
        configs = {name: replace(c, **options) for name, c in configure(line(3), {"c": 2}).items()}
        self.network = Network(configs, 1)
        self.network.converge()
        self.router: Router = self.network.router("r2")
        interfaces = {end.peer_name: end.index for end in configs["r2"].interfaces}
        self.publishers, self.subscribers = interfaces["r1"], interfaces["r3"]
        client, source = interfaces["c"], configs["c"].node_id
        assert self.router.gate is not None
        self.router.gate.set(client, encode_predicate(parse_predicate("probe any integer")))
        self.forwarding = Forwarding(3, publisher=client, listener=self.subscribers, source=source)

    def say(self, interface: int, kind: Kind, filters: list[bytes]) -> None:
        scheme = self.router._scheme
        assert isinstance(scheme, Siena)
        for payload in payloads(0, filters):
            scheme.take(self.network.now_ns, interface, kind, payload)

    def install(self) -> None:
        self.router._install(self.network.now_ns)
        for output in self.router.take_outputs():
            if isinstance(output, Install):
                self.forwarding.install(output.fib)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()
    try:
        yield made
    finally:
        made.forwarding.stop()


def advertisements() -> list[bytes]:
    texts = (f'topic = "t{at}" and value any integer' for at in range(NUMBER))
    return [PROBE, *(encode_filter(parse_filter(text)) for text in texts)]


def subscriptions(rng: random.Random) -> list[bytes]:
    found = {PROBE}
    while len(found) <= NUMBER:
        low = rng.randrange(VALUES)
        text = f'topic = "t{rng.randrange(NUMBER)}" and value >= {low} and value < {low + WIDTH}'
        found.add(encode_filter(parse_filter(text)))
    return sorted(found)


def test_changes_with_a_hundred_thousand_of_each(bench: Bench) -> None:
    rng = random.Random(1)
    offered, wanted = advertisements(), subscriptions(rng)
    for what, at, kind, filters in (
        ("advertisements", bench.publishers, ADVERTISE[0], offered),
        ("subscriptions", bench.subscribers, SUBSCRIBE[0], wanted),
    ):
        began = time.thread_time()
        bench.say(at, kind, filters)
        print(f"\n  {len(filters):,} {what} in {time.thread_time() - began:.1f} s", end="")
    began = time.thread_time()
    bench.install()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"; installed in {time.thread_time() - began:.2f} s; {memory:.0f} MB in all")
    bench.forwarding.report()
    time.sleep(SECONDS)
    print(f"    quiet: {bench.forwarding.report()}")
    for what, at, kinds, filters in (
        ("advertisements", bench.publishers, ADVERTISE, offered),
        ("subscriptions", bench.subscribers, SUBSCRIBE, wanted),
    ):
        times = list(changed(bench, at, kinds, [each for each in filters if each != PROBE], rng))
        times.sort()
        print(
            f"    changes of {what}: {len(times) / sum(times):,.0f} a second of processor time; median "
            f"{times[len(times) // 2] * 1e6:.0f} us, longest {times[-1] * 1e3:.1f} ms"
        )
        print(f"    {bench.forwarding.report()}")


def changed(
    bench: Bench, interface: int, kinds: tuple[Kind, Kind], filters: list[bytes], rng: random.Random
) -> Iterator[float]:
    """A thousand changes a second: one is withdrawn, the next time it comes back. How long each took."""
    announce, withdraw = kinds
    until, count = time.monotonic() + SECONDS, 0
    while time.monotonic() < until:
        filter_ = rng.choice(filters)
        for kind in (withdraw, announce):
            began = time.thread_time()
            bench.say(interface, kind, [filter_])
            count += 1
            if count % PER_INSTALL == 0:
                bench.install()
            yield time.thread_time() - began
        time.sleep(0.002)

"""Whole networks of cores: convergence, deliveries against the oracle, determinism."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from nodes.config import Action
from nodes.model import Constraint, Filter, Op, Predicate, parse_predicate
from nodes.wire.codec import decode_datagram
from nodes.wire.packets import Message
from tests.routing.fabric import (
    EPOCH_NS,
    MS,
    SECOND,
    Conditions,
    Network,
    configure,
    line,
    random_graph,
    ring,
)
from tests.routing.workload import Edges, delivered, owed, populated, scripts, start

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "edges",
    [[(1, 2, 1)], line(5), ring(6), *(random_graph(random.Random(s), 10, 8) for s in range(6))],
    ids=lambda edges: f"{len(edges)}-edges",
)
def test_a_network_converges_and_delivers_what_the_model_says_each_once(edges: Edges) -> None:
    network = populated(edges, seed=len(edges))
    network.converge(within_ns=SECOND)
    start(network)
    network.run(2 * SECOND)
    assert delivered(network.events) == owed(network.events)
    assert network.forward_drops == []
    assert network.reasons() == []


def test_one_router_alone_serves_its_clients() -> None:
    places = {"c1": 1, "c2": 1, "c3": 1}
    network = Network(configure([], places, routers=1), 1, scripts=scripts(random.Random(5), 3))
    network.converge(within_ns=SECOND)
    start(network)
    network.run(2 * SECOND)
    assert delivered(network.events) == owed(network.events)
    assert sum(delivered(network.events).values()) > 20


@pytest.mark.parametrize("seed", range(8))
def test_it_converges_under_a_fifth_of_loss_with_repeats_and_reordering(seed: int) -> None:
    edges = random_graph(random.Random(seed), 8, 6)
    conditions = Conditions(loss=0.2, duplicate=0.1, jitter_ns=20 * MS)
    network = populated(edges, seed, conditions)
    assert network.converge() < 15 * SECOND, f"seed {seed}"
    for wire in network.wires.values():
        wire.conditions = Conditions()
    network.run(SECOND)
    start(network)
    network.run(2 * SECOND)
    assert delivered(network.events) == owed(network.events), f"seed {seed}"


def test_a_predicate_of_a_hundred_thousand_filters_crosses_lossy_links() -> None:
    serials = [Constraint.on("serial", Op.EQ, i) for i in range(100_000)]
    batches = [Constraint.on("batch", Op.LT, i) for i in range(97)]
    filters = [Filter([serial, batches[i % 97]]) for i, serial in enumerate(serials)]
    conditions = Conditions(loss=0.02, jitter_ns=2 * MS)
    network = Network(configure(line(3), {"c1": 1}), 7, conditions)
    network.client("c1").core.subscribe(network.now_ns, Predicate(filters))
    network.converge()
    fib = network.router("r3").status()["fib"]
    assert isinstance(fib, dict)
    assert fib["filters"] == 100_000
    assert sum(a["retransmissions"] for a in network.router("r2").status()["adjacencies"]) > 0  # type: ignore[attr-defined]


def test_M6_unsubscribing_stops_deliveries_and_replacing_changes_them() -> None:
    actions = {
        "c1": [Action(-1, "subscribe", 1, "x = 1"), Action(-1, "subscribe", 2, "x = 2")],
        "c2": [Action(i * MS, "publish", 0, f"x = {i}") for i in range(4)],
    }
    network = Network(configure(line(2), {"c1": 1, "c2": 2}), 1, scripts=actions)
    network.converge(within_ns=SECOND)
    core = network.client("c1").core
    core.unsubscribe(network.now_ns, 1)
    core.subscribe(network.now_ns, parse_predicate("x = 3"), 2)
    network.after("c1")
    network.converge(within_ns=SECOND)
    start(network)
    network.run(SECOND)
    assert [e["sequence"] for e in network.events if e["event"] == "deliver"] == [4]


def test_E10_the_first_router_writes_the_class_and_no_other_changes_it() -> None:
    network = populated(line(4), seed=11, clients=4)
    network.converge(within_ns=SECOND)
    mark = len(network.sent)
    start(network)
    network.run(2 * SECOND)
    home = {c.node_id: c.interfaces[0].peer_id for n, c in network.configs.items() if n[0] == "c"}
    seen = 0
    for _, sender, _, datagram in network.sent[mark:]:
        for packet in decode_datagram(datagram):
            if isinstance(packet, Message):
                assert packet.header_class == (0 if sender[0] == "c" else home[packet.source])
                seen += 1
    assert seen > 60


def test_nothing_is_sent_twice_when_nothing_changes() -> None:
    network = populated(ring(5), seed=12)
    network.converge(within_ns=SECOND)
    network.run(SECOND)
    serials = {n: network.router(n).status()["fib_serial"] for n in network.configs if n[0] == "r"}
    mark = len(network.sent)
    network.run(10 * SECOND)
    kinds = Counter(packet[1] for *_, datagram in network.sent[mark:] for packet in [datagram])
    assert set(kinds) == {2}, "HELLOs alone"
    assert serials == {n: network.router(n).status()["fib_serial"] for n in serials}


def test_the_same_seed_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    program = (
        "import hashlib, json, random\n"
        "from tests.routing.fabric import *\n"
        "from tests.routing.workload import populated, start\n"
        "n = populated(random_graph(random.Random(2), 8, 8), 2, Conditions(loss=0.1, jitter_ns=3 * MS))\n"
        "n.converge(); start(n); n.run(2 * SECOND)\n"
        "print(hashlib.sha256(repr((n.sent, n.events, n.logs)).encode()).hexdigest(), len(n.sent))\n"
        "print(json.dumps([c.status() for c in n.cores.values()]))\n"
    )
    reported = set()
    for hash_seed in ("0", "1", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        reported.add(done.stdout)
    assert len(reported) == 1
    assert json.loads(reported.pop().splitlines()[1])


def test_time_begins_at_the_epoch_the_worlds_use() -> None:
    assert Network(configure([(1, 2, 1)]), 1).now_ns == EPOCH_NS


def test_of_parallel_links_the_cheapest_live_one_carries_messages() -> None:
    actions = {
        "c1": [Action(-1, "subscribe", 1, "all")],
        "c2": [Action(0, "publish", 0, "x = 1"), Action(3 * SECOND, "publish", 0, "x = 2")],
    }
    network = Network(configure([(1, 2, 5), (1, 2, 2)], {"c1": 1, "c2": 2}), 1, scripts=actions)
    network.converge(within_ns=SECOND)
    start(network)
    network.run(SECOND)
    network.wires["r1", 1].cut = network.wires["r2", 1].cut = True
    network.run(3 * SECOND)
    used = [i for _, name, i, datagram in network.sent if name == "r2" and datagram[1] == 1 and i < 2]
    assert used == [1, 0]
    assert [e["sequence"] for e in network.events if e["event"] == "deliver"] == [1, 2]

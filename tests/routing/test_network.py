"""Whole networks of cores: convergence, deliveries against the oracle, faults, determinism."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nodes.config import Action
from nodes.model import matches, parse_message, parse_predicate
from nodes.routing import outbound
from nodes.wire.codec import decode_datagram
from nodes.wire.packets import Message
from tests.routing.fabric import (
    EPOCH_NS,
    MS,
    SECOND,
    Network,
    Weather,
    configure,
    line,
    random_graph,
    ring,
)

Edges = list[tuple[int, int, int]]
ROOT = Path(__file__).parents[2]


def scripts(rng: random.Random, clients: int, messages: int = 15) -> dict[str, list[Action]]:
    """Clients that subscribe to one to three predicates and publish."""
    found = {}
    for number in range(1, clients + 1):
        wants = [
            rng.choice(
                [f"x > {rng.randrange(10)}", f"x = {rng.randrange(10)}", f'k >* "{rng.choice("abc")}"']
            )
            for _ in range(rng.randrange(1, 4))
        ]
        actions = [Action(-1, "subscribe", i, text) for i, text in enumerate(wants)]
        for _ in range(messages):
            text = f'x = {rng.randrange(10)}, k = "{rng.choice("abcd")}z"'
            actions.append(Action(rng.randrange(SECOND), "publish", 0, text))
        found[f"c{number}"] = actions
    return found


def populated(edges: Edges, seed: int, weather: Weather = Weather(), clients: int = 6) -> Network:  # noqa: B008
    rng = random.Random(seed)
    routers = max(max(a, b) for a, b, _ in edges)
    places = {f"c{i}": rng.randrange(1, routers + 1) for i in range(1, clients + 1)}
    return Network(configure(edges, places), seed, weather, scripts(rng, clients))


def start(network: Network) -> None:
    for name in network.scripts:
        network.client(name).start(network.now_ns)
        network.after(name)


def owed(events: list[dict[str, object]]) -> Counter[tuple[object, ...]]:
    """(source, sequence, client) of every subscription x publication that matches, by the model (M4, M6).

    A client is not sent what it published itself.
    """
    ids: dict[object, object] = {e["node"]: e["source"] for e in events if e["event"] == "publish"}
    found: Counter[tuple[object, ...]] = Counter()
    wants = [(e["node"], parse_predicate(str(e["predicate"]))) for e in events if e["event"] == "subscribe"]
    for e in events:
        if e["event"] == "publish":
            message = parse_message(str(e["message"]))
            for client in {c for c, predicate in wants if matches(predicate, message)} - {e["node"]}:
                found[e["source"], e["sequence"], client] = 1
    assert ids
    return found


def delivered(events: list[dict[str, object]]) -> Counter[tuple[object, ...]]:
    return Counter((e["source"], e["sequence"], e["node"]) for e in events if e["event"] == "deliver")


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
    weather = Weather(loss=0.2, duplicate=0.1, jitter_ns=20 * MS)
    network = populated(edges, seed, weather)
    assert network.converge() < 15 * SECOND, f"seed {seed}"
    for wire in network.wires.values():
        wire.weather = Weather()
    network.run(SECOND)
    start(network)
    network.run(2 * SECOND)
    assert delivered(network.events) == owed(network.events), f"seed {seed}"


def test_a_predicate_of_ten_thousand_filters_crosses_lossy_links() -> None:
    text = " or ".join(f'serial = {i} and name = "part-{i % 97}"' for i in range(4_000))
    actions = {"c1": [Action(-1, "subscribe", i, text.replace("part", f"part{i}")) for i in range(3)]}
    weather = Weather(loss=0.05, jitter_ns=2 * MS)
    network = Network(configure(line(3), {"c1": 1}), 7, weather, actions)
    network.converge()
    fib = network.router("r3").status()["fib"]
    assert isinstance(fib, dict)
    assert fib["filters"] == 12_000
    assert sum(a["retransmissions"] for a in network.router("r2").status()["adjacencies"]) > 0  # type: ignore[attr-defined]


def test_a_silent_link_is_found_out_and_routed_around() -> None:
    network = populated(ring(6), seed=3)
    network.converge(within_ns=SECOND)
    network.cut("r1", "r2")
    network.run(2100 * MS)
    assert "adjacency_down" in {log.event for _, _, log in network.logs}
    network.converge(within_ns=SECOND, down=["r1-eth0", "r2-eth0"])
    start(network)
    network.run(2 * SECOND)
    assert delivered(network.events) == owed(network.events)
    network.cut("r1", "r2", down=False)
    network.converge(within_ns=SECOND)
    assert (
        network.router("r1").status()["link_state_digest"]
        == network.router("r4").status()["link_state_digest"]
    )


def test_a_link_that_dies_in_one_direction_is_down_at_both_ends() -> None:
    network = populated(ring(4), seed=4)
    network.converge(within_ns=SECOND)
    network.wires["r1", 0].cut = True  # r2 no longer hears r1
    network.run(2500 * MS)
    assert network.router("r2").links[0].state.value == "down"
    assert network.router("r1").links[0].state.value == "heard"
    assert (1, 2) not in {edge[:2] for edge in network.router("r3").network.topology().edges}
    network.wires["r1", 0].cut = False
    network.converge(within_ns=SECOND)


def test_a_restarted_router_is_found_out_at_its_first_hello_and_learns_everything_anew() -> None:
    network = populated(ring(6), seed=5)
    network.converge(within_ns=SECOND)
    network.kill("r2")
    network.run(50 * MS)  # shorter than any hold time
    network.start("r2")
    assert network.converge(within_ns=SECOND) < 300 * MS
    start(network)
    network.run(2 * SECOND)
    assert delivered(network.events) == owed(network.events)


def test_a_restarted_router_withdraws_what_its_former_clients_wanted() -> None:
    network = populated(line(3), seed=6)
    network.converge(within_ns=SECOND)
    gone = [name for name, config in network.configs.items() if config.interfaces[0].peer_name == "r1"]
    gone = [name for name in gone if name.startswith("c")]
    assert gone
    for name in ["r1", *gone]:
        network.kill(name)
    network.run(50 * MS)
    network.start("r1")
    network.converge(within_ns=SECOND, down=gone)
    assert 1 not in network.router("r3").interest.wanted([1, 2, 3])


def test_a_dead_router_is_forgotten_by_the_tables_and_comes_back() -> None:
    network = populated(ring(5), seed=7)
    network.converge(within_ns=SECOND)
    network.kill("r3")
    network.run(2100 * MS)
    orphans = [n for n, c in network.configs.items() if n[0] == "c" and c.interfaces[0].peer_name == "r3"]
    for name in orphans:
        network.kill(name)
    network.converge(within_ns=SECOND, down=["r3", *orphans])
    assert network.router("r1").status()["routers_known"] == 4
    assert "class 3:" not in network.router("r1").tables()
    for name in ["r3", *orphans]:
        network.start(name)
    network.converge(within_ns=SECOND)
    assert network.router("r1").status()["routers_known"] == 5


def test_a_partition_heals_and_both_sides_learn_what_changed_meanwhile() -> None:
    network = populated(line(4), seed=8)
    network.converge(within_ns=SECOND)
    network.cut("r2", "r3")
    network.run(3 * SECOND)
    assert network.router("r1").status()["routers_known"] == 2
    client = next(n for n in network.configs if n[0] == "c" and network.configs[n].interfaces[0].peer_id <= 2)
    network.client(client).core.subscribe(network.now_ns, parse_predicate("new = 1"), 99)
    network.after(client)
    network.run(SECOND)
    network.cut("r2", "r3", down=False)
    network.converge(within_ns=SECOND)
    assert "new = 1" in network.router("r4").tables()


def test_flapping_links_leave_no_harm_behind() -> None:
    network = populated(ring(5), seed=9)
    rng = random.Random(9)
    for _ in range(30):
        a = rng.randrange(1, 6)
        network.cut(f"r{a}", f"r{a % 5 + 1}", down=rng.random() < 0.5)
        network.run(rng.randrange(3 * SECOND))
    for a in range(1, 6):
        network.cut(f"r{a}", f"r{a % 5 + 1}", down=False)
    network.converge(within_ns=5 * SECOND)
    start(network)
    network.run(2 * SECOND)
    assert delivered(network.events) == owed(network.events)


def test_a_client_that_dies_takes_its_subscriptions_with_it() -> None:
    network = populated(line(3), seed=10, clients=2)
    network.converge(within_ns=SECOND)
    network.kill("c1")
    network.run(2100 * MS)
    network.converge(within_ns=SECOND, down=["c1"])
    home = network.configs["c1"].interfaces[0].peer_name
    held = network.router(home).status()["adjacencies"]
    assert [a["subscriptions"] for a in held if a["peer"] == "c1"] == [0]  # type: ignore[attr-defined]


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


@pytest.mark.parametrize("seed", range(12))
def test_random_faults_leave_nothing_missing_and_nothing_twice_once_they_are_over(seed: int) -> None:
    """Links cut in both or one direction, nodes killed and restarted, on wires that lose and reorder."""
    rng = random.Random(seed)
    edges = random_graph(rng, rng.randrange(2, 9), rng.randrange(8))
    jitter_ns = rng.choice([0, MS, 50 * MS])
    weather = Weather(rng.choice([MS // 10, 20 * MS]), jitter_ns, rng.choice([0, 0.05, 0.25]), 0.1)
    network = populated(edges, seed, weather, clients=4)
    dead: set[str] = set()
    for _ in range(rng.randrange(1, 12)):
        network.run(rng.randrange(3 * SECOND))
        strike(network, rng, edges, dead)
    for name in sorted(dead):
        network.start(name)
    for wire in network.wires.values():
        wire.cut = False
    network.converge(within_ns=30 * SECOND)
    for wire in network.wires.values():
        wire.weather = Weather()
    network.run(SECOND)
    start(network)
    network.run(2 * SECOND)
    assert delivered(network.events) == owed(network.events), f"seed {seed}"


def strike(network: Network, rng: random.Random, edges: Edges, dead: set[str]) -> None:
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


def test_a_session_that_runs_out_of_numbers_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbound, "LAST_SEQUENCE", 4)
    network = populated(ring(4), seed=13, clients=3)
    network.run(SECOND)
    renewed = [log for _, _, log in network.logs if log.event == "adjacency_down"]
    assert renewed
    monkeypatch.undo()
    network.converge(within_ns=SECOND)


def test_two_routers_with_one_id_are_said_and_do_not_drown_the_network() -> None:
    configs = configure(line(4))
    r3, r4 = configs["r3"], replace(configs["r4"], node_id=1)
    towards = (r3.interfaces[0], replace(r3.interfaces[1], peer_id=1))
    network = Network({**configs, "r3": replace(r3, interfaces=towards), "r4": r4}, 1)
    network.run(2 * SECOND)
    mark = len(network.sent)
    network.run(10 * SECOND)
    assert len(network.sent) - mark < 10 * 100, "about 30 HELLOs a second, and not many more of the quarrel"
    assert "own_record_heard" in {log.event for _, _, log in network.logs}


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


def test_nothing_is_said_twice_when_nothing_changes() -> None:
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
        "from tests.routing.test_network import populated, start\n"
        "n = populated(random_graph(random.Random(2), 8, 8), 2, Weather(loss=0.1, jitter_ns=3 * MS))\n"
        "n.converge(); start(n); n.run(2 * SECOND)\n"
        "print(hashlib.sha256(repr((n.sent, n.events, n.logs)).encode()).hexdigest(), len(n.sent))\n"
        "print(json.dumps([c.status() for c in n.cores.values()]))\n"
    )
    told = set()
    for hash_seed in ("0", "1", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(done.stdout)
    assert len(told) == 1
    assert json.loads(told.pop().splitlines()[1])


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

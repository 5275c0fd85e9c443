"""CBCB in whole networks whose links and nodes fail: what is settled is right."""

from __future__ import annotations

import random

import pytest

from nodes.client.script import ScriptedClient
from nodes.model import parse_predicate
from tests.routing.cbcb_networks import central, held, network, populated, routers
from tests.routing.fabric import MS, SECOND, Conditions, Network, line, random_graph, ring
from tests.routing.random_faults import break_at_random, calm
from tests.routing.workload import delivered, owed, start


def subscribe(net: Network, client: str, predicate: str, subscription: int = 1) -> None:
    net.client(client).core.subscribe(net.now_ns, parse_predicate(predicate), subscription)
    net.after(client)


def unsubscribe(net: Network, client: str, subscription: int = 1) -> None:
    net.client(client).core.unsubscribe(net.now_ns, subscription)
    net.after(client)


def assert_right(net: Network) -> None:
    """The tables are those of a central computation (E7)."""
    assert held(net) == central(net), f"seed {net.seed}"


def assert_delivers(net: Network) -> None:
    """All scripts run; whoever is owed a message gets it once."""
    start(net)
    net.run(2 * SECOND)
    assert delivered(net.events) == owed(net.events), f"seed {net.seed}"


def test_a_subscription_during_start_up_is_not_lost() -> None:
    for seed in range(5):
        net = network(ring(6), seed, {"c1": 1, "c2": 4})
        net.run(random.Random(seed).randrange(90) * MS)
        subscribe(net, "c1", "x = 1")
        net.converge()
        assert_right(net)
        assert held(net)[4, 5] != held(net)[4, 3], "one of the two ways leads to r1"


def test_a_link_that_fails_moves_what_is_behind_it_to_another_interface() -> None:
    net = populated(ring(6), 3)
    start(net)
    net.run(2 * SECOND)
    net.cut("r1", "r2")
    net.run(2100 * MS)
    net.converge(within_ns=SECOND, down=["r1-eth0", "r2-eth0"])
    assert_right(net)
    net.cut("r1", "r2", down=False)
    net.converge(within_ns=SECOND)
    assert_right(net)


def test_a_router_that_restarts_before_anybody_missed_it_learns_everything_anew() -> None:
    net = populated(ring(6), 5)
    start(net)
    net.run(2 * SECOND)
    net.converge()
    net.kill("r2")
    net.run(20 * MS)
    net.start("r2")
    net.run(500 * MS)
    net.converge(within_ns=SECOND)
    assert_right(net)


def test_an_advertisement_lost_in_a_restart_that_nobody_noticed_is_made_good() -> None:
    """The topology never changes: it takes the era to tell that something was forgotten."""
    for seed in range(12):
        net = network(line(5), seed, {"c1": 1}, Conditions(2 * MS))
        net.converge()
        subscribe(net, "c1", f"x = {seed}")
        net.run(16 * MS + seed * MS)
        net.kill("r3")
        net.start("r3")
        net.converge(within_ns=SECOND)
        assert_right(net)


def test_what_a_dead_routers_clients_wanted_is_forgotten() -> None:
    net = network(line(4), 6, {"c1": 1, "c2": 4})
    subscribe(net, "c1", "x = 1")
    net.converge()
    for name in ("r1", "c1"):
        net.kill(name)
    net.run(2100 * MS)
    net.converge(within_ns=SECOND, down=["r1", "c1"])
    assert_right(net)
    assert not any(int.from_bytes(predicate[:4], "big") for predicate in held(net).values())


def test_a_partition_heals_and_both_sides_learn_what_changed_meanwhile() -> None:
    net = network(line(4), 8, {"c1": 1, "c2": 4})
    subscribe(net, "c1", "x = 1")
    net.converge()
    net.cut("r2", "r3")
    net.run(3 * SECOND)
    unsubscribe(net, "c1")
    subscribe(net, "c1", "x = 2", 2)
    subscribe(net, "c2", "y = 1")
    net.run(SECOND)
    assert_right(net)
    net.cut("r2", "r3", down=False)
    net.converge(within_ns=SECOND)
    assert_right(net)
    assert net.router("r4").tables().count("x = 2") == 1


def test_a_neighbour_lost_while_its_reply_is_awaited_stops_nobody_for_good() -> None:
    net = network(line(4), 9, {"c1": 1}, sr_period_ms=100)
    net.converge()
    net.kill("r4")
    net.run(300 * MS)
    assert not net.router("r3").settled or net.router("r3").links[1].up
    net.run(2 * SECOND)
    net.converge(within_ns=SECOND, down=["r4"])
    assert_right(net)


def test_of_two_parallel_links_one_may_go_and_take_what_was_under_way_with_it() -> None:
    for seed in range(6):
        net = network([(1, 2, 1), (1, 2, 1), (2, 3, 1)], seed, {"c1": 1, "c2": 3})
        net.converge()
        wire = net.wires["r1", 0]
        wire.cut = net.wires["r2", 0].cut = True
        subscribe(net, "c1", f"x = {seed}")
        net.run(2500 * MS)
        net.converge(within_ns=SECOND, down=["r1-eth0", "r2-eth0"])
        assert_right(net)
        assert f"x = {seed}" in net.router("r3").tables()


@pytest.mark.parametrize("seed", range(24))
def test_random_faults_leave_the_tables_right_and_nothing_missing_once_they_are_over(seed: int) -> None:
    """Links cut in both or one direction, nodes killed and restarted, while clients come and go."""
    rng = random.Random(f"cbcb/{seed}")
    edges = random_graph(rng, rng.randrange(2, 9), rng.randrange(8))
    conditions = Conditions(
        rng.choice([MS // 10, 5 * MS, 20 * MS]),
        rng.choice([0, MS, 50 * MS]),
        rng.choice([0, 0.05, 0.25]),
        0.1,
    )
    net = populated(edges, seed, conditions, clients=4)
    break_at_random(net, rng, edges, soon_or_late, lambda: churn(net, rng), most=13)
    assert_right(net)
    calm(net)
    assert_delivers(net)
    net.converge()
    assert_right(net)


def soon_or_late(rng: random.Random) -> int:
    return rng.choice([rng.randrange(50 * MS), rng.randrange(3 * SECOND)])


def churn(net: Network, rng: random.Random) -> None:
    """A client that lives changes what it wants, often to nothing."""
    alive = [name for name, core in sorted(net.cores.items()) if isinstance(core, ScriptedClient)]
    if alive:
        text = rng.choice(["none", *(f"z = {n}" for n in range(4))])
        subscribe(net, rng.choice(alive), text, 90 + rng.randrange(3))


@pytest.mark.parametrize("seed", range(8))
def test_whenever_the_network_says_it_is_ready_its_tables_are_right(seed: int) -> None:
    """No false readiness, at no instant, while clients change their minds and links flap."""
    rng = random.Random(f"ready/{seed}")
    edges = random_graph(rng, 6, 4)
    net = populated(edges, seed, Conditions(MS, 3 * MS, 0.02, 0.1))
    ready = 0
    for moment in range(900):
        net.run(3 * MS)
        if moment % 100 == 0:
            churn(net, rng)
        if moment % 300 == 270:
            name = rng.choice(sorted(f"r{router}" for router in routers(net)))
            net.kill(name)
            net.start(name)
        if not net.reasons():
            ready += 1
            assert_right(net)
    assert ready > 20, f"seed {seed}: it was ready {ready} times"


def test_flapping_links_do_not_make_the_network_ask_without_end() -> None:
    net = populated(ring(5), 9)
    net.converge()
    for _ in range(10):
        net.kill("r3")
        net.start("r3")
        net.run(60 * MS)
    net.converge(within_ns=2 * SECOND)
    assert_right(net)
    mark = len(net.sent)
    net.run(4 * SECOND)
    hellos = 2 * (len(ring(5)) + len(net.scripts)) * 4 * 6
    assert len(net.sent) - mark <= hellos, "after that, HELLOs alone"

"""Networks of cores whose links and nodes fail and come back."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from nodes.model import parse_predicate
from nodes.routing import outbound
from tests.routing.fabric import MS, SECOND, Network, configure, line, ring
from tests.routing.random_faults import break_at_random, calm, drawn_network
from tests.routing.workload import delivered, owed, populated, start


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
    assert network.router("r1").links[0].state.value == "init"
    assert (1, 2) not in {edge[:2] for edge in network.router("r3").linkstate.database.topology().edges}
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
    assert 1 not in network.router("r3").interest.database.wanted([1, 2, 3])


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


@pytest.mark.parametrize("seed", range(12))
def test_random_faults_leave_nothing_missing_and_nothing_twice_once_they_are_over(seed: int) -> None:
    """Links cut in both or one direction, nodes killed and restarted, on wires that lose and reorder."""
    rng = random.Random(seed)
    edges, conditions = drawn_network(rng, most_loss=0.25)
    network = populated(edges, seed, conditions, clients=4)
    break_at_random(network, rng, edges)
    calm(network)
    start(network)
    network.run(2 * SECOND)
    assert delivered(network.events) == owed(network.events), f"seed {seed}"


def test_a_session_that_runs_out_of_numbers_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbound, "LAST_SEQUENCE", 4)
    network = populated(ring(4), seed=13, clients=3)
    network.run(SECOND)
    renewed = [log for _, _, log in network.logs if log.event == "adjacency_down"]
    assert renewed
    monkeypatch.undo()
    network.converge(within_ns=SECOND)


def test_two_routers_with_one_id_are_reported_and_do_not_flood_the_network() -> None:
    configs = configure(line(4))
    r3, r4 = configs["r3"], replace(configs["r4"], node_id=1)
    towards = (r3.interfaces[0], replace(r3.interfaces[1], peer_id=1))
    network = Network({**configs, "r3": replace(r3, interfaces=towards), "r4": r4}, 1)
    network.run(2 * SECOND)
    mark = len(network.sent)
    network.run(10 * SECOND)
    assert len(network.sent) - mark < 10 * 100, "about 30 HELLOs a second, and not many more of the quarrel"
    assert "own_record_received" in {log.event for _, _, log in network.logs}

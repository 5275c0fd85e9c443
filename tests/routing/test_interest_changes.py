"""Interest in steps: what a change costs, that steps always fit, and what happens if one does not."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from nodes.config import LimitConfig, TimerConfig
from nodes.model import parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.interest import InterestDatabase
from nodes.routing.predicates import reduced_union
from nodes.routing.schemes.base import of_router
from nodes.routing.store import PredicateStore
from nodes.wire.codec import decode_datagram, encode_predicate
from nodes.wire.packets import Control, Kind
from tests.routing.fabric import MS, SECOND, Conditions, Network, configure, line, random_graph, ring
from tests.routing.impostor import Impostor
from tests.wire.payloads import Interest, encode_payload


def network(edges: list[tuple[int, int, int]], seed: int = 1, **conditions: object) -> Network:
    """A router each with a client."""
    routers = max(max(edge[:2]) for edge in edges)
    places = {f"c{i}": i for i in range(1, routers + 1)}
    net = Network(configure(edges, places), seed, Conditions(**conditions))  # type: ignore[arg-type]
    net.converge()
    return net


def subscribe(net: Network, client: str, text: str, number: int) -> None:
    net.client(client).core.subscribe(net.now_ns, parse_predicate(text), number)
    net.after(client)


def unsubscribe(net: Network, client: str, number: int) -> None:
    net.client(client).core.unsubscribe(net.now_ns, number)
    net.after(client)


def interest_digest(net: Network, name: str) -> str:
    return net.router(name).interest.database.digest([1, 2, 3])


def many(count: int) -> str:
    return " or ".join(f"x = {i}" for i in range(count))


def output(net: Network, since_ns: int, name: str | None = None) -> Counter[int]:
    """Bytes of control payload sent, by kind."""
    found: Counter[int] = Counter()
    for at, who, _, datagram in net.sent:
        if at >= since_ns and name in (None, who):
            for packet in decode_datagram(datagram):
                if isinstance(packet, Control):
                    found[packet.kind] += len(packet.fragment)
    return found


def test_one_subscription_more_costs_one_filter_a_link_not_the_predicate() -> None:
    net = network(line(4))
    subscribe(net, "c1", many(500), 1)
    net.converge()
    began = net.now_ns
    subscribe(net, "c1", "y = 1", 2)
    net.converge()
    found = output(net, began)
    assert found[Kind.INTEREST] == 0
    assert 0 < found[Kind.INTEREST_CHANGE] < 3 * 80
    assert "y = 1" in net.router("r4").tables()


def test_many_changes_within_the_delay_are_one_step() -> None:
    net = network(line(2))
    subscribe(net, "c1", many(50), 1)
    net.converge()
    sequence = net.router("r1").interest.database.own.value
    for number in range(2, 30):
        subscribe(net, "c1", f"y = {number}", number)
    net.run(5 * MS)
    for number in range(2, 29):
        unsubscribe(net, "c1", number)
    net.converge()
    assert net.router("r1").interest.database.own.value == sequence + 1
    assert "y = 29" in net.router("r2").tables()


def test_a_change_larger_than_what_it_leaves_is_announced_as_a_whole() -> None:
    net = network(line(2))
    subscribe(net, "c1", many(200), 1)
    subscribe(net, "c1", "y = 1", 2)
    net.converge()
    began = net.now_ns
    unsubscribe(net, "c1", 1)
    net.converge()
    found = output(net, began, "r1")
    assert found[Kind.INTEREST_CHANGE] == 0
    assert 0 < found[Kind.INTEREST] < 100


def test_a_new_neighbour_is_told_records_and_an_old_one_what_it_missed_while_its_queue_was_full() -> None:
    net = network(line(3))
    subscribe(net, "c1", many(3_000), 1)
    net.run(30 * MS)  # r1 has begun to tell: some 60 packets, of which a window is on its way
    for number in range(2, 40):
        subscribe(net, "c1", f"y = {number}", number)
        net.run(20 * MS)
    net.converge()
    assert net.router("r3").interest.database.digest([1, 2, 3]) == net.router("r1").interest.database.digest(
        [1, 2, 3]
    )
    assert "y = 39" in net.router("r3").tables()
    began = net.now_ns
    net.kill("r3")
    net.start("r3")
    net.converge()
    assert output(net, began, "r2")[Kind.INTEREST] > 20_000


def test_too_many_steps_or_too_large_ones_are_not_kept() -> None:
    store = PredicateStore()
    database = InterestDatabase(1, store, 6_000)
    empty = store.pool.read(bytes(4))
    states = []
    for number in range(600):
        database.originate(0, empty, store.pool.read(encode_predicate(parse_predicate(f"x = {number}"))))
        states.append(database.state(1))
    assert states[-1] is not None
    known = [state for state in states if state is not None]
    assert database.step_after(1, known[-2]) is not None
    assert database.step_after(1, known[-100]) is not None
    assert database.step_after(1, known[-300]) is None, "all steps from there are larger than the predicate"
    database.originate(0, store.named(of_router(1)).minus(empty), empty)
    assert database.step_after(1, known[-1]) is None, "to take all away is larger than nothing"


@pytest.mark.parametrize("seed", range(12))
def test_under_random_faults_steps_always_fit_and_all_routers_agree(seed: int) -> None:
    """A gap would be counted: from honest neighbours there is none (docs/protocols.md)."""
    rng = random.Random(seed)
    edges = random_graph(rng, 5, 3)
    net = network(edges, seed, loss=0.05, duplicate=0.05, jitter_ns=5 * MS)
    wants: dict[str, dict[int, str]] = {f"c{i}": {} for i in range(1, 6)}
    down: set[tuple[str, str]] = set()
    for step in range(120):
        client = f"c{rng.randrange(1, 6)}"
        number, text = rng.randrange(8), f"x = {rng.randrange(40)} or y > {rng.randrange(40)}"
        if number in wants[client] and rng.random() < 0.5:
            del wants[client][number]
            unsubscribe(net, client, number)
        elif number not in wants[client]:
            wants[client][number] = text
            subscribe(net, client, text, number)
        if rng.random() < 0.1:
            a, b, _ = rng.choice(edges)
            net.cut(f"r{a}", f"r{b}", down=rng.random() < 0.5)
            down.add((f"r{a}", f"r{b}"))
        if step % 40 == 30:
            name = f"r{rng.randrange(1, 6)}"
            net.kill(name)
            net.run(rng.randrange(3) * SECOND)
            net.start(name)
        net.run(rng.choice([1, 15, 60, 700]) * MS)
    for a, b in down:
        net.cut(a, b, down=False)
    net.converge(within_ns=60 * SECOND)
    drops = [net.router(f"r{i}").drops for i in range(1, 6)]
    assert sum(each[Reason.INTEREST_GAP] for each in drops) == 0, f"seed {seed}"
    for i in range(1, 6):
        text = " or ".join(wants[f"c{i}"].values())
        whole = encode_predicate(parse_predicate(text)) if text else bytes(4)
        store = PredicateStore()
        store.replace("wanted", whole)
        for j in range(1, 6):
            held = net.router(f"r{j}").store
            assert held.predicate(of_router(i)) == reduced_union([whole]), f"seed {seed}: r{j} of r{i}"


def change(origin: int, sequence: int, before: str, removed: str, added: str) -> bytes:
    """An INTEREST_CHANGE payload that fits what it is said to apply to."""
    pool = PredicateStore().pool
    base, gone, new = (
        pool.read(encode_predicate(parse_predicate(t)) if t else bytes(4)) for t in (before, removed, added)
    )
    head = origin.to_bytes(4, "big") + sequence.to_bytes(8, "big")
    return head + base.digest_after(gone, new) + gone.encode() + new.encode()


def record(origin: int, sequence: int, text: str) -> bytes:
    return encode_payload(Interest(origin, sequence, parse_predicate(text)))


def held(net: Network, name: str, origin: int) -> tuple[int, bytes] | None:
    router = net.router(name)
    state = router.interest.database.state(origin)
    return None if state is None else (state.sequence, router.store.predicate(of_router(origin)))


def encoded(text: str) -> bytes:
    return encode_predicate(parse_predicate(text))


def test_steps_are_taken_in_order_and_old_ones_ignored() -> None:
    net = network(ring(3))
    impostor = Impostor(net, 0)
    impostor.send(Kind.INTEREST, record(50, 7, "x = 1"))
    first, second = change(50, 8, "x = 1", "", "x = 2"), change(50, 9, "x = 1 or x = 2", "x = 1", "")
    for payload in (first, second, first, second):
        impostor.send(Kind.INTEREST_CHANGE, payload)
    assert held(net, "r1", 50) == (9, encoded("x = 2"))
    assert net.router("r1").drops[Reason.INTEREST_GAP] == 0
    net.run(SECOND)
    assert held(net, "r3", 50) == (9, encoded("x = 2"))


@pytest.mark.parametrize(
    "payload",
    [
        change(50, 9, "x = 1", "", "x = 2"),
        change(50, 8, "x = 3", "x = 3", "x = 2"),
        change(50, 8, "x = 3", "", "x = 1"),
        change(50, 8, "x = 3", "", "x = 2"),
        change(51, 8, "x = 3", "", "x = 2"),
    ],
    ids=["a step is missing", "what is not there", "what is there", "of another predicate", "of nobody"],
)
def test_a_step_that_does_not_fit_is_counted_and_the_record_asked_for_once(payload: bytes) -> None:
    net = network(ring(3))
    impostor = Impostor(net, 0)
    impostor.send(Kind.INTEREST, record(50, 7, "x = 1"))
    began = net.now_ns
    for _ in range(3):
        impostor.send(Kind.INTEREST_CHANGE, payload)
    assert net.router("r1").drops[Reason.INTEREST_GAP] == 3
    assert held(net, "r1", 50) == (7, encoded("x = 1"))
    assert output(net, began, "r1")[Kind.RECORD_REQUEST] == 4
    impostor.send(Kind.INTEREST, record(50, 12, "x = 9"))
    assert held(net, "r1", 50) == (12, encoded("x = 9"))


def test_a_neighbour_that_asks_receives_the_whole_record() -> None:
    net = network(line(2))
    subscribe(net, "c1", "x = 1", 1)
    net.converge()
    began = net.now_ns
    Impostor(net, 0).send(Kind.RECORD_REQUEST, (1).to_bytes(4, "big"))
    net.run(MS)
    assert output(net, began, "r1")[Kind.INTEREST] == len(record(1, 1, "x = 1"))


@pytest.mark.parametrize("texts", [("x = 2", "x = 3"), ("x = 3", "x = 2")])
def test_contradicting_steps_end_in_the_same_state_everywhere(texts: tuple[str, str]) -> None:
    """Same origin, same sequence, other content: the two ends of a line are told different things."""
    net = network([(5, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 6, 1)])
    Impostor(net, 0).send(Kind.INTEREST, record(50, 7, "x = 1"))
    net.run(SECOND)
    assert held(net, "r4", 50) == (7, encoded("x = 1"))
    ends = (Impostor(net, 0, "r1"), Impostor(net, 1, "r4"))
    for end, text in zip(ends, texts, strict=True):
        end.send(Kind.INTEREST_CHANGE, change(50, 8, "x = 1", "", text))
    net.run(5 * SECOND)
    states = {net.router(f"r{i}").interest.database.state(50) for i in range(1, 5)}
    assert len(states) == 1, states


def test_a_router_that_restarts_is_believed_however_its_steps_were_counted_before() -> None:
    net = network(line(3))
    for number in range(6):
        subscribe(net, "c1", f"x = {number}", number)
        net.run(30 * MS)
    net.converge()
    net.kill("r1")
    net.start("r1")
    net.run(40 * MS)
    for number in range(6, 9):
        subscribe(net, "c1", f"x = {number}", number)
        net.run(30 * MS)
    net.converge()
    assert net.router("r3").interest.database.digest([1, 2, 3]) == net.router("r1").interest.database.digest(
        [1, 2, 3]
    )
    assert all(f"x = {i}" in net.router("r3").tables() for i in range(9))


def test_more_filters_by_steps_than_a_neighbour_may_make_us_hold_are_refused_and_not_asked_for() -> None:
    net = Network(configure(ring(3), limits=LimitConfig(filters_per_neighbour=2)), 1)
    net.converge()
    impostor = Impostor(net, 0)
    impostor.send(Kind.INTEREST, record(50, 7, "x = 1 or x = 2"))
    impostor.send(Kind.INTEREST_CHANGE, change(50, 8, "x = 1 or x = 2", "", "x = 3"))
    impostor.send(Kind.INTEREST_CHANGE, change(50, 9, "x = 1 or x = 2 or x = 3", "", "x = 4"))
    assert held(net, "r1", 50) == (7, encoded("x = 1 or x = 2"))
    drops = net.router("r1").drops
    assert (drops[Reason.TOO_MANY_FILTERS], drops[Reason.INTEREST_GAP]) == (1, 1)
    assert output(net, 0, "r1")[Kind.RECORD_REQUEST] == 0


def test_made_up_origins_fill_no_more_than_the_bound_and_harm_no_other_link() -> None:
    net = Network(configure(ring(3), limits=LimitConfig(bytes_per_neighbour=20_000)), 1)
    net.converge()
    impostor = Impostor(net, 0)
    for origin in range(100, 200):
        impostor.send(Kind.INTEREST, record(origin, 2**62, "x = 1"))
    router = net.router("r1")
    assert router.drops[Reason.TOO_MUCH_HELD] > 50
    status = router.status()["held_bytes"]
    assert isinstance(status, dict)
    assert status["r1-eth0"] <= 20_000
    (log,) = [log for _, name, log in net.logs if name == "r1" and log.event == Reason.TOO_MUCH_HELD]
    assert log.fields["setting"] == "limits.bytes_per_neighbour"
    Impostor(net, 1).send(Kind.INTEREST, record(500, 1, "x = 1"))
    assert held(net, "r1", 500) is not None


def without_the_last_of_three() -> Network:
    """A line whose last router had a client, announced often, and is gone; 5 s later it is forgotten."""
    net = Network(configure(line(3), {"c3": 3}, timers=TimerConfig(forget_ms=5_000)), 3)
    net.converge()
    subscribe(net, "c3", "x = 1", 1)
    net.converge()
    for _ in range(4):
        net.kill("r3")
        net.start("r3")
        net.converge()
    net.kill("r3")
    return net


def test_routers_that_are_gone_for_long_are_forgotten_and_believed_when_they_come_back() -> None:
    net = without_the_last_of_three()
    net.kill("c3")
    net.run(4 * SECOND)
    assert held(net, "r1", 3) is not None
    net.run(4 * SECOND)
    for name in ("r1", "r2"):
        assert held(net, name, 3) is None
        assert 3 not in dict(net.router(name).linkstate.database.records.payloads())
    net.start("r3")
    net.start("c3")
    net.converge()
    subscribe(net, "c3", "x = 2", 1)
    net.converge()
    assert "x = 2" in net.router("r1").tables()


def test_a_restarted_origin_learns_its_old_sequence_number_and_announces_above_it() -> None:
    """r2 forgets r3 while r1 still holds records of it, of far higher sequences."""
    net = without_the_last_of_three()
    net.run(6 * SECOND)
    net.router("r2")._forget(3)
    net.start("r3")
    net.converge()
    subscribe(net, "c3", "x = 2", 2)
    net.converge()
    assert held(net, "r1", 3) == held(net, "r3", 3)
    assert "x = 2" in net.router("r1").tables()


@pytest.mark.parametrize("scheme", ["pif", "flood"])
def test_who_has_forgotten_asks_neighbours_who_have_not_when_a_partition_heals(scheme: str) -> None:
    """r1 forgets r3, r4; r2 does not and takes it that r1 knows; nothing has changed behind the cut."""
    configs = configure(line(5), {"c4": 4, "c5": 5}, timers=TimerConfig(forget_ms=5_000))
    net = Network({n: replace(c, scheme=scheme) for n, c in configs.items()}, 3)
    net.converge()
    subscribe(net, "c4", "x = 4", 1)
    subscribe(net, "c5", "x = 5", 1)
    net.converge()
    net.cut("r2", "r3")
    net.run(5 * SECOND)
    router = net.router("r1")
    for origin in router.rules.ageing.take_due(net.now_ns + 4 * SECOND):
        router._forget(origin)
    assert 4 not in dict(router.linkstate.database.records.payloads())
    assert 4 in dict(net.router("r2").linkstate.database.records.payloads())
    net.cut("r2", "r3", down=False)
    net.converge()
    assert router.status()["routers_known"] == 5
    assert held(net, "r1", 5) == held(net, "r5", 5)


def test_two_routers_with_one_id_end_their_duel_with_an_alarm() -> None:
    configs = configure([(1, 2, 1), (2, 3, 1), (3, 4, 1)], {"c1": 1})
    configs["r4"] = replace(configs["r4"], node_id=1)
    configs["r3"] = replace(
        configs["r3"],
        interfaces=tuple(
            replace(i, peer_id=1) if i.peer_name == "r4" else i for i in configs["r3"].interfaces
        ),
    )
    net = Network(configs, 1)
    net.run(20 * SECOND)
    refused = [n for n in ("r1", "r4") if net.router(n).status()["id_refused"]]
    assert refused
    assert "node_id_collision" in {log.event for _, name, log in net.logs if name in refused}
    assert any("has the id" in reason for reason in net.reasons()), net.reasons()
    began = net.now_ns
    net.run(20 * SECOND)
    assert output(net, began)[Kind.LINK_STATE] < 500, "every 8 s it looks whether the other is there"

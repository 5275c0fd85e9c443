"""The HELLO state machine, two ends over a scripted exchange."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

from nodes.routing.adjacency import TRANSITIONS, Adjacency, Change, Event, State
from nodes.routing.effects import Reason
from nodes.wire.packets import Hello, Role
from tests.routing.fabric import MS, configure

CONFIGS = configure([(1, 2, 1)])


def end(name: str, random_source: int = 1) -> Adjacency:
    rng = random.Random(f"{name}/{random_source}")
    config = CONFIGS[name]
    return Adjacency(config, config.interfaces[0], rng.getrandbits(63) + 1, rng)


def hello(adjacency: Adjacency, now_ns: int = 0) -> Hello:
    """What it would say if it spoke now."""
    adjacency._hello_at = now_ns
    output = adjacency.take_hello(now_ns)
    assert output is not None
    return output


def joined() -> tuple[Adjacency, Adjacency]:
    a, b = end("r1"), end("r2")
    assert b.receive(0, hello(a)) == []
    assert a.receive(0, hello(b)) == [Change.OPENED]
    assert b.receive(0, hello(a)) == [Change.OPENED]
    return a, b


def test_every_state_has_a_row_for_every_event_that_can_reach_it() -> None:
    unreachable = {(State.DOWN, Event.RESTART), (State.DOWN, Event.SILENCE)}
    assert set(TRANSITIONS) == set(product(State, Event)) - unreachable


def test_a_hello_that_does_not_list_us_is_answered_at_once() -> None:
    a, b = end("r1"), end("r2")
    hello(b)
    assert b.take_hello(MS) is None, "not due"
    b.receive(MS, hello(a))
    answer = b.take_hello(MS)
    assert answer is not None
    assert (answer.seen_node, answer.seen_incarnation) == (1, a.incarnation)


def test_a_link_is_up_one_round_trip_after_the_later_end_began() -> None:
    a, b = joined()
    assert (a.state, b.state) == (State.UP, State.UP)
    assert (a.peer_incarnation, b.peer_incarnation) == (b.incarnation, a.incarnation)


def test_hellos_are_jittered_but_never_later_than_the_interval() -> None:
    a = end("r1")
    gaps = []
    for _ in range(50):
        now_ns = a.next_deadline()
        a.take_hello(now_ns)
        gaps.append(a.next_deadline() - now_ns)
    assert max(gaps) <= 250 * MS
    assert min(gaps) >= 187 * MS
    assert len(set(gaps)) > 40


def test_silence_for_the_neighbours_hold_time_ends_the_session_under_its_old_name() -> None:
    a, b = joined()
    before = a.incarnation
    assert a.handle_timer(2000 * MS - 1) == []
    assert a.handle_timer(2000 * MS) == [Change.CLOSED]
    assert a.incarnation != before
    assert b.receive(2000 * MS, hello(a, 2000 * MS)) == [Change.CLOSED], (
        "the other end learns it from the HELLO"
    )
    assert a.receive(2000 * MS, hello(b, 2000 * MS)) == [Change.OPENED]
    assert b.receive(2000 * MS, hello(a, 2000 * MS)) == [Change.OPENED]


def test_a_restarted_neighbour_ends_the_session_and_begins_another() -> None:
    a, _ = joined()
    again = end("r2", random_source=2)
    assert a.receive(MS, hello(again, MS)) == [Change.CLOSED]
    assert again.receive(MS, hello(a, MS)) == [Change.OPENED]
    assert a.receive(MS, hello(again, MS)) == [Change.OPENED]
    assert a.peer_incarnation == again.incarnation


def test_a_restart_costs_two_new_incarnations_and_not_a_storm_of_them() -> None:
    a, _ = joined()
    b = end("r2", random_source=2)
    seen = [(a.incarnation, b.incarnation)]
    for step in range(6):
        now_ns = step * MS
        a.receive(now_ns, hello(b, now_ns))
        b.receive(now_ns, hello(a, now_ns))
        seen.append((a.incarnation, b.incarnation))
    assert len(set(seen)) == 2
    assert a.up
    assert b.up


def test_an_old_hello_of_the_neighbours_earlier_life_is_stale() -> None:
    a, b = joined()
    old = hello(b)
    a.receive(MS, hello(end("r2", random_source=2), MS))
    assert a.refusal(old) is Reason.STALE_HELLO


def test_an_old_hello_that_does_not_list_us_yet_does_not_end_a_session() -> None:
    a, b = joined()
    old = replace(hello(b), seen_node=0, seen_incarnation=0)
    assert a.refusal(old) is None
    assert a.receive(MS, old) == []
    assert a.up


def test_a_packet_of_the_session_proves_what_a_lost_hello_would_have_said() -> None:
    a, b = end("r1"), end("r2")
    b.receive(0, hello(a))
    assert b.state is State.INIT
    assert b.prove(MS) == [Change.OPENED]


@pytest.mark.parametrize(
    ("changes", "reason", "event"),
    [
        ({"node": 9}, Reason.WRONG_PEER, "wrong_peer"),
        ({"role": Role.CLIENT}, Reason.WRONG_PEER, "wrong_peer"),
        ({"node": 1}, Reason.OWN_ID, "node_id_collision"),
    ],
)
def test_a_stranger_is_refused_and_named_once_in_the_log(
    changes: dict[str, object], reason: Reason, event: str
) -> None:
    a = end("r1")
    stranger = replace(hello(end("r2")), **changes)  # type: ignore[arg-type]
    assert [a.refusal(stranger) for _ in range(3)] == [reason] * 3
    assert [log.event for log in a.log] == [event]
    assert a.log[0].fields["expected"] == "node 2 (router)"


def test_sessions_never_come_back_however_hellos_are_lost_delayed_and_repeated() -> None:
    """Two ends, 400 random steps a seed: no pair of incarnations is opened twice at one end."""
    for seed in range(40):
        rng = random.Random(seed)
        ends = {"r1": end("r1", seed), "r2": end("r2", seed)}
        flying: list[tuple[str, Hello]] = []
        opened: set[tuple[str, int, int]] = set()
        now_ns = 0
        for _ in range(400):
            now_ns += rng.choice([MS, 100 * MS, 2500 * MS if rng.random() < 0.05 else MS])
            name, other = rng.sample(["r1", "r2"], 2)
            changes = ends[name].handle_timer(now_ns)
            flying.append((other, hello(ends[name], now_ns)))
            for to, output in rng.sample(flying[-6:], min(2, len(flying))):
                if rng.random() < 0.7 and ends[to].refusal(output) is None:
                    changes = ends[to].receive(now_ns, output)
                    if Change.OPENED in changes:
                        session = (to, ends[to].incarnation, ends[to].peer_incarnation)
                        assert session not in opened, f"seed {seed}"
                        opened.add(session)
        for step in range(16):
            at = now_ns + step * 250 * MS
            for adjacency in ends.values():
                adjacency.handle_timer(at)
            for name, other in (("r1", "r2"), ("r2", "r1")):
                output = hello(ends[name], at)
                if ends[other].refusal(output) is None:
                    ends[other].receive(at, output)
        assert ends["r1"].up, f"seed {seed}"
        assert ends["r2"].up, f"seed {seed}"

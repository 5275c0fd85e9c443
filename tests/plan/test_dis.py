"""`workload: dis`: how entities walk, and the single steps that come of it (MM 6, K10, decision 32)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from math import hypot
from random import Random
from statistics import mean
from typing import Any

import pytest

from nodes.config import Action
from nodes.model import advertised, format_predicate, matches, parse_message, parse_predicate
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.plan.problems import ScenarioError
from testbed.plan.waypoint import Gait, Leg, crossings, square_of, walk

SECOND = 1_000_000_000
WALKERS = {"walker": {"share": 1, "metres_per_second": [40, 60]}}
WORLD = {
    "squares": 20,
    "side_km": 1,
    "entities": [3, 6],
    "arrivals": "20/min",
    "messages": "1/s",
    "until": "20s",
    "speeds": WALKERS,
}


def plan(seed: int = 1, populations: dict[str, Any] | None = None, **world: Any) -> Plan:
    scenario = {
        "name": "game",
        "seed": seed,
        "topology": {"generate": "ring", "size": 3},
        "workload": {"dis": {**WORLD, **world}},
        "populations": populations or {"pub": {"count": 2, "entities": "publish"}},
    }
    return plan_of(scenario)


def actions(made: Plan, do: str) -> Iterator[Action]:
    return (action for client in made.clients for action in client.script if action.do == do)


def way(leg: Leg, squares: int) -> list[tuple[float, tuple[int, int]]]:
    return [(round(at_s, 9), square) for at_s, square in crossings(leg, squares)]


def test_a_straight_way_enters_the_squares_that_a_ruler_shows() -> None:
    # Ten squares: from the middle of (0, 2) to the middle of (3, 2), a square in two seconds.
    east = Leg(100.0, 6.0, (0.05, 0.25), (0.35, 0.25))
    assert way(east, 10) == [(101.0, (1, 2)), (103.0, (2, 2)), (105.0, (3, 2))]
    west = Leg(100.0, 6.0, (0.35, 0.25), (0.05, 0.25))
    assert way(west, 10) == [(101.0, (2, 2)), (103.0, (1, 2)), (105.0, (0, 2))]


def test_through_a_corner_both_lines_are_crossed_at_once() -> None:
    assert way(Leg(0.0, 4.0, (0.05, 0.05), (0.25, 0.25)), 10) == [(1.0, (1, 1)), (3.0, (2, 2))]


def test_a_slanted_way_enters_one_neighbour_after_another() -> None:
    # From (0.5, 0.5) to (2.5, 1.5) in squares: columns at a quarter and three quarters, the row at half.
    leg = Leg(0.0, 4.0, (0.05, 0.05), (0.25, 0.15))
    assert way(leg, 10) == [(1.0, (1, 0)), (2.0, (1, 1)), (3.0, (2, 1))]


def test_within_one_square_nothing_is_entered() -> None:
    assert way(Leg(0.0, 1.0, (0.01, 0.02), (0.09, 0.03)), 10) == []


def test_any_way_ends_in_the_square_of_its_goal_through_neighbours(rng: Random) -> None:
    for _ in range(200):
        squares = rng.randint(1, 300)
        leg = Leg(0.0, 1.0, (rng.random(), rng.random()), (rng.random(), rng.random()))
        path = [(0.0, square_of(leg.start, squares)), *crossings(leg, squares)]
        assert path[-1][1] == square_of(leg.end, squares)
        assert [at_s for at_s, _ in path] == sorted(at_s for at_s, _ in path)
        assert all(max(abs(a - c), abs(b - d)) == 1 for (_, (a, b)), (_, (c, d)) in pairwise(path))


def test_a_walk_goes_on_where_it_was_at_the_speeds_of_its_class() -> None:
    legs = list(islice(walk(Random(3), Gait(1000.0, (40.0, 60.0), 2.0), 10.0, (0.5, 0.5)), 300))
    assert (legs[0].begin_s, legs[0].start) == (10.0, (0.5, 0.5))
    for leg, then in pairwise(legs):
        assert then.start == leg.end
        assert then.begin_s == pytest.approx(leg.begin_s + leg.lasts_s + 2)
    speeds = [1000 * hypot(k.end[0] - k.start[0], k.end[1] - k.start[1]) / k.lasts_s for k in legs]
    assert min(speeds) >= 40 - 1e-6
    assert max(speeds) <= 60 + 1e-6
    assert abs(mean(speeds) - 50) < 2, "six standard errors, seed 3"


def test_an_entity_wants_the_squares_around_it_and_offers_the_same() -> None:
    made = plan(populations={"all": {"count": 3, "entities": "both"}})
    for client in made.clients:
        wanted = [(a.at_ns, a.text) for a in client.script if a.do == "subscribe"]
        offered = [(a.at_ns, a.text) for a in client.script if a.do == "advertise"]
        assert [at_ns for at_ns, _ in wanted] == [at_ns for at_ns, _ in offered]
        for (_, want_text), (_, offer_text) in list(zip(wanted, offered, strict=True))[::10]:
            want, offer = parse_predicate(want_text), parse_predicate(offer_text)
            assert format_predicate(want) == want_text, "scripts are canonical"
            assert format_predicate(offer) == offer_text
            square = re.fullmatch(r"x <= (\d+) and x >= \d+ and y <= (\d+) and y >= \d+", want_text)
            assert square is not None
            right, high = map(int, square.groups())
            around = [{"x": right + dx, "y": high + dy} for dx in range(-4, 3) for dy in range(-4, 3)]
            within = [message for message in around if matches(want, message)]
            assert within == [message for message in around if advertised(offer, message)]
            assert len(within) in {4, 6, 9}


def sides(text: str) -> tuple[int, int]:
    x = [int(part.split(" = ")[1]) for part in text.split(" and ") if part.startswith("x")]
    y = [int(part.split(" = ")[1]) for part in text.split(" and ") if part.startswith("y")]
    return len(x), len(y)


def test_a_descriptor_is_three_by_three_squares_and_smaller_only_at_the_edge() -> None:
    found = Counter(sides(action.text) for action in actions(plan(), "advertise"))
    assert set(found) <= {(3, 3), (2, 3), (3, 2), (2, 2)}
    assert found.most_common(1)[0][0] == (3, 3)
    wide = Counter(sides(action.text) for action in actions(plan(around=2), "advertise"))
    assert wide.most_common(1)[0][0] == (5, 5)


def test_a_message_says_where_its_entity_is() -> None:
    for client in plan().clients:
        held: dict[int, str] = {}
        published = 0
        for action in client.script:
            if action.do == "advertise":
                held[action.subscription] = action.text
            elif action.do == "unadvertise":
                del held[action.subscription]
            else:
                of, _, number = action.payload.partition("/")
                assert of == client.name
                assert advertised(parse_predicate(held[int(number)]), parse_message(action.text))
                published += 1
        assert published > 20


def test_a_descriptor_that_is_replaced_keeps_its_id() -> None:
    for client in plan().clients:
        entities = {a.payload for a in client.script if a.do == "publish"}
        ids = {a.subscription for a in client.script if a.do == "advertise"}
        assert len(entities) <= len(ids) < sum(a.do == "advertise" for a in client.script) / 3


def test_with_an_overlap_the_new_descriptor_is_there_before_the_old_one_goes() -> None:
    made = plan(overlap="300ms", populations={"sub": {"count": 2, "entities": "subscribe"}})
    for client in made.clients:
        begun = {a.subscription: a.at_ns for a in client.script if a.do == "subscribe"}
        ended = {a.subscription: a.at_ns for a in client.script if a.do == "unsubscribe"}
        assert len(begun) == sum(a.do == "subscribe" for a in client.script), "an id each"
        followed = [n for n in ended if n + 1 in begun and begun[n + 1] + 300_000_000 == ended[n]]
        assert len(followed) > len(begun) / 2
        assert all(begun[n] <= at_ns for n, at_ns in ended.items())


def test_the_same_walk_over_finer_squares_crosses_more_of_them() -> None:
    coarse, fine = (list(actions(plan(squares=n), "advertise")) for n in (10, 40))
    lives = [[a.at_ns for a in actions(plan(squares=n), "unadvertise")] for n in (10, 40)]
    assert lives[0] == lives[1]
    assert 2.5 * len(coarse) < len(fine) < 5 * len(coarse)


def test_more_clients_leave_the_walks_of_the_others_as_they_were() -> None:
    few = plan(populations={"pub": {"count": 2, "entities": "publish"}})
    many = plan(
        populations={
            "pub": {"count": 5, "entities": "publish"},
            "sub": {"count": 3, "entities": "subscribe"},
        }
    )
    scripts = {client.name: client.script for client in many.clients}
    assert all(scripts[client.name] == client.script for client in few.clients)
    assert plan(seed=2).clients[0].script != few.clients[0].script


def lives(made: Plan, name: str) -> tuple[list[int], dict[int, int], dict[int, int]]:
    """Who is there at first, who comes when, and who goes when."""
    (client,) = (c for c in made.clients if c.name == name)
    begun: dict[int, int] = {}
    for action in client.script:
        if action.do == "subscribe":
            begun.setdefault(action.subscription, action.at_ns)
    ended = {a.subscription: a.at_ns for a in client.script if a.do == "unsubscribe"}
    first = [number for number, at_ns in begun.items() if at_ns < 0]
    return first, {n: at_ns for n, at_ns in begun.items() if at_ns >= 0}, ended


STANDING = {"still": {"share": 1, "metres_per_second": [0.001, 0.001]}}


@pytest.fixture(scope="module")
def population() -> Plan:
    """Forty clients for an hour, of whose entities none leaves its square: comings and goings alone."""
    return plan(
        seed=5,
        populations={"sub": {"count": 40, "entities": "subscribe"}},
        entities=[50, 150],
        arrivals="1/min",
        until="1h",
        speeds=STANDING,
    )


def each_of(made: Plan, value: Callable[..., float]) -> list[float]:
    return [value(*lives(made, client.name)) for client in made.clients]


def test_a_client_begins_with_fifty_to_a_hundred_and_fifty_entities(population: Plan) -> None:
    counts = each_of(population, lambda first, came, gone: len(first))
    assert min(counts) >= 50
    assert max(counts) <= 150
    assert abs(mean(counts) - 100) < 4 * 29 / 40**0.5, "four standard errors, seed 5"


def test_new_entities_come_by_a_poisson_process(population: Plan) -> None:
    counts = each_of(population, lambda first, came, gone: len(came))
    gaps = [
        b - a
        for client in population.clients
        for a, b in pairwise(sorted(lives(population, client.name)[1].values()))
    ]
    assert abs(sum(counts) - 40 * 60) < 4 * (40 * 60) ** 0.5, "four standard deviations, seed 5"
    spread = (sum((gap - mean(gaps)) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert abs(spread / mean(gaps) - 1) < 0.1, "the gaps of a Poisson process scatter by their mean, seed 5"


def test_lives_last_as_long_on_average_as_keeps_the_number_of_entities(population: Plan) -> None:
    # Of N entities that live 60 N s on average, one leaves in a minute, whatever N is.
    counts = each_of(population, lambda first, came, gone: len(gone))
    assert abs(sum(counts) - 40 * 60) < 5 * (40 * 60) ** 0.5, "five standard deviations, seed 5"
    # Lives are exponential: of N a share of exp(-60/N) is still there after an hour.
    for client in population.clients:
        first, _, gone = lives(population, client.name)
        left = sum(number not in gone for number in first)
        expected = len(first) * 2.718281828 ** (-60 / len(first))
        assert abs(left - expected) < 5 * max(expected, 9) ** 0.5, f"{client.name}, seed 5"


def test_entities_are_of_the_classes_in_their_shares() -> None:
    speeds = {
        "fast": {"share": 1, "metres_per_second": [100, 100]},
        "still": {"share": 3, "metres_per_second": [0.001, 0.001]},
    }
    made = plan(seed=7, speeds=speeds, entities=[1000, 1000], arrivals="0/s", messages="0/s", until="20s")
    moved = Counter(
        (client.name, action.subscription)
        for client in made.clients
        for action in client.script
        if action.do == "advertise"
    )
    fast = sum(changes > 5 for changes in moved.values())
    assert len(moved) == 2000
    assert abs(fast - 500) < 4 * (2000 * 0.25 * 0.75) ** 0.5, "four standard deviations, seed 7"
    assert {action.do for client in made.clients for action in client.script} == {"advertise"}


def test_a_world_that_begins_later_is_the_same_world_later() -> None:
    later = plan(**{"from": "7s", "until": "27s"})
    for client, moved in zip(plan().clients, later.clients, strict=True):
        assert len(client.script) == len(moved.script)
        for action, then in zip(client.script, moved.script, strict=True):
            assert (action.do, action.text) == (then.do, then.text)
            assert abs(max(action.at_ns, 0) + 7 * SECOND - then.at_ns) <= 10, "rounded to nanoseconds"


def test_the_word_dis_is_the_world_of_the_paper() -> None:
    scenario = {
        "name": "game",
        "topology": {"generate": "ring", "size": 3},
        "phases": [{"name": "calm", "lasts": "5s"}],
        "clients": {"p": {"at": "r1", "entities": "publish"}},
    }
    said = plan_of({**scenario, "workload": {"dis": {"until": "30min"}}})
    assert plan_of({**scenario, "workload": "dis"}).clients == said.clients
    short = plan_of({**scenario, "workload": {"dis": {"until": "end of calm"}, "names": 7}})
    assert max(action.at_ns for action in short.clients[0].script) < 5 * SECOND


def test_a_world_that_no_plan_could_hold_is_refused_before_it_is_made() -> None:
    with pytest.raises(ScenarioError, match=r"the clients do about .* more than a plan can hold"):
        plan(until="24h", squares=1_000_000)

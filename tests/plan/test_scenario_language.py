"""What a scenario says in few words, and the single steps that the plan has of it (decision 16)."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from nodes.model import parse_message, parse_predicate
from testbed.plan.load import load_plan, plan_of, read_scenario
from testbed.plan.model import Expectation, Phase, Plan
from testbed.plan.problems import ScenarioError
from testbed.plan.recorded import plan_from_json, plan_to_json

SECOND = 1_000_000_000
NET = {
    "name": "net",
    "topology": {
        "routers": {"r1": {"tags": ["core"]}, "r2": {"tags": ["core"]}, "r3": {}, "r4": {}},
        "links": [
            {"between": ["r1", "r2"], "tags": ["trunk"]},
            {"between": ["r2", "r3"], "delay": "5ms"},
            "r3 - r4",
            "r4 - r1",
        ],
    },
}
PHASES = [{"name": "warmup", "lasts": "1s"}, {"name": "steady", "lasts": "2s"}]


def plan(**more: Any) -> Plan:
    made = plan_of({**NET, **more})
    if sum(len(client.script) for client in made.clients) < 100:  # reading YAML takes its time
        assert plan_from_json(plan_to_json(made)) == made
    return made


def times(reported: dict[str, Any], **more: Any) -> list[int]:
    clients = {"alice": {"at": "r1", "publish": [{"message": "x = 1", **reported}]}}
    (alice,) = plan(clients=clients, **more).clients
    return [action.at_ns for action in alice.script]


def crashed(reported: Any, **more: Any) -> list[str]:
    return [fault.target for fault in plan(faults=[{"at": "1s", "crash": reported}], **more).faults]


def test_a_group_is_a_list_a_tag_a_draw_or_a_condition() -> None:
    groups = {
        "edge": ["r3", "r4"],
        "both": ["core", "one of edge"],
        "far": {"of": "links", "where": "delay_ms > 1.0"},
        "joints": {"of": "routers", "where": 'core = true and name >= "r2"'},
    }
    assert crashed("core", groups=groups) == ["r1", "r2"]
    assert crashed("joints", groups=groups) == ["r2"]
    assert len(crashed("both", groups=groups)) == 3
    cut = plan(groups=groups, faults=[{"at": "1s", "link_down": "far"}]).faults
    assert [fault.target for fault in cut] == ["r2--r3"]


def test_a_group_that_draws_is_drawn_once_and_by_the_seed() -> None:
    groups = {"some": "2 of routers"}
    faults = [{"at": "1s", "crash": "some", "for": "1s"}, {"at": "3s", "crash": "some"}]
    first, second = plan(groups=groups, faults=faults), plan(groups=groups, faults=faults, seed=5)
    assert [f.target for f in first.faults[:2]] == [f.target for f in first.faults[4:]]
    drawn = {tuple(crashed("some", groups=groups, seed=seed)) for seed in range(20)}
    assert len(drawn) > 2
    assert second.faults != first.faults or len(drawn) == 1


def test_links_of_a_group_of_nodes_are_those_between_its_nodes() -> None:
    cut = plan(faults=[{"at": "1s", "link_down": ["core", "r4 - r3"]}]).faults
    assert [fault.target for fault in cut] == ["r1--r2", "r3--r4"]


def test_tags_of_routers_links_clients_and_populations_are_in_the_plan() -> None:
    made = plan(
        clients={"alice": {"at": "r1", "tags": ["vip"]}}, populations={"p": {"count": 1, "tags": ["q"]}}
    )
    tags = {thing.name: thing.tags for thing in (*made.nodes, *made.links)}
    assert tags["r1"] == ("core",)
    assert tags["r1--r2"] == ("trunk",)
    assert tags["alice"] == ("vip",)
    assert tags["p1"] == ("p", "q")


def test_phases_follow_one_another_and_times_may_name_them() -> None:
    made = plan(phases=PHASES)
    assert made.phases == (Phase("warmup", 0, SECOND), Phase("steady", SECOND, 3 * SECOND))
    assert times({"at": "steady + 500ms"}, phases=PHASES) == [SECOND + SECOND // 2]
    assert times({"at": "end of steady"}, phases=PHASES) == [3 * SECOND]
    assert times({"at": "steady - 1ms"}, phases=PHASES) == [SECOND - 1_000_000]


def test_a_rate_is_kept_exactly_and_ends_with_its_phase() -> None:
    due = times({"rate": "3/s", "during": "steady"}, phases=PHASES)
    assert due == [SECOND + n * SECOND // 3 for n in range(6)]
    assert times({"rate": "6/min", "count": 3}) == [0, 10 * SECOND, 20 * SECOND]
    assert len(times({"every": "1ms", "from": "1s", "until": "1100ms"})) == 100


def test_poisson_arrivals_have_the_rate_and_the_scatter_of_a_poisson_process() -> None:
    due = times({"rate": "1000/s", "arrivals": "poisson", "until": "10s"}, seed=3)
    gaps = [b - a for a, b in pairwise(due)]
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert due == sorted(due)
    assert abs(len(due) - 10_000) < 400, "four standard deviations, seed 3"
    assert abs(spread / mean - 1) < 0.1, "the gaps of a Poisson process scatter by their mean, seed 3"


def test_bursts_come_at_once_and_again() -> None:
    due = times({"arrivals": {"burst": {"size": 3, "every": "1s"}}, "count": 7})
    assert Counter(due) == {0: 3, SECOND: 3, 2 * SECOND: 1}


def test_staggered_clients_keep_the_rate_but_not_step() -> None:
    publish = [{"message": "x = 1", "rate": "10/s", "arrivals": "staggered", "count": 5}]
    made = plan(populations={"p": {"count": 20, "publish": publish}})
    firsts = {client.script[0].at_ns for client in made.clients}
    assert len(firsts) == 20
    assert max(firsts) < SECOND // 10
    assert all(b.at_ns - a.at_ns == SECOND // 10 for c in made.clients for a, b in pairwise(c.script))


def test_a_population_is_placed_by_its_rule() -> None:
    def homes(**reported: Any) -> Counter[str]:
        made = plan(populations={"p": reported}, seed=4)
        return Counter(client.interfaces[0].peer for client in made.clients)

    assert homes(count=8) == dict.fromkeys(("r1", "r2", "r3", "r4"), 2)
    assert homes(at="core", place="one each") == {"r1": 1, "r2": 1}
    assert set(homes(count=50, at=["core", "r3"], place="uniform")) == {"r1", "r2", "r3"}
    zipf = sorted(homes(count=1000, place={"zipf": 1.5}).values(), reverse=True)
    # Weights 1, 0.354, 0.192, 0.125 of 1.671.
    assert abs(zipf[0] - 598) < 60, "seed 4"
    assert abs(zipf[1] - 212) < 50, "seed 4"


def test_each_client_of_a_population_draws_for_itself() -> None:
    subscribe = [
        {
            "predicate": "t = {t} and x < {x}",
            "draw": {"t": {"zipf": ["a", "b"]}, "x": {"uniform": [1, 9]}},
            "count": 2,
        }
    ]
    clients = plan(populations={"p": {"count": 30, "subscribe": subscribe}}).clients
    texts = [action.text for client in clients for action in client.script]
    assert len(texts) == 60
    assert len(set(texts)) > 10
    assert [action.subscription for action in clients[0].script] == [1, 2]
    assert texts[0].startswith('t = "')
    assert all(parse_predicate(text) for text in texts)


def test_to_add_a_client_leaves_what_the_others_do_as_it_was() -> None:
    rule = {
        "publish": [
            {"message": {"x": {"uniform": [1, 10**9]}}, "rate": "9/s", "arrivals": "poisson", "count": 9}
        ]
    }
    few, many = plan(populations={"p": {"count": 3, **rule}}), plan(populations={"p": {"count": 5, **rule}})
    assert [c.script for c in few.clients] == [c.script for c in many.clients[:3]]


def test_pareto_draws_are_bounded_and_heavy_at_the_low_end_as_k4_has_them() -> None:
    publish = [
        {
            "every": "1ms",
            "count": 4000,
            "message": {"f": {"pareto": [1.0, 100.0, 1.0]}, "i": {"pareto": [1, 100]}},
        }
    ]
    (alice,) = plan(clients={"alice": {"at": "r1", "publish": publish}}).clients
    messages = [parse_message(action.text) for action in alice.script]
    drawn = sorted(float(str(message["f"])) for message in messages)
    assert 1.0 <= drawn[0] <= drawn[-1] <= 100.0
    # F(x) = (1 - 1/x) / (1 - 1/100): the median is 1.98, the upper decile 9.17.
    assert abs(drawn[2000] - 1.98) < 0.15
    assert abs(drawn[3600] - 9.17) < 1.5
    assert all(type(message["i"]) is int and 1 <= message["i"] <= 100 for message in messages)


def test_generated_filters_and_messages_share_their_names_as_f7_has_it() -> None:
    made = plan(
        workload={"names": 20, "constraints": [1, 2], "attributes": [5, 10]},
        populations={
            "s": {"count": 30, "subscribe": [{"generate": 3}]},
            "p": {"count": 2, "publish": [{"generate": True, "rate": "10/s", "count": 50}]},
        },
    )
    predicates = [parse_predicate(a.text) for c in made.clients for a in c.script if a.do == "subscribe"]
    messages = [parse_message(a.text) for c in made.clients for a in c.script if a.do == "publish"]
    wanted = {constraint.name for p in predicates for f in p.filters for constraint in f.constraints}
    output = {name for message in messages for name in message}
    assert all(len(p.filters) == 3 for p in predicates)
    assert all(5 <= len(message) <= 10 for message in messages)
    assert len(output) == 20
    assert wanted <= output


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("missing == 0 after recovery", ("missing", "==", 0.0, False, "recovery")),
        ("latency.p99 < 50ms during steady", ("latency.p99", "<", 50e6, False, "steady")),
        ("convergence.max<=2s", ("convergence.max", "<=", 2e9, False, "")),
        ("fidelity == trusted", ("fidelity", "==", 1.0, False, "")),
        ("lost <= 5 % during steady", ("lost", "<=", 0.05, True, "steady")),
        ("delivery_ratio > 0.95", ("delivery_ratio", ">", 0.95, False, "")),
        ("hops.mean != 1.5", ("hops.mean", "!=", 1.5, False, "")),
    ],
)
def test_expectations_are_read_into_quantity_comparison_value_and_scope(text: str, read: Any) -> None:
    assert plan(phases=PHASES, expect=[text]).expect == (Expectation(text, *read),)


def test_a_thousand_clients_need_but_a_few_lines_and_have_names_that_fit() -> None:
    made = plan(populations={"sub": {"count": 1000, "subscribe": ["x = 1"]}})
    assert len(made.clients) == 1000
    assert all(len(client.name) <= 9 for client in made.clients)


MATRIX = """\
name: many
parameters: {size: 3, wait: 1ms, text: a}
topology: {generate: ring, size: "${size}", link_defaults: {delay: "${wait}"}}
clients: {alice: {at: r1, subscribe: ['x = "${text}-${size}"']}}
matrix:
  scheme: [pif, psf]
  size: [3, 4]
  exclude: [{scheme: psf, size: 4}]
  repeat: 2
"""


@pytest.fixture
def many(tmp_path: Any) -> Any:
    path = tmp_path / "many.yaml"
    path.write_text(MATRIX, encoding="utf-8")
    return path


def test_a_matrix_is_all_combinations_but_those_excluded_each_with_its_seeds(many: Any) -> None:
    cells = read_scenario(many).plans()
    assert [cell.name for cell, _ in cells] == [
        f"scheme={scheme},size={size},seed={seed}"
        for scheme, size in (("pif", 3), ("pif", 4), ("psf", 3))
        for seed in (1, 2)
    ]
    for cell, made in cells:
        assert (made.scheme, len(made.routers), made.seed) == tuple(cell.values.values())
        assert made.clients[0].script[0].text == f'x = "a-{cell.values["size"]}"'
        assert made.overrides["parameters.size"] == str(cell.values["size"])


def test_what_is_set_from_outside_does_not_vary(many: Any) -> None:
    cells = read_scenario(many, 7, [("parameters.size", "5"), ("parameters.wait", "2ms")]).plans()
    assert [tuple(cell.values.values()) for cell, _ in cells] == [
        ("pif", 7),
        ("pif", 8),
        ("psf", 7),
        ("psf", 8),
    ]
    assert all(len(made.routers) == 5 for _, made in cells)
    assert cells[0][1].links[0].impairment.delay_ns == 2_000_000
    assert (
        read_scenario(many, None, [("parameters.size", "5"), ("scheme", "pif"), ("seed", "1")]).plans() == []
    )


def test_without_its_matrix_a_scenario_has_its_own_values(many: Any) -> None:
    assert len(load_plan(many).routers) == 3
    with pytest.raises(ScenarioError, match="0 is less than the least"):
        load_plan(many, overrides=[("parameters.size", "0")])


def test_what_is_wrong_with_one_cell_is_reported_once_for_all(many: Any) -> None:
    many.write_text(MATRIX.replace("size: [3, 4]", "size: [3, 2]").replace("size: 4}", "size: 3}"))
    with pytest.raises(ScenarioError) as caught:
        read_scenario(many).plans()
    assert len(caught.value.problems) == 1
    assert "at least 3" in str(caught.value)

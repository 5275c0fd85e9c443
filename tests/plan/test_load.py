"""Loading scenarios: overrides, seeds, scripts, and files that are none."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.config import Action
from nodes.model import matches, parse_message, parse_predicate
from testbed.plan.load import load_plan
from testbed.plan.model import Impairment
from testbed.plan.problems import ScenarioError
from testbed.plan.recorded import plan_from_json, plan_to_json
from testbed.plan.rendering import node_config
from topologies.library import SCENARIOS, scenario_names

SMALL = """
name: small
topology: {routers: [r1, r2], links: [r1 - r2]}
clients:
  alice:
    at: r1
    subscribe:
      - x = 1
      - {predicate: x = 2, at: 20ms, until: 1.5s}
  bob:
    at: r2
    publish:
      - {every: 10ms, count: 3, from: 5ms, message: {x: {uniform: [1, 9]}, y: {choice: [a, b]}}}
      - {at: 7ms, message: 'z = @5ns'}
"""


@pytest.fixture
def load(tmp_path):
    def load(text, **how):
        path = tmp_path / "scenario.yaml"
        path.write_text(text, encoding="utf-8")
        return load_plan(path, **how)

    return load


def script(plan, name):
    return next(n for n in plan.nodes if n.name == name).script


def complaint(load, text=SMALL, **how):
    with pytest.raises(ScenarioError) as caught:
        load(text, **how)
    return str(caught.value)


def test_a_payload_is_a_text_or_so_many_bytes_and_must_fit_with_the_message(load):
    publish = "{at: 1ms, message: x = 1, payload: PAYLOAD}"
    text = SMALL.replace("{at: 7ms, message: 'z = @5ns'}", publish)
    for payload, carried in (("héllo", "héllo"), ("{size: 12}", "012345678901"), ("{size: 0}", "")):
        plan = load(text.replace("PAYLOAD", payload))
        assert script(plan, "bob")[0] == Action(1_000_000, "publish", text="x = 1", payload=carried)
        assert plan_from_json(plan_to_json(plan)) == plan
    assert "the message takes 1549 bytes" in complaint(load, text.replace("PAYLOAD", "{size: 1500}"))


@pytest.mark.parametrize("name", scenario_names())
def test_every_shipped_scenario_loads_and_its_plan_reads_back_the_same(name):
    plan = load_plan(SCENARIOS / f"{name}.yaml")
    assert plan.name == Path(name).name
    assert plan_from_json(plan_to_json(plan)) == plan


def test_the_quickstart_has_what_it_promises():
    plan = load_plan(SCENARIOS / "quickstart.yaml")
    assert (len(plan.routers), len(plan.clients)) == (6, 8)
    assert sum(1 for link in plan.links if not link.b_interface.startswith("r")) == 8
    assert sum(1 for link in plan.links if link.b_interface.startswith("r")) >= len(plan.routers)
    actions = [a for client in plan.clients for a in client.script]
    messages = [parse_message(a.text) for a in actions if a.do == "publish"]
    assert 250 <= len(messages) <= 400
    assert 2.5e9 <= max(a.at_ns for a in actions) <= 4e9
    predicates = [parse_predicate(a.text) for a in actions if a.do == "subscribe"]
    used = [c for p in predicates for f in p.filters for c in f.constraints]
    assert len({c.type for c in used}) == 5
    assert len({c.op for c in used}) == 10
    # Each subscription is worth routing for: it gets something, and (but for `all`) not everything.
    for predicate in predicates:
        share = sum(matches(predicate, m) for m in messages) / len(messages)
        assert 0 < share < 0.5 or predicate == parse_predicate("all")


def test_subscriptions_without_a_time_come_before_the_start_and_ids_count_from_one(load):
    assert script(load(SMALL), "alice") == (
        Action(-1, "subscribe", 1, "x = 1"),
        Action(20_000_000, "subscribe", 2, "x = 2"),
        Action(1_500_000_000, "unsubscribe", 2),
    )


def test_generated_publications_become_actions_in_order_of_time(load):
    actions = script(load(SMALL), "bob")
    assert [a.at_ns for a in actions] == [5_000_000, 7_000_000, 15_000_000, 25_000_000]
    assert actions[1].text == "z = @1970-01-01T00:00:00.000000005Z"
    for action in (actions[0], *actions[2:]):
        drawn = parse_message(action.text)
        assert drawn["x"] in range(1, 10)
        assert drawn["y"] in ("a", "b")


def test_the_seed_alone_decides_what_is_drawn(load):
    assert script(load(SMALL), "bob") == script(load(SMALL, seed=1), "bob")
    assert any(script(load(SMALL), "bob") != script(load(SMALL, seed=s), "bob") for s in range(2, 6))


def test_another_publication_leaves_the_messages_of_the_first_as_they_were(load):
    more = SMALL + "      - {every: 1ms, count: 9, message: {x: {uniform: [1, 9]}}}\n"
    assert set(script(load(SMALL), "bob")) <= set(script(load(more), "bob"))


def test_a_plan_is_the_same_under_every_hash_seed():
    code = (
        "from testbed.plan.load import load_plan\nfrom testbed.plan.recorded import plan_to_json\n"
        "print(plan_to_json(load_plan('topologies/scenarios/quickstart.yaml')))"
    )
    root = Path(__file__).parents[2]
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout


def test_a_scheme_named_alone_takes_options_by_override(load):
    plan = load(SMALL, overrides=[("scheme", "siena"), ("scheme.tree", "source"), ("scheme.mode", "literal")])
    assert (plan.scheme, dict(plan.scheme_options)) == ("siena", {"tree": "source", "mode": "literal"})
    assert "the key name is missing" in complaint(load, overrides={"scheme.tree": "shared"})


def test_overrides_replace_scalars_by_dotted_key(load):
    plan = load(
        SMALL,
        seed=7,
        overrides=[
            ("scheme", "pif"),
            ("timing.hop_delay", "1ms"),
            ("clients.alice.at", "r2"),
            ("clients.bob.publish.1.at", "9ms"),
            ("clients.alice.subscribe.0", 'x = "one" and y > 2'),
            ("topology.link_defaults.loss", "0.5"),
        ],
    )
    assert plan.seed == 7
    assert plan.timing.hop_delay_ns == 1_000_000
    assert plan.links[1].a == "r2"
    assert plan.links[0].impairment == Impairment(loss=0.5)
    assert script(plan, "bob")[1].at_ns == 9_000_000
    assert script(plan, "alice")[0].text == 'x = "one" and y > 2'
    assert plan.overrides["clients.alice.at"] == "r2"


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("clients.alice.at", "r9", "--set clients.alice.at=r9: clients.alice.at: there is no router r9"),
        ("scheme", "pit", "--set scheme=pit: scheme: unknown scheme 'pit'"),
        ("timing.hop_dely", "1ms", "did you mean hop_delay?"),
        ("seed", "[1]", "only scalars can be set"),
        ("seed", "{", "not a YAML scalar"),
        ("seed", "", "seed: found nothing"),
        ("name.x", "1", "nothing inside a single value"),
        ("clients.bob.publish.2.at", "1s", "2 is no position in this list of 2"),
        ("clients..at", "r1", "empty part"),
        ("clients.alice.subscribe.0", "x = ", "column 4 of the text"),
        ("clients", "none", "--set clients=none: clients: found the text 'none'"),
    ],
)
def test_a_mistake_in_an_override_is_reported_as_the_option_s(load, key, text, says):
    reported = complaint(load, overrides={key: text})
    assert f"--set {key}={text}: " in reported
    assert says in reported


def test_a_bad_seed_from_the_command_line_is_reported_too(load):
    assert "--set seed=-1: seed: -1 is less than the least, 0" in complaint(load, seed=-1)


def test_all_mistakes_are_reported_at_once_in_order_of_place(load):
    text = SMALL.replace("x = 1", "x ==").replace("at: r2", "at: mars").replace("10ms", "-10ms")
    with pytest.raises(ScenarioError) as caught:
        load(text)
    lines = [p.line for p in caught.value.problems]
    assert len(lines) == 3
    assert lines == sorted(lines)


@pytest.mark.parametrize("size", [0, 40])
def test_files_that_cannot_be_read_are_refused(tmp_path, size):
    with pytest.raises(ScenarioError, match="this is a directory"):
        load_plan(tmp_path)
    with pytest.raises(ScenarioError, match="there is no such file"):
        load_plan(tmp_path / ("n" * size or "none.yaml"))


def test_a_file_that_never_ends_is_not_read_to_its_end():
    with pytest.raises(ScenarioError, match="more than 16 MiB"):
        load_plan("/dev/zero")


def test_too_deep_nesting_is_refused(load):
    assert "nested too deep" in complaint(load, "[" * 100_000)


@settings(max_examples=200)
@given(
    st.binary(max_size=80)
    | st.text(st.sampled_from("a:-[]{}&*!|>'\"%@` \n#,?1."), max_size=40).map(str.encode)
)
def test_any_bytes_are_a_scenario_or_a_scenario_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    path.write_bytes(data)
    with pytest.raises(ScenarioError):
        load_plan(path)


def test_odd_texts_and_numbers_survive_the_plan_s_json(load):
    odd = 'a\n\t"\\ \x85\u2028\ufeff\U0001f600 é: - # {'
    plan = replace(
        load(SMALL),
        description=odd,
        scheme_options={"a: b": odd, "n": 1e-9, "m": 1e30, "t": True, "s": "true", "i": "5"},
        overrides={"clients.a b": "'"},
    )
    assert plan_from_json(plan_to_json(plan)) == plan


def test_a_text_that_is_no_plan_is_refused_by_key():
    with pytest.raises(ValueError, match=r"not a plan of this version \(nam: unknown key"):
        plan_from_json('{"nam": 1}')
    with pytest.raises(ValueError, match=r"not a plan of this version \(Expecting value"):
        plan_from_json("[")


def test_a_node_s_configuration_says_who_is_at_the_other_end(load):
    plan = load(SMALL)
    r1, r2, alice, bob = (node_config(plan, n, "run-1") for n in plan.nodes)
    assert [(i.peer_name, i.peer_id) for i in r1.interfaces] == [("r2", 2), ("alice", 3)]
    assert alice.interfaces[0].peer_address == r1.interfaces[1].address
    assert bob.interfaces[0].peer_role == r2.role

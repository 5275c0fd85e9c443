"""A plan that a run kept reads back as the plan it was; an edited one is checked, with the line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.config import Action
from testbed.plan import ScenarioError, load_plan, load_recorded, plan_from_yaml, plan_of, plan_to_yaml
from testbed.plan.model import Expectation, Fault, Impairment, Phase, Plan

SHIPPED = sorted((Path(__file__).parents[2] / "topologies" / "scenarios").glob("*.yaml"))
NETWORK = {
    "name": "kept",
    "topology": {"routers": ["r1", "r2"], "links": ["r1 - r2"]},
    "clients": {
        "a": {
            "at": "r1",
            "publish": [{"every": "1ms", "count": 3, "from": "0s", "message": {"n": {"count": 1}}}],
        },
        "b": {"at": "r2", "subscribe": ["n > 1"]},
    },
}

share = st.floats(0, 1)
nanoseconds = st.integers(0, 10**12)
impairments = st.builds(
    Impairment,
    delay_ns=st.none() | nanoseconds,
    jitter_ns=nanoseconds,
    jitter_shape=st.sampled_from(("uniform", "normal", "pareto")),
    jitter_correlation=share,
    loss=share,
    rate_bps=st.none() | st.integers(1, 10**11),
    loss_burst=st.none() | st.floats(1, 1e6),
    duplicate=share,
    reorder=share,
    corrupt=share,
    queue_packets=st.none() | nanoseconds,
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    plan = plan_of(NETWORK)
    link = replace(plan.links[0], impairment=draw(impairments), back=draw(st.none() | impairments))
    faults = st.builds(
        Fault,
        nanoseconds,
        st.just("impair"),
        st.just(link.name),
        st.sampled_from(("start", "converged")),
        impairments,
        st.none() | impairments,
    )
    return replace(
        plan,
        description=draw(texts),
        seed=draw(st.integers(0, 2**63 - 1)),
        links=(link, *plan.links[1:]),
        faults=tuple(draw(st.lists(faults, max_size=3))),
        phases=tuple(draw(st.lists(st.builds(Phase, texts, nanoseconds, nanoseconds), max_size=2))),
        expect=tuple(
            draw(
                st.lists(
                    st.builds(Expectation, texts, texts, st.just("<"), st.floats(allow_nan=False)), max_size=2
                )
            )
        ),
        overrides=draw(st.dictionaries(texts, texts, max_size=3)),
    )


@settings(max_examples=25, deadline=None)
@given(plans())
def test_every_plan_reads_back_as_it_was(tmp_path_factory, plan: Plan) -> None:
    assert plan_from_yaml(plan_to_yaml(plan)) == plan
    path = tmp_path_factory.mktemp("kept") / "plan.yaml"
    path.write_text(plan_to_yaml(plan), encoding="utf-8")
    assert load_recorded(path) == plan


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_the_plans_of_the_shipped_scenarios_read_back_and_hold_together(tmp_path, path: Path) -> None:
    plan = load_plan(path)
    (tmp_path / "plan.yaml").write_text(plan_to_yaml(plan), encoding="utf-8")
    assert load_recorded(tmp_path / "plan.yaml") == plan


def told(tmp_path: Path, old: str, new: str) -> str:
    """What is said of a plan that was edited so."""
    text = plan_to_yaml(plan_of(NETWORK))
    assert re.search(old, text), f"{old} is not in the plan"
    (tmp_path / "plan.yaml").write_text(re.sub(old, new, text, count=1), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_recorded(tmp_path / "plan.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("seed: 1", "seed: one", r"plan\.yaml:4:7: seed: expected int"),
        ("seed: 1", "sead: 1", r"plan\.yaml:4:1: sead: unknown key"),
        ("seed: 1", "seed: -1", r"plan\.yaml:4:7: seed: the seed is negative"),
        ("seed: 1", "seed: 1\nseed: 2", r"the key stands twice, first in line 4"),
        ('name: "kept"', 'name: "../../etc"', r"plan\.yaml:2:7: name: .* is no name of a run"),
        ('- name: "r1"', '- name: "/r1"', r"nodes\.0\.name: '/r1' is no name of a node"),
        ("node_id: 2", "node_id: 1", r"nodes\.1\.node_id: the id is 1\n *expected: 2"),
        ("mtu: 1500", "mtu: 15", r"links\.0: the MTU or the cost is out of bounds"),
        ('b: "r2"', 'b: "r9"', r"links\.0\.a_interface: r1 has no interface r1-eth0 towards r9"),
        ('mac: "[^"]*"', 'mac: "; reboot"', r"mac: '; reboot' is no MAC"),
        ("loss: 0.0", "loss: 1.5", r"links\.0\.impairment\.loss: 1\.5 is no share"),
        ("n > 1", "n >", r"script\.0: column 4: expected a value"),
        ('scheme: "pif"', 'scheme: "pig"', r"plan\.yaml:5:9: scheme: there is no scheme 'pig'"),
        (r"faults: \[\]", 'faults: [{at_ns: 1, do: "crash", target: "r7"}]', r"there is no node 'r7'"),
        ("nodes:\n", "nodes: [\n", r"plan\.yaml:\d+:\d+: not YAML"),
        (r"(?s).*", "", r"the file is empty"),
    ],
)  # fmt: skip
def test_what_was_edited_into_nonsense_is_named_with_its_line(tmp_path, old, new, expected) -> None:
    assert re.search(expected, told(tmp_path, old, new)), told(tmp_path, old, new)


def test_one_mistake_a_thousand_times_is_told_twenty_times(tmp_path) -> None:
    plan = plan_of(NETWORK)
    script = tuple(Action(n, "publish", text="n =") for n in range(1000))
    client = replace(plan.nodes[2], script=script)
    text = plan_to_yaml(replace(plan, nodes=(*plan.nodes[:2], client, *plan.nodes[3:])))
    (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_recorded(tmp_path / "plan.yaml")
    assert len(caught.value.problems) == 20

"""`policy` says what clients may do, by name, tag and draw; routers are told of their own clients alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodes.config import InterfaceConfig, NodeConfig, PolicyConfig
from nodes.config_file import ConfigError, dump_config, load_config
from nodes.wire.packets import Role
from testbed.plan.load import plan_of
from testbed.plan.recorded import plan_from_json, plan_to_json
from testbed.plan.rendering import node_config

CLIENTS = {f"c{n}": {"at": "r1" if n < 4 else "r2"} for n in range(1, 6)}
SCENARIO: dict[str, Any] = {
    "name": "policed",
    "topology": {"routers": ["r1", "r2"], "links": ["r1 - r2"]},
    "clients": CLIENTS,
    "groups": {"loud": "c1, c2"},
}


def policies(policy: dict[str, Any], **more: Any) -> dict[str, PolicyConfig | None]:
    plan = plan_of({**SCENARIO, **more, "policy": policy})
    return {node.name: node.policy for node in plan.clients}


def test_a_default_for_all_is_overridden_key_by_key_by_what_stands_behind_it() -> None:
    found = policies(
        {
            "clients": {"subscribe": "x = 1", "publish": "none"},
            "loud": {"publish": "all"},
            "c2": {"advertise": "none"},
        }
    )
    assert found["c1"] == PolicyConfig(subscribe="x = 1", publish="all")
    assert found["c2"] == PolicyConfig(subscribe="x = 1", publish="all", advertise="none")
    assert found["c3"] == PolicyConfig(subscribe="x = 1", publish="none")


def test_who_may_do_anything_has_no_policy() -> None:
    assert set(policies({"clients": {"publish": "none"}, "all of clients": {"publish": "all"}}).values()) == {
        None
    }
    assert policies({"c1": {}})["c1"] is None
    assert set(policies({}).values()) == {None}


def test_a_draw_is_the_scenario_s_own_and_other_entries_do_not_change_it() -> None:
    drawn = {name for name, policy in policies({"2 of clients": {"publish": "none"}}).items() if policy}
    more = policies({"c1": {"subscribe": "x = 1"}, "2 of clients": {"publish": "none"}})
    assert len(drawn) == 2
    assert {name for name, policy in more.items() if policy and policy.publish == "none"} == drawn


def test_programs_have_a_policy_as_other_clients_have() -> None:
    clients = {**CLIENTS, "c1": {"at": "r1", "run": "true"}}
    found = policies({"c1": {"publish": "none"}}, clients=clients, duration="1s")
    assert found["c1"] == PolicyConfig(publish="none")


def test_a_router_is_told_what_its_own_clients_may_do_and_clients_are_told_nothing() -> None:
    plan = plan_of({**SCENARIO, "policy": {"c1": {"publish": "x = 1"}, "c5": {"subscribe": "none"}}})
    configs = {node.name: node_config(plan, node, "run") for node in plan.nodes}
    told = {
        name: {i.peer_name: i.policy for i in config.interfaces if i.policy}
        for name, config in configs.items()
    }
    assert {name: found for name, found in told.items() if found} == {
        "r1": {"c1": PolicyConfig(publish="x = 1")},
        "r2": {"c5": PolicyConfig(subscribe="none")},
    }


def test_a_recorded_plan_has_the_policy() -> None:
    plan = plan_of({**SCENARIO, "policy": {"c1": {"publish": "x = 1"}}})
    assert plan_from_json(plan_to_json(plan)) == plan


INTERFACE = InterfaceConfig(0, "r1-eth0", "10.0.0.1", "10.0.0.2", "c1", 9, Role.CLIENT)
ROUTER = NodeConfig("r1", 1, Role.ROUTER, "run", 1, (INTERFACE, replace(INTERFACE, index=1, name="r1-eth1")))


def written(config: NodeConfig, folder: Path) -> Path:
    path = folder / "node.toml"
    path.write_text(dump_config(config))
    return path


def test_node_toml_has_the_policy_behind_the_interface_and_reads_back_the_same(tmp_path: Path) -> None:
    policy = PolicyConfig(publish='kind = "a\\"b"', subscribe="none")
    limited = replace(ROUTER, interfaces=(replace(INTERFACE, policy=policy), ROUTER.interfaces[1]))
    assert "[interfaces.policy]" in dump_config(limited)
    assert "policy" not in dump_config(ROUTER)
    for config in (limited, ROUTER):
        assert load_config(written(config, tmp_path)) == config


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('publish = "x = 1"', 'publish = "x ="', r"interfaces\[0\].policy.publish: .*expected a value"),
        ('publish = "x = 1"', "publish = 3", r"interfaces\[0\].policy.publish: expected str, found 3"),
        ('publish = "x = 1"', 'punish = "all"', r"interfaces\[0\].policy.punish: unknown key"),
        ('peer_role = "client"', 'peer_role = "router"', r"policy is for clients; c1 is a router"),
    ],
)
def test_what_is_wrong_with_a_policy_in_node_toml_is_named(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    limited = replace(ROUTER, interfaces=(replace(INTERFACE, policy=PolicyConfig(publish="x = 1")),))
    path = written(limited, tmp_path)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ConfigError, match=words):
        load_config(path)

"""Mininet topologies as scenarios: which node is what, what links do, and files that are broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nodes.wire.packets import Role
from testbed.plan.drawn import import_topo, load_map
from testbed.plan.load import load_plan, plan_of, read_scenario
from testbed.plan.mininet_topo import TopoLink, TopoNode, link_words, scenario_of
from testbed.plan.problems import ScenarioError
from topologies.importers import MapOptions

pytest.importorskip("mininet")
EXAMPLE = Path(__file__).parents[2] / "topologies" / "mininet" / "ring.py"
TREE = """
from mininet.topo import Topo

class Tree(Topo):
    scenario = {"scheme": "psf", "seed": 9}

    def build(self):
        for n in (1, 2):
            switch = self.addSwitch(f"s{n}")
            for m in (1, 2):
                host = self.addHost(f"h{n}{m}", ip="10.9.9.9/8", subscribe=["x > 1"])
                self.addLink(host, switch, bw=10, delay="5ms", loss=2, max_queue_size=50)
        self.addLink("s1", "s2", delay=1500, jitter="1ms", cost=3)
"""


def topo(folder: Path, text: str, name: str = "Tree") -> str:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return f"{path}:{name}"


def test_switches_are_routers_and_hosts_with_one_link_are_clients(tmp_path: Path) -> None:
    plan = load_plan(topo(tmp_path, TREE))
    assert [n.name for n in plan.routers] == ["s1", "s2"]
    assert [n.name for n in plan.clients] == ["h11", "h12", "h21", "h22"]
    assert (plan.name, plan.scheme, plan.seed) == ("tree", "psf", 9)
    assert [action.do for action in plan.clients[0].script] == ["subscribe"]


def test_options_of_links_become_impairments(tmp_path: Path) -> None:
    plan = load_plan(topo(tmp_path, TREE))
    links = {(link.a, link.b): link for link in plan.links}
    access = links["s1", "h11"].impairment
    assert (access.rate_bps, access.delay_ns, access.loss) == (10_000_000, 5_000_000, 0.02)
    assert access.queue_packets == 50
    between = links["s1", "s2"]
    assert (between.impairment.delay_ns, between.impairment.jitter_ns) == (1_500_000, 1_000_000)
    assert between.cost == 3


def test_the_plan_gives_addresses_and_not_mininet(tmp_path: Path) -> None:
    plan = load_plan(topo(tmp_path, TREE))
    assert all(i.address != "10.9.9.9" for node in plan.nodes for i in node.interfaces)


def test_hosts_with_several_links_are_routers_and_a_class_decides_before_all(tmp_path: Path) -> None:
    text = """
from mininet.topo import Topo
from testbed.emu.mininet import CbnClient, CbnRouter

class Line(Topo):
    def build(self):
        a, b, c = (self.addHost(name) for name in ("a", "b", "c"))
        d = self.addHost("d", cls=CbnRouter)
        e = self.addSwitch("e", cls=CbnClient)
        for ends in ((a, b), (b, c), (c, d), (b, e)):
            self.addLink(*ends)
"""
    plan = load_plan(topo(tmp_path, text, "Line"))
    assert {n.name: n.role for n in plan.nodes} == {
        "a": Role.CLIENT,
        "b": Role.ROUTER,
        "c": Role.ROUTER,
        "d": Role.ROUTER,
        "e": Role.CLIENT,
    }


def test_the_shipped_example_is_a_plan_and_a_map_of_its_routers() -> None:
    reference = f"{EXAMPLE}:RingTopo"
    plan = load_plan(reference, seed=3, overrides=(("scheme", "psf"),))
    assert (len(plan.routers), len(plan.clients), plan.seed, plan.scheme) == (4, 2, 3, "psf")
    assert plan.scenario_path == reference
    drawn = import_topo(reference, MapOptions())
    assert [node.name for node in drawn.nodes] == ["r1", "r2", "r3", "r4"]
    assert {link.delay_ns for link in drawn.links} == {2_000_000}
    assert drawn.notes == ("2 clients are left out: a map holds routers",)
    assert len(load_map(reference).nodes) == 6


def test_the_scenario_that_is_kept_makes_the_same_plan(tmp_path: Path) -> None:
    reference = topo(tmp_path, TREE)
    kept = tmp_path / "scenario.yaml"
    kept.write_text(read_scenario(reference).text)
    again = load_plan(kept)
    plan = load_plan(reference)
    assert (again.nodes, again.links, again.scenario_sha256) == (plan.nodes, plan.links, plan.scenario_sha256)


BROKEN = [
    ("class Tree(:", "mine.py:1:1: the file cannot be run: SyntaxError"),
    ("x = 1", "there is no class Tree in"),
    ("Tree = 7", "Tree is no Mininet topology"),
    ("class Tree: pass", "expected: a subclass of mininet.topo.Topo"),
    ("\nraise RuntimeError('no')", "mine.py:2:1: the file cannot be run: RuntimeError: no"),
    ("import sys\nsys.exit(3)", "mine.py:2:1: the file cannot be run: SystemExit: 3"),
    ("import nothing_like_it", "the file cannot be run: ModuleNotFoundError"),
    (
        "from mininet.topo import Topo\nclass Tree(Topo):\n    def build(self): 1 / 0",
        "mine.py:3:1: Tree() cannot be made: ZeroDivisionError",
    ),
    ("from mininet.topo import Topo\nclass Tree(Topo): pass", "the topology|routers"),
    ("from mininet.topo import Topo\nclass Trea(Topo): pass", "did you mean Trea?"),
    (TREE.replace('{"scheme": "psf", "seed": 9}', "7"), "its attribute `scenario` is 7"),
    (TREE.replace('"psf"', '"best"'), "best"),
    (TREE.replace("bw=10", "bw='fast'"), "bw='fast'"),
    (TREE.replace("loss=2", "loss=200"), "percent, from 0 to 100"),
    (TREE.replace("bw=10", "use_htb=True"), "a link has no option use_htb"),
    (TREE.replace("bw=10", "speed=10"), "a link has no option speed"),
    (TREE.replace('"5ms"', '"soon"'), "delay"),
]


@pytest.mark.parametrize(("text", "complaint"), BROKEN)
def test_a_broken_file_says_what_is_wrong_and_where(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        load_plan(topo(tmp_path, text))
    assert any(part in str(raised.value) for part in complaint.split("|")), raised.value


def test_a_file_without_a_class_lists_those_it_has(tmp_path: Path) -> None:
    path, _, _ = topo(tmp_path, TREE).rpartition(":")
    with pytest.raises(ScenarioError, match="say which one is the topology") as raised:
        load_plan(path)
    assert ":CLASS with CLASS one of Tree" in str(raised.value)
    with pytest.raises(ScenarioError, match="there is no such file"):
        load_plan(tmp_path / "none.py")


def refused(nodes: list[TopoNode], links: list[tuple[str, str]], **more: Any) -> str:
    with pytest.raises(ScenarioError) as raised:
        plan_of(scenario_of("t", nodes, [TopoLink(a, b, more) for a, b in links], "it"), "it")
    return str(raised.value)


def test_nodes_that_cannot_be_clients_are_named() -> None:
    two = [TopoNode("a"), TopoNode("b")]
    assert "the link a - b joins two clients" in refused(two, [("a", "b")])
    assert "a is a client and has 0 links" in refused([TopoNode("a"), TopoNode("r", "router")], [])
    many = [TopoNode("c", "client"), TopoNode("r", "router"), TopoNode("s", "router")]
    assert "c is a client and has 2 links" in refused(many, [("c", "r"), ("c", "s"), ("r", "s")])


def test_what_the_plan_cannot_have_is_refused_in_the_plans_words() -> None:
    routers = [TopoNode(name, "router") for name in ("r1", "r2", "R3")]
    assert "R3" in refused(routers, [("r1", "r2"), ("r2", "R3")])
    twice = [("r1", "r2"), ("r1", "r2")]
    assert "there is a link between r1 and r2 already" in refused(routers[:2], twice)


def test_nodes_that_disagree_about_the_network_are_named() -> None:
    nodes = [
        TopoNode("r1", "router", options={"scheme": "psf"}),
        TopoNode("r2", "router", options={"scheme": "pif"}),
    ]
    assert "r2 has scheme='pif', and another node 'psf'" in refused(nodes, [("r1", "r2")])


def test_mininet_s_options_of_ends_are_no_properties_of_a_link() -> None:
    assert link_words({"port1": 3, "intfName1": "x", "delay": None, "fast": True}, "it") == {}

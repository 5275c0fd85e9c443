"""A plan as a map again: what a drawing of a scenario or a run shows, clients among it."""

from __future__ import annotations

from pathlib import Path

from nodes.wire.packets import Role
from testbed.plan.load import Overrides, read_scenario
from testbed.plan.model import LinkPlan, NodePlan, Plan
from testbed.plan.parameters import fill_in
from testbed.plan.shape import check_shape
from testbed.plan.topology import read_graph
from topologies.importers.cleaning import MapOptions, cleaned
from topologies.importers.raw import Raw, RawLink, RawNode
from topologies.map import Map, MapLink, MapNode, sorted_tags

CLIENT = "client"
"""The tag of clients, in the map of a plan."""


def load_map(path: str | Path, seed: int | None = None, overrides: Overrides = ()) -> Map:
    """The map of a scenario file: its routers where the scenario's own map has them, and its clients.

    Raises:
        ScenarioError: With everything that is wrong with the scenario.
    """
    scenario = read_scenario(path, seed, overrides)
    plan, source = scenario.plan(), scenario.copy()
    fill_in(source)
    return map_of_plan(plan, read_graph(source, check_shape(source)).map)


def import_topo(reference: str, options: MapOptions) -> Map:
    """The routers of a Mininet topology, `file.py:MyTopo`, and the links between them; a note counts clients.

    Raises:
        ScenarioError: There is no such topology, or no plan can be made of it.
        MapError: Nothing is left of what is wanted.
    """
    plan = read_scenario(reference).plan()
    raw = Raw(reference, named=True)
    for node in plan.routers:
        raw.add_node(RawNode(node.name, 0, tags=node.tags))
    for link in plan.links:
        if link.b in raw.nodes:
            there = link.impairment
            raw.links.append(
                RawLink(link.a, link.b, 0, there.delay_ns, there.rate_bps, there.loss, link.cost, link.tags)
            )
    if plan.clients:
        raw.notes.append(f"{len(plan.clients)} clients are left out: a map holds routers")
    return cleaned(raw, plan.name, reference, options)


def map_of_plan(plan: Plan, known: Map | None = None) -> Map:
    """The map of a plan; `known` may tell labels and places of its routers."""
    about = {node.name: node for node in known.nodes} if known else {}
    return Map(
        plan.name,
        tuple(_node(node, about.get(node.name)) for node in plan.nodes),
        tuple(_link(link) for link in plan.links),
        title=plan.name,
        sources=known.sources if known else (),
        notes=known.notes if known else (),
    )


def _node(node: NodePlan, known: MapNode | None) -> MapNode:
    tags = sorted_tags([*node.tags, CLIENT]) if node.role is Role.CLIENT else node.tags
    if known is None:
        return MapNode(node.name, tags=tags)
    return MapNode(node.name, known.label, known.place, known.at, tags)


def _link(link: LinkPlan) -> MapLink:
    there = link.impairment
    return MapLink(link.a, link.b, there.delay_ns, there.rate_bps, there.loss, link.cost, link.tags)

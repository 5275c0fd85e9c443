"""Placement: every node somewhere, clients with their routers, machines filled as they should be."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.wire.packets import Role
from testbed.cluster.hosts import Machine
from testbed.cluster.options import RULES
from testbed.cluster.placement import SLACK, Placement, PlacementError, place
from testbed.plan.model import LinkPlan, NodePlan, Plan

TAGS = ("left", "right", "core")


def plan_of(
    routers: dict[str, tuple[str, ...]], links: list[tuple[str, str]], clients: dict[str, str]
) -> Plan:
    """A plan of routers with tags, links between them, and clients at routers."""
    names = [*routers, *clients]
    nodes = tuple(
        NodePlan(n, i, Role.CLIENT if n in clients else Role.ROUTER, (), tags=routers.get(n, ()))
        for i, n in enumerate(names, 1)
    )
    ends = [*links, *((router, client) for client, router in clients.items())]
    wires = tuple(LinkPlan(f"{a}--{b}", a, b, f"{a}-x", f"{b}-x") for a, b in ends)
    return Plan("p", "", 1, "pif", {}, nodes, wires)


def machine(name: str, capacity: float = 1.0, tags: tuple[str, ...] = ()) -> Machine:
    return Machine(name, f"{name}.example", capacity=capacity, tags=tags)


@st.composite
def networks(draw: st.DrawFn) -> Plan:
    names = [f"r{i}" for i in range(draw(st.integers(1, 14)))]
    routers = {n: tuple(sorted(draw(st.sets(st.sampled_from(TAGS), max_size=1)))) for n in names}
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    links = draw(st.lists(st.sampled_from(pairs), max_size=30, unique=True)) if pairs else []
    clients = {f"c{i}": draw(st.sampled_from(names)) for i in range(draw(st.integers(0, 20)))}
    return plan_of(routers, links, clients)


@st.composite
def clusters(draw: st.DrawFn) -> list[Machine]:
    capacity = st.sampled_from([0.5, 1.0, 2.0, 7.0])
    tags = st.sets(st.sampled_from(TAGS), max_size=2)
    count = draw(st.integers(1, 5))
    return [machine(f"m{i}", draw(capacity), tuple(sorted(draw(tags)))) for i in range(count)]


def loads(plan: Plan, placed: Placement) -> Counter[str]:
    return Counter(placed.machine_of[node.name] for node in plan.nodes)


def heaviest(plan: Plan) -> int:
    of_router = Counter(link.a for link in plan.links if link.b.startswith("c"))
    return 1 + max(of_router.values(), default=0)


@given(networks(), clusters(), st.sampled_from(RULES), st.data())
def test_every_node_is_on_one_machine_where_it_may_be(
    plan: Plan, machines: list[Machine], rule: str, data: st.DataObject
) -> None:
    names = [m.name for m in machines]
    hand = data.draw(
        st.dictionaries(st.sampled_from([r.name for r in plan.routers]), st.sampled_from(names), max_size=3)
    )
    placed = place(plan, machines, rule, hand)
    assert list(placed.machine_of) == [node.name for node in plan.nodes]
    assert set(placed.machine_of.values()) <= set(names)
    assert sorted(n for m in names for n in placed.nodes_on(m)) == sorted(placed.machine_of)
    tags = {m.name: set(m.tags) for m in machines}
    for router in plan.routers:
        at = placed.machine_of[router.name]
        if router.name in hand:
            assert at == hand[router.name]
        elif any(set(router.tags) & t for t in tags.values()):
            assert set(router.tags) & tags[at]
    for link in plan.links:
        if link.b.startswith("c"):
            assert not placed.crosses(link)


@given(networks(), clusters())
def test_balanced_machines_are_filled_by_capacity_to_within_a_router_with_its_clients(
    plan: Plan, machines: list[Machine]
) -> None:
    free = [Machine(m.name, m.address, capacity=m.capacity) for m in machines]
    found = loads(plan, place(plan, free))
    total = sum(m.capacity for m in free)
    for each in free:
        bound = (len(plan.nodes) + (len(free) - 1) * heaviest(plan)) / total
        assert found[each.name] / each.capacity <= bound + 1e-9


@given(networks(), clusters())
def test_cut_has_no_more_links_between_machines_than_balanced_and_overfills_none(
    plan: Plan, machines: list[Machine]
) -> None:
    balanced, cut = place(plan, machines), place(plan, machines, "cut")
    assert len(cut.links_between(plan)) <= len(balanced.links_between(plan))
    if not any(m.tags for m in machines):
        total = sum(m.capacity for m in machines)
        before, after = loads(plan, balanced), loads(plan, cut)
        for each in machines:
            share = len(plan.nodes) * each.capacity / total
            assert after[each.name] <= max(before[each.name], share * (1 + SLACK) + heaviest(plan)) + 1e-6


@given(networks(), clusters(), st.sampled_from(RULES))
def test_the_same_is_placed_in_the_same_way(plan: Plan, machines: list[Machine], rule: str) -> None:
    assert place(plan, machines, rule) == place(plan, machines, rule)


def grid(side: int) -> Plan:
    names = [[f"r{x}-{y}" for x in range(side)] for y in range(side)]
    links = [(names[y][x], names[y][x + 1]) for y in range(side) for x in range(side - 1)]
    links += [(names[y][x], names[y + 1][x]) for y in range(side - 1) for x in range(side)]
    return plan_of({n: () for row in names for n in row}, links, {})


def test_a_grid_is_cut_into_pieces_and_not_scattered() -> None:
    plan, machines = grid(10), [machine(f"m{i}") for i in range(3)]
    assert len(place(plan, machines).links_between(plan)) > 100
    cut = place(plan, machines, "cut")
    assert len(cut.links_between(plan)) <= 30
    assert max(loads(plan, cut).values()) <= 38


def test_equal_routers_are_shared_out_evenly() -> None:
    plan = plan_of({f"r{i}": () for i in range(9)}, [], {})
    machines = [machine("a"), machine("b", 2.0)]
    assert loads(plan, place(plan, machines)) == {"a": 3, "b": 6}


@pytest.mark.parametrize(
    ("rule", "hand", "said"),
    [
        ("even", {}, "there is no rule 'even'; rules are balanced, cut"),
        ("cut", {"r9": "m"}, "there is no router 'r9' to place: routers are r1"),
        ("cut", {"c": "m"}, "c is a client, which is on its router's machine"),
        ("cut", {"r1": "x"}, "r1 cannot be on 'x': machines are m"),
    ],
)
def test_what_cannot_be_placed_is_named(rule: str, hand: dict[str, str], said: str) -> None:
    with pytest.raises(PlacementError) as raised:
        place(plan_of({"r1": ()}, [], {"c": "r1"}), [machine("m")], rule, hand)
    assert said in str(raised.value)


def test_without_machines_nothing_is_placed() -> None:
    with pytest.raises(PlacementError, match="there is no machine"):
        place(grid(2), [])

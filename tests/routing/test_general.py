"""The general model of addressing and routing, its instances, and what of it is installed (M8)."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.model import parse_filter, parse_predicate
from nodes.routing.schemes.base import Source
from nodes.routing.trees import Topology
from nodes.wire.codec import decode_filter, encode, encode_filter
from nodes.wire.packets import Message
from tests.routing.fabric import random_graph
from tests.routing.general_model import (
    BY_CONTENT,
    BY_EQUALITY,
    Hops,
    covering,
    groups,
    mappings,
    next_hops,
    subnets,
)
from tests.routing.test_schemes import random_case, store, view
from tests.routing.test_trees import FIGURE
from tests.routing.trips import World, publish

Messages = Mapping[str, int]

NUMBERS = st.integers(0, 3)
CONSTRAINTS = st.builds(
    "{} {} {}".format, st.sampled_from("xy"), st.sampled_from(["=", "<", ">", "<=", ">=", "!="]), NUMBERS
)
FILTERS = st.lists(CONSTRAINTS, min_size=1, max_size=3).map(
    lambda parts: encode_filter(parse_filter(" and ".join(parts)))
)
HOPS = st.frozensets(st.integers(0, 3), max_size=4)
TABLES = st.dictionaries(FILTERS, HOPS, max_size=8)
MESSAGES = st.fixed_dictionaries({}, optional={"x": NUMBERS, "y": NUMBERS})


def filter_(text: str) -> bytes:
    return encode_filter(parse_filter(text))


def hops(*interfaces: int) -> Hops:
    return frozenset(interfaces)


@settings(max_examples=300, deadline=None)
@given(TABLES, MESSAGES)
def test_M8_dropping_by_the_subnet_rule_never_changes_where_a_message_goes(
    table: dict[bytes, Hops], message: Messages
) -> None:
    assert next_hops(subnets(table, BY_CONTENT), BY_CONTENT, message) == next_hops(table, BY_CONTENT, message)


@settings(max_examples=200, deadline=None)
@given(TABLES)
def test_M8_what_is_left_by_the_subnet_rule_has_nothing_more_to_drop(table: dict[bytes, Hops]) -> None:
    left = subnets(table, BY_CONTENT)
    assert left.items() <= table.items()
    assert subnets(left, BY_CONTENT) == left


@given(TABLES, MESSAGES)
def test_M8_a_message_goes_to_the_next_hops_of_all_addresses_that_cover_it(
    table: dict[bytes, Hops], message: Messages
) -> None:
    covered = covering(table, BY_CONTENT, message)
    assert next_hops(table, BY_CONTENT, message) == {hop for address in covered for hop in table[address]}
    assert all(address in table for address in covered)


def test_M8_the_subnet_rule_needs_a_wider_filter_with_no_fewer_next_hops() -> None:
    wide, narrow = filter_("x > 1"), filter_("x > 2")
    assert subnets({wide: hops(1, 2), narrow: hops(2)}, BY_CONTENT) == {wide: hops(1, 2)}
    assert subnets({wide: hops(1), narrow: hops(1)}, BY_CONTENT) == {wide: hops(1)}
    for kept in ({wide: hops(1), narrow: hops(1, 2)}, {wide: hops(2), narrow: hops(1, 2)}):
        assert subnets(kept, BY_CONTENT) == kept


def test_M8_of_rows_that_make_each_other_needless_one_stays() -> None:
    same = {filter_("x > 2 and x >= 3"): hops(1), filter_("x > 2 and x > 1"): hops(1)}
    assert len(subnets(same, BY_CONTENT)) == 1


@given(st.dictionaries(st.integers(1, 9), HOPS), st.integers(1, 9))
def test_M8_multicast_is_the_instance_whose_messages_bear_their_address(
    table: dict[int, Hops], group: int
) -> None:
    assert next_hops(table, BY_EQUALITY, group) == table.get(group, hops())
    assert subnets(table, BY_EQUALITY) == table, "no group stands for another"


@pytest.mark.parametrize("seed", range(5))
def test_M8_unicast_is_the_instance_with_one_next_hop_an_address(seed: int) -> None:
    topology = Topology.around(1, random_graph(random.Random(seed), 9, 6))
    tables = {
        node: {to: hops(via) for to, via in topology.first_hops(node).items()} for node in topology.nodes
    }
    for source in topology.nodes:
        for target in topology.nodes:
            at, path = source, [source]
            while at != target:
                (at,) = next_hops(tables[at], BY_EQUALITY, target)
                path.append(at)
            assert path == topology.path(source, target), f"seed {seed}"


@pytest.mark.parametrize("seed", range(10))
def test_M8_the_installed_table_is_that_of_the_groups(seed: int) -> None:
    """A message that a client publishes goes wherever H_n says: all are children in our own tree."""
    edges, wants, source, message = random_case(seed)
    world = World(edges, wants, "multicast", {})
    known = world.network.store(source)
    table = groups(world.network.view(source), known.filters)
    access = next(i.index for i in world.routers[source].interfaces if i.peer_id == world.clients[source])
    _, copies = world.fibs[source].forward(
        encode(Message(world.clients[source], 1, 0, dict(message))), access
    )
    reached = next_hops(table, BY_CONTENT, message) - {access}
    assert {interface for interface, _ in copies} == reached, f"seed {seed}"
    assert next_hops(subnets(table, BY_CONTENT), BY_CONTENT, message) - {access} == reached, f"seed {seed}"


@pytest.mark.parametrize("seed", range(4))
def test_M8_multicast_and_pif_send_the_same_copies(seed: int) -> None:
    edges, wants, source, message = random_case(seed)
    assert publish(edges, wants, source, message, "multicast") == publish(edges, wants, source, message)


def test_M8_a_group_has_the_next_hops_towards_all_its_members() -> None:
    wants = {r: parse_predicate("p = 1") for r in (2, 9, 10)} | {8: parse_predicate("p > 0")}
    known, at_6 = store(wants), view(6, FIGURE, wants)
    towards = {neighbour: interfaces[0] for neighbour, interfaces in at_6.interfaces.items()}
    table = groups(at_6, known.filters)
    assert table == {filter_("p = 1"): hops(towards[2], towards[9]), filter_("p > 0"): hops(towards[7])}
    assert mappings(at_6, known.filters) == (2, 2)


def test_M8_the_subnet_rule_makes_the_table_of_groups_smaller() -> None:
    """Behind 9 are 5, 9 and 10 (T4): who wants more there hides who wants less."""
    wants = {5: parse_predicate("p > 0"), 9: parse_predicate("p > 5"), 10: parse_predicate("p = 7")}
    known = store(wants)
    assert mappings(view(6, FIGURE, wants), known.filters) == (3, 1)


def test_groups_read_as_filters() -> None:
    def reported(source: Source) -> list[bytes]:
        return [filter_(f"p = {source.number}")]

    table = groups(view(6, FIGURE, {2: parse_predicate("all")}), reported)
    assert [decode_filter(each) for each in table] == [parse_filter("p = 2")]

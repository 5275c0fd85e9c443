"""Multicast by content: every distinct filter is a group, its members the routers that want it (M8).

The routing table of the general model maps groups to the interfaces towards
their members (`groups`), and H_n is restricted to the children in the source's
tree, as in RTE 3. The data plane has this table by columns: at each interface
the filters mapped to it. A filter that another at the same interface covers is
left out there, which drops all that the subnet rule drops and more, since the
rule keeps a row whose next hops the wider one lacks in part. So the forwarding
is that of PIF, and what multicast costs, a row for each group, is reckoned by
`mappings`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import ClassVar

from nodes.routing.schemes.base import FibSpec, Options, Source, TableSpec, View
from nodes.routing.schemes.general import BY_CONTENT, Hops, subnets
from nodes.routing.schemes.pif import by_next_hop
from nodes.routing.schemes.sources import source_classes

Filters = Callable[[Source], Collection[bytes]]
"""The encoded filters of a predicate, as `PredicateStore.filters`."""


class Multicast:
    """A group for every filter, forwarding within the source's tree."""

    name: ClassVar[str] = "multicast"
    floods_interest: ClassVar[bool] = True

    def __init__(self, options: Options) -> None:
        del options

    def compile(self, view: View) -> FibSpec:
        """The table of groups by columns, one class a source router."""
        return FibSpec(view.node, source_classes(view), (columns(view),))


def columns(view: View) -> TableSpec:
    """Whose groups are mapped to each interface."""
    return {**by_next_hop(view), **view.client_tables}


def groups(view: View, filters: Filters) -> dict[bytes, Hops]:
    """The routing table x -> H, by ascending x: every filter and the interfaces towards who wants it."""
    table: dict[bytes, set[int]] = {}
    for interface, sources in columns(view).items():
        for source in sources:
            for filter_ in filters(source):
                table.setdefault(filter_, set()).add(interface)
    return {filter_: frozenset(table[filter_]) for filter_ in sorted(table)}


def mappings(view: View, filters: Filters) -> tuple[int, int]:
    """How many rows the table has, and how many the subnet rule leaves."""
    table = groups(view, filters)
    return len(table), len(subnets(table, BY_CONTENT))

"""Do two sets of tables forward alike? Compared by what they match, not by how they are numbered or written.

Not here: what they should be (`central`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fastpath import cover
from nodes.routing.install import MATCHES_EVERYTHING, Installer
from nodes.routing.predicates import COUNT, filters_of, reduced_union
from nodes.routing.schemes.base import EVERYTHING, ClassSpec, FibSpec, RouteSpec, Source
from nodes.routing.store import PredicateStore

Filters = frozenset[bytes]
NONE: Filters = frozenset()


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables with the filters that are in them."""

    spec: FibSpec
    contents: tuple[Mapping[int, Filters], ...]
    """By number of the table, the filters at each interface."""

    @classmethod
    def of_names(cls, spec: FibSpec, store: PredicateStore) -> Tables:
        """What a specification means, by what a store knows."""
        known: dict[tuple[Source, ...], Filters] = {}
        for sources in (sources for table in spec.tables for sources in table.values()):
            if sources not in known:
                known[sources] = united(sources, store)
        return cls(spec, tuple({i: known[sources] for i, sources in table.items()} for table in spec.tables))

    @classmethod
    def installed(cls, installer: Installer) -> Tables:
        """What a router has installed."""
        assert installer.spec is not None, "nothing was installed"
        return cls(installer.spec, installer.contents())

    def at(self, entry: ClassSpec, interface: int) -> Filters:
        """What a class has to match to be sent there."""
        return self.contents[entry.table].get(interface, NONE) if entry.out >> interface & 1 else NONE


def united(sources: tuple[Source, ...], store: PredicateStore) -> frozenset[bytes]:
    """The filters of a union of named predicates."""
    if EVERYTHING in sources:
        return frozenset(filters_of(MATCHES_EVERYTHING))
    return frozenset(filters_of(reduced_union(store.predicate(source) for source in sources)))


def tables_equal(left: Tables, right: Tables) -> bool:
    """Whether no message is forwarded otherwise by one than by the other."""
    return next(differences(left, right), None) is None


def differences(left: Tables, right: Tables) -> Iterator[str]:
    """What differs, one thing a line.

    Predicates are compared by covering, both ways. What is reported of filters with suffixes or
    substrings may differ in writing alone, as covering is not always found for these.
    """
    if left.spec.origin_class != right.spec.origin_class:
        yield f"origin class {left.spec.origin_class}, not {right.spec.origin_class}"
    ours, theirs = _classes(left.spec), _classes(right.spec)
    same: set[tuple[Filters, Filters]] = set()
    for header in sorted({*ours, *theirs}):
        if header not in ours or header not in theirs:
            yield f"class {header} is known to the {'first' if header in ours else 'second'} alone"
        else:
            for what in _between((left, ours[header]), (right, theirs[header]), same):
                yield f"class {header}: {what}"
    yield from _routes(left, right, same)


def _classes(spec: FibSpec) -> dict[int, ClassSpec]:
    return {entry.header_class: entry for entry in spec.classes}


def _between(
    left: tuple[Tables, ClassSpec], right: tuple[Tables, ClassSpec], same: set[tuple[Filters, Filters]]
) -> Iterator[str]:
    (our_tables, ours), (their_tables, theirs) = left, right
    for what in ("accept", "rewrite", "routed"):
        one, other = getattr(ours, what), getattr(theirs, what)
        if one != other:
            yield f"{what} is {one}, not {other}"
    for interface in range(max(ours.out.bit_length(), theirs.out.bit_length())):
        if not _alike(our_tables.at(ours, interface), their_tables.at(theirs, interface), same):
            yield f"other messages go to interface {interface}"


def _routes(left: Tables, right: Tables, same: set[tuple[Filters, Filters]]) -> Iterator[str]:
    ours, theirs = left.spec.route, right.spec.route
    if ours is None or theirs is None:
        if ours is not theirs:
            yield "only one of them forwards by destinations"
    elif (ours.destinations, ours.one_each) != (theirs.destinations, theirs.one_each):
        yield "destinations, or the ways to them, differ"
    else:
        for position, (router, _) in enumerate(ours.destinations):
            if not _alike(_wanted(left, ours, position), _wanted(right, theirs, position), same):
                yield f"other messages are for router {router}"


def _wanted(tables: Tables, route: RouteSpec, position: int) -> Filters:
    return tables.contents[route.table].get(position, NONE)


def _alike(left: Filters, right: Filters, same: set[tuple[Filters, Filters]]) -> bool:
    """Whether two predicates match the same messages; pairs found equal before are not compared again."""
    if left == right or (left, right) in same:
        return True
    ours, theirs = _reduced(left), _reduced(right)
    if ours != theirs and not (_covers(ours, theirs) and _covers(theirs, ours)):
        return False
    same.add((left, right))
    return True


def _reduced(filters: Filters) -> Filters:
    return frozenset(filters_of(cover.reduce(COUNT.pack(len(filters)) + b"".join(sorted(filters)))))


def _covers(wide: Filters, narrow: Filters) -> bool:
    return all(each in wide or any(cover.covers(other, each) for other in wide) for each in narrow)

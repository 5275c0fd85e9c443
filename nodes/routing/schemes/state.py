"""How much routers hold to forward by: measured, and by the paper's formulas (RTE 2.4, 3; T6, E9).

The paper counts bits: a predicate has M_p, a router's id log n. Here a predicate
has the bits of its encoded filters. It is counted in several ways, as `State`
says, because the paper's structures and ours are not the same: PSF has a table a
source there and shares tables here.

What a router's own clients want is left out, as in the paper. The formulas are in
`nodes.scheme_formulas`.

Not here: the memory of compiled tables beside their filters (`Installer.stats`
tells it), nor what routers hold to compute tables from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields

from fastpath import cover
from nodes.routing.install import MATCHES_EVERYTHING
from nodes.routing.predicates import COUNT, reduced_union
from nodes.routing.schemes.base import EVERYTHING, FibSpec, Source, TableSpec
from nodes.routing.store import PredicateStore
from nodes.routing.trees import Topology
from nodes.scheme_formulas import Figures, formula


@dataclass(frozen=True, slots=True)
class Held:
    """Predicates that are held, one an interface of a table."""

    rows: int = 0
    """How many."""
    parts: int = 0
    """Of how many predicates they are the unions."""
    filters: int = 0
    constraints: int = 0
    bits: int = 0
    """In filters, constraints and bits, reduced (D2) if they are small."""
    parts_constraints: int = 0
    parts_bits: int = 0
    """What the parts have together: with alpha = 1."""

    def __add__(self, other: Held) -> Held:
        return Held(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def alpha(self) -> float:
        """The disjunction advantage: what remains of the parts' size in their unions (RTE 2.4)."""
        return self.bits / self.parts_bits if self.parts_bits else 1.0


@dataclass(frozen=True, slots=True)
class State:
    """What one router holds, or several together."""

    routers: int = 0
    classes: int = 0
    """Header classes: the domain of I_u and child_u."""
    children: int = 0
    """Interfaces to routers over all classes: the entries of child_u."""
    destinations: int = 0
    """Routers to which a next hop is known (DRP's unicast function)."""
    tables: int = 0
    shared: Held = Held()
    """As it is held: tables shared between classes."""
    apart: Held = Held()
    """As it were if each class had a table of its own, of its own interfaces alone: RTE's F_u(v, w)."""

    def __add__(self, other: State) -> State:
        return State(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def total(states: Iterable[State]) -> State:
    """Of a network."""
    return sum(states, start=State())


def measure(spec: FibSpec, store: PredicateStore, senders: Collection[int] | None = None) -> State:
    """What a router holds.

    Args:
        spec: What it forwards by.
        store: What the names in it stand for.
        senders: If given, `classes`, `children` and `apart` count no classes but those named after
            one of these routers: for schemes whose class is the source.
    """
    weigh = _Scales(store).weigh
    counted = [c for c in spec.classes if senders is None or c.header_class in senders]
    local = _local_mask(spec.tables)
    outs = [(c, c.out & ~local) for c in counted]
    apart = [
        weigh(sources)
        for entry, out in outs
        for interface, sources in spec.tables[entry.table].items()
        if out >> interface & 1
    ]
    return State(
        routers=1,
        classes=len(counted),
        children=sum(out.bit_count() for _, out in outs),
        destinations=len(spec.route.destinations) if spec.route else 0,
        tables=len(spec.tables),
        shared=sum((weigh(s) for table in spec.tables for s in table.values()), start=Held()),
        apart=sum(apart, start=Held()),
    )


def _local_mask(tables: Iterable[TableSpec]) -> int:
    clients = {
        i for table in tables for i, sources in table.items() if any(s.kind == "client" for s in sources)
    }
    return sum(1 << interface for interface in clients)


class _Scales:
    """Weighs each union once."""

    def __init__(self, store: PredicateStore) -> None:
        self._store = store
        self._known: dict[tuple[Source, ...], Held] = {}

    def weigh(self, sources: tuple[Source, ...]) -> Held:
        if sources not in self._known:
            self._known[sources] = self._weigh([s for s in sources if s.kind != "client"])
        return self._known[sources]

    def _weigh(self, sources: list[Source]) -> Held:
        if not sources:
            return Held()
        predicates = [MATCHES_EVERYTHING if s == EVERYTHING else self._store.predicate(s) for s in sources]
        union = MATCHES_EVERYTHING if EVERYTHING in sources else reduced_union(predicates)
        filters, constraints = cover.count(union)
        parts = [cover.count(predicate)[1] for predicate in predicates]
        return Held(
            rows=1,
            parts=len(predicates),
            filters=filters,
            constraints=constraints,
            bits=bits(union),
            parts_constraints=sum(parts),
            parts_bits=sum(map(bits, predicates)),
        )


def bits(predicate: bytes) -> int:
    """M(p): the size of an encoded predicate's filters."""
    return 8 * (len(predicate) - COUNT.size)


def figures_of(
    topology: Topology, wants: Mapping[int, bytes], senders: Collection[int], alpha: float = 1.0
) -> Figures:
    """What the formulas ask for, of a network, the predicates of its receivers, and its senders."""
    receivers = sorted(wants)
    distances = [len(topology.path(v, x)) - 1 for v in senders for x in receivers]
    return Figures(
        n=len(topology.nodes),
        s=len(senders),
        r=len(receivers),
        predicate_bits=_mean([bits(wants[x]) for x in receivers]),
        d=_mean(distances),
        delta=max(len(topology.neighbours(u)) for u in topology.nodes),
        alpha=alpha,
        is_tree=len(topology.edges) == len(topology.nodes) - 1,
    )


def _mean(numbers: list[int]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def measured(scheme: str, state: State, figures: Figures) -> float | None:
    """The bits of what `formula` counts, in a network's state, which is a `total`; None as there.

    For psf the state must have been measured for the senders alone; for drp the formula counts
    predicates at senders, and every router of ours may be one.
    """
    if formula(scheme, figures) is None:
        return None
    return _MEASURES[scheme](state, figures)


_MEASURES: Mapping[str, Callable[[State, Figures], float]] = {
    "psf": lambda state, f: f.s * f.id_bits + state.apart.bits,
    "ipsf": lambda state, _: state.shared.bits,
    "pif": lambda state, f: state.children * f.id_bits + state.shared.bits,
    "drp": lambda state, f: state.destinations * f.id_bits + state.shared.bits,
}

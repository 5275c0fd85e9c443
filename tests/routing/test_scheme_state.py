"""What routers hold, beside the paper's formulas (T6, E9)."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from nodes.model import Predicate, parse_predicate
from nodes.routing.schemes.state import State, bits, figures_of, measure, measured, total
from nodes.routing.trees import Edge, Topology
from nodes.scheme_formulas import Figures, formula
from nodes.wire.codec import encode_predicate
from tests.routing.fabric import random_graph
from tests.routing.test_schemes import numbered, spec, store
from tests.routing.test_trees import FIGURE

ALL = list(range(1, 13))


def held(
    scheme: str, edges: list[Edge], wants: Mapping[int, Predicate], senders: list[int] | None = None
) -> State:
    """Of the whole network."""
    nodes = sorted({end for edge in edges for end in edge[:2]})
    known = store(wants)
    return total(measure(spec(u, edges, wants, scheme), known, senders) for u in nodes)


def figures(
    edges: list[Edge], wants: Mapping[int, Predicate], senders: list[int], alpha: float = 1.0
) -> Figures:
    encoded = {x: encode_predicate(predicate) for x, predicate in wants.items()}
    return figures_of(Topology.around(edges[0][0], edges), encoded, senders, alpha)


@pytest.mark.parametrize("seed", range(6))
def test_T6_psf_holds_a_predicate_of_each_receiver_on_each_link_of_its_path_from_each_sender(
    seed: int,
) -> None:
    """M(PSF) = s log n + M_p * sum of dist, exactly, for predicates of one size that share nothing."""
    rng = random.Random(seed)
    edges = random_graph(rng, 12, 9)
    wants, senders = numbered(rng.sample(ALL, 6)), rng.sample(ALL, 4)
    of, state = figures(edges, wants, senders), held("psf", edges, wants, senders)
    by_formula = formula("psf", of)
    assert by_formula == pytest.approx(measured("psf", state, of)), f"seed {seed}"
    assert state.apart.parts == round(of.s * of.r * of.d), f"seed {seed}"
    assert state.apart.bits == state.apart.parts_bits, f"seed {seed}: nothing to reduce"


@pytest.mark.parametrize("seed", range(6))
def test_T6_ipsf_on_a_tree_holds_each_predicate_at_every_router_but_its_own(seed: int) -> None:
    """M(iPS) = O(n r M_p alpha(r/Delta)): here n - 1 for n."""
    rng = random.Random(seed)
    edges = random_graph(rng, 12, 0)
    wants = numbered(rng.sample(ALL, 7))
    of, state = figures(edges, wants, ALL), held("ipsf", edges, wants)
    by_formula = formula("ipsf", of)
    assert by_formula is not None
    assert measured("ipsf", state, of) == pytest.approx(by_formula * 11 / 12), f"seed {seed}"
    assert state.classes == 12 + 2 * len(edges), f"seed {seed}: a class a neighbour, and one for ourselves"
    assert state.tables == 12, f"seed {seed}"


@pytest.mark.parametrize("extra", [0, 3, 8, 20])
@pytest.mark.parametrize("seed", range(4))
def test_T6_ipsf_never_holds_more_than_psf(seed: int, extra: int) -> None:
    rng = random.Random(seed)
    edges = random_graph(rng, 12, extra)
    wants = {x: parse_predicate(f"x > {rng.randrange(10)}") for x in rng.sample(ALL, 8)}
    psf, ipsf = held("psf", edges, wants), held("ipsf", edges, wants)
    assert ipsf.shared == psf.shared, f"seed {seed}"
    assert ipsf.classes <= psf.classes, f"seed {seed}"
    assert ipsf.apart.bits <= psf.apart.bits, f"seed {seed}"


@pytest.mark.parametrize("seed", range(6))
def test_T6_E9_pif_is_within_its_formula(seed: int) -> None:
    rng = random.Random(seed)
    edges = random_graph(rng, 12, 9)
    wants = numbered(rng.sample(ALL, 6))
    of, state = figures(edges, wants, ALL), held("pif", edges, wants)
    by_formula, by_measure = formula("pif", of), measured("pif", state, of)
    assert by_formula is not None
    assert by_measure is not None
    assert by_measure <= by_formula, f"seed {seed}"
    assert state.shared.parts == 11 * 6, f"seed {seed}: each predicate at every router but its own"
    assert state.children == 12 * 11, f"seed {seed}: each tree has 11 links"


def test_T6_drp_holds_a_next_hop_for_each_router_and_all_predicates() -> None:
    wants = numbered(ALL)
    of, state = figures(FIGURE, wants, ALL), held("drp", FIGURE, wants)
    assert state.destinations == 12 * 11
    assert measured("drp", state, of) == pytest.approx(11 / 12 * (formula("drp", of) or 0))


def test_E9_the_formula_of_pif_has_no_second_n() -> None:
    of = Figures(n=16, s=3, r=5, predicate_bits=100, d=2.5, delta=4, alpha=0.5)
    assert formula("pif", of) == 16 * (3 * 4 * 4 + 5 * 100 * 0.5)
    assert formula("psf", of) == 3 * 4 + 3 * 5 * 100 * 2.5
    assert formula("drp", of) == 16 * 5 * 4 + 3 * 5 * 100


def test_schemes_without_a_formula_say_so() -> None:
    of = Figures(n=16, s=3, r=5, predicate_bits=100, d=2.5, delta=4)
    assert [formula(scheme, of) for scheme in ("flood", "siena", "cbcb", "ipsf")] == [None] * 4
    assert measured("flood", State(), of) is None


def test_D2_what_reduction_saves_shows() -> None:
    wants = {x: parse_predicate(f"x > {x}") for x in ALL}
    state = held("pif", FIGURE, wants)
    assert state.shared.parts_constraints == 12 * 11
    assert state.shared.constraints == state.shared.rows == 2 * len(FIGURE)
    assert 0 < state.shared.alpha < 0.3


def test_flooding_holds_no_predicate_but_the_one_that_matches_everything() -> None:
    state = held("flood", FIGURE, numbered(ALL))
    assert state.shared.constraints == 0
    assert state.shared.filters == 2 * len(FIGURE)


def test_the_size_of_a_predicate_is_that_of_its_filters() -> None:
    one, two = (encode_predicate(parse_predicate(text)) for text in ("x = 1", "x = 1 or x = 2"))
    assert bits(two) == 2 * bits(one) > 0

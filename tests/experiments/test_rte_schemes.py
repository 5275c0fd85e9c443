"""All schemes on the same networks: what is counted, and a slice of the experiment (T1, T6, E8, E9)."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest

from nodes.scheme_catalog import CATALOG
from testbed.cli.main import main
from testbed.experiments.experiment import load_experiment
from testbed.experiments.results import from_json
from testbed.experiments.schemes import page as findings
from testbed.experiments.schemes.measure import (
    Crossing,
    Observed,
    Paths,
    Row,
    observe,
    row_of,
    wasted,
)
from testbed.experiments.schemes.networks import (
    COSTS,
    FILTERS,
    VALUES,
    WIDTHS,
    Case,
    links_of,
    load_of,
    scenario,
)
from testbed.plan.load import plan_of
from testbed.plan.problems import ScenarioError
from topologies.library import experiment_file

SEED = 3
CASE = Case("random", 12, 3, 6, 24, ("pif", "psf"))
SHAPES = ("random", "power-law", "tree")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("routers", [2, 3, 10, 60])
def test_networks_are_connected_and_of_their_shape(shape: str, routers: int) -> None:
    links = links_of(Case(shape, routers, 1, 1, 1, ()), SEED)
    graph = nx.Graph(list(links))
    assert len(graph) == routers
    assert nx.is_connected(graph)
    assert set(links.values()) <= set(COSTS)
    if shape == "tree":
        assert len(links) == routers - 1
    if shape == "power-law" and routers == 60:
        assert max(dict(graph.degree).values()) >= 12, "a few routers have many links"


def test_no_range_of_a_receiver_covers_another_of_its_own() -> None:
    for ranges in load_of(replace(CASE, routers=200, receivers=200), SEED).wanted.values():
        assert len(ranges) == FILTERS
        assert all(low[1] < high[1] for low, high in pairwise(ranges)), ranges
        assert all(high - low in WIDTHS and 0 <= low < high <= VALUES for low, high in ranges)


def test_every_scheme_is_given_the_same_network_clients_and_messages() -> None:
    first, second = (scenario(CASE, scheme, SEED) for scheme in CASE.schemes)
    assert {**first, "scheme": ""} == {**second, "scheme": ""}
    assert len(plan_of(first, "case").clients) == CASE.senders + CASE.receivers


def test_a_crossing_is_wasted_if_no_delivery_descends_from_it() -> None:
    """1 sends to 2 and 3, 2 to 4; a receiver at 4 gets it, and 3 was told for nothing."""
    message = (9, 1)
    crossings = [Crossing(message, 1, 1, 2), Crossing(message, 1, 1, 3), Crossing(message, 2, 2, 4)]
    assert wasted(crossings, {((9, 1), 4, 3)}) == 1
    assert wasted(crossings, set()) == 3
    assert wasted(crossings, {((9, 2), 4, 3)}) == 3, "another message"


@pytest.fixture(scope="module")
def seen() -> Observed:
    return observe(CASE, "psf", SEED)


def row_in(seen: Observed) -> Row:
    return row_of(CASE, "psf", seen, Paths(seen.plan))


def test_what_is_missing_twice_or_unasked_for_is_counted(seen: Observed) -> None:
    row = row_in(seen)
    assert (row.missing, row.duplicate, row.spurious) == (0, 0, 0)
    first, *others = seen.of("deliver")
    assert row.owed == 1 + len(others) > 0
    stranger = {**first, "node": next(n.name for n in seen.plan.clients if _unasked(first, n.name, seen))}
    rest = [event for event in seen.events if event != first]
    spoilt = row_in(replace(seen, events=[*rest, others[0], stranger]))
    assert (spoilt.missing, spoilt.duplicate, spoilt.spurious) == (1, 1, 1)


def _unasked(event: dict[str, object], node: str, seen: Observed) -> bool:
    key = event["source"], event["sequence"], node
    return all((e["source"], e["sequence"], e["node"]) != key for e in seen.of("deliver"))


def test_T6_the_state_of_psf_is_its_formula(seen: Observed) -> None:
    row = row_in(seen)
    assert row.unreduced_bits == pytest.approx(row.formula_bits)
    assert row.state_bits is not None
    assert row.state_bits <= row.unreduced_bits


def test_psf_takes_the_fastest_paths_and_at_least_the_ideal(seen: Observed) -> None:
    row = row_in(seen)
    assert row.stretch_max == pytest.approx(1.0, abs=1e-4)
    assert row.crossings >= row.ideal > 0
    assert row.wasted == 0


def test_the_same_seed_gives_the_same_row(seen: Observed) -> None:
    assert row_in(observe(CASE, "psf", SEED)) == row_in(seen)


@pytest.fixture(scope="module")
def sliced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rte-schemes")
    assert main(["reproduce", "rte-schemes", "--quick", "--quiet", "--out", str(folder)]) == 0
    return folder


def rows_in(folder: Path) -> findings.Measured:
    return from_json((folder / "rows.json").read_text(encoding="utf-8"), Row)


def test_the_quick_slice_runs_every_scheme_there_is_on_every_network(sliced: Path) -> None:
    rows = rows_in(sliced).rows
    cases = load_experiment(experiment_file("rte-schemes"), quick=True).sweep.cases
    assert [(r.network, r.scheme) for r in rows] == [
        ((c.shape, c.routers, c.senders, c.receivers), scheme) for c in cases for scheme in sorted(CATALOG)
    ]
    assert {p.name for p in sliced.glob("*.svg")} == {"figure.svg", "figure-state.svg", "figure-control.svg"}


@pytest.mark.parametrize(
    "check",
    [
        findings.all_are_correct,
        findings.ideal_on_trees,
        findings.pif_wastes,
        findings.ipsf_sends_as_psf,
        findings.ipsf_holds_less,
        findings.psf_as_formula,
        findings.ipsf_as_formula,
        findings.pif_as_formula,
    ],
)
def test_T2_to_T6_what_the_paper_proves_holds_in_the_slice(check, sliced: Path) -> None:
    finding = check(rows_in(sliced))
    assert finding.holds, finding.ours


def test_a_finding_notices_a_wrong_delivery(sliced: Path) -> None:
    results = rows_in(sliced)
    spoilt = replace(results, rows=(replace(results.rows[0], missing=1), *results.rows[1:]))
    finding = findings.all_are_correct(spoilt)
    assert finding.holds is False
    assert "1 wrong" in finding.ours


def test_an_impossible_sweep_is_refused_with_its_place(tmp_path: Path) -> None:
    text = experiment_file("rte-schemes").read_text(encoding="utf-8")
    wrong = text.replace("loads: [[3, 6]]", "loads: [[3, 60]]").replace("[drp, flood,", "[dpr, flood,")
    (tmp_path / "bad.yaml").write_text(wrong, encoding="utf-8")
    with pytest.raises(ScenarioError) as raised:
        load_experiment(tmp_path / "bad.yaml")
    assert "more senders or receivers than routers" in str(raised.value)
    assert "did you mean drp?" in str(raised.value)


def test_the_rows_survive_being_written_and_read(sliced: Path) -> None:
    data = json.loads((sliced / "rows.json").read_text(encoding="utf-8"))
    assert [Row(**row) for row in data["rows"]] == list(rows_in(sliced).rows)

"""Delivery trees beside the ideal ones (T1, E8), latency beside the fastest path's, in Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.pipeline import analyze
from analysis.schemas import HOMES
from analysis.summary import count_trees, measure_stretch
from analysis.trees import to_stretches, to_trees
from testbed.plan.load import read_scenario
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

pytestmark = pytest.mark.spark

CYCLE = [(1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0), (4, 1, 1.0)]
"""E8: a-b-c-d; from 1, router 3 is reached over 2 or over 4."""
HOMES_OF = [{"subscriber": 20 + router, "router": router} for router in (1, 2, 3, 4)]
MESSAGE = {"source": 9, "sequence": 1}


@pytest.fixture
def trees(spark, table):
    """`to_trees` of one message from router 1 over the 4-cycle."""
    publications = "source bigint, sequence bigint, node_id int"
    verdicts = "source bigint, sequence bigint, subscriber int, verdict string"
    crossings = "source bigint, sequence bigint, copies bigint, wasted boolean, access boolean"

    def make(verdict_rows, crossing_rows):
        return to_trees(
            spark.createDataFrame([(9, 1, 1), (9, 2, None)], publications),
            spark.createDataFrame([(9, 1, *row) for row in verdict_rows], verdicts),
            spark.createDataFrame([(9, 1, *row, False) for row in crossing_rows], crossings),
            table(HOMES, HOMES_OF),
            CYCLE,
        )

    return make


def test_E8_three_crossings_are_beside_two_of_the_ideal_tree(trees):
    made = trees([(23, "delivered"), (24, "delivered")], [(1, False), (1, False), (1, True)])
    assert [row.asDict() for row in made.collect()] == [
        MESSAGE | {"node_id": 1, "destinations": 2, "crossings": 3, "wasted": 1, "ideal": 2, "exact": True}
    ]
    counts, routers = count_trees(made)
    assert (counts.messages, counts.crossings, counts.ideal, counts.beyond) == (1, 3, 2, 1)
    assert routers == [1]


def test_the_ideal_tree_reaches_who_was_missed_and_leaves_out_who_got_it_wrongly(trees):
    (row,) = trees([(22, "missing"), (24, "spurious"), (23, None)], [(2, True)]).collect()
    assert (row.destinations, row.ideal, row.crossings, row.wasted) == (1, 1, 2, 2)


def test_a_message_that_nobody_else_wants_has_an_empty_tree(trees):
    (row,) = trees([(21, "delivered")], []).collect()
    assert (row.destinations, row.ideal, row.crossings) == (1, 0, 0)


def test_stretch_is_latency_over_the_delays_of_the_fastest_path(spark):
    publications = spark.createDataFrame([(9, 1, 1)], "source bigint, sequence bigint, node_id int")
    columns = "source bigint, sequence bigint, node_id int, latency_ns bigint"
    rows = [(9, 1, 3, 300), (9, 1, 2, 100), (9, 1, 1, 5), (9, 1, 4, None)]
    edges = [(a, b, 100.0) for a, b, _ in CYCLE]
    made = to_stretches(spark.createDataFrame(rows, columns), publications, edges)
    assert sorted(row.stretch for row in made.collect()) == [1.0, 1.5]
    found = measure_stretch(made)
    assert (found.deliveries, found.mean, found.max) == (2, 1.25, 1.5)
    assert measure_stretch(made.where("stretch > 9")) is None


SCENARIO = {
    "name": "cycle",
    "topology": {
        "routers": ["r1", "r2", "r3", "r4"],
        "links": ["r1 - r2", "r2 - r3", "r3 - r4", "r4 - r1"],
        "link_defaults": {"delay": "2ms"},
    },
    "clients": {
        "p": {"at": "r1", "publish": [{"message": "x = 1", "at": "0s"}]},
        "c": {"at": "r3", "subscribe": ["x > 0"]},
        "d": {"at": "r4", "subscribe": ["x > 0 and x < 9"]},
    },
}


@pytest.mark.parametrize("scheme", ["flood", "pif", "cbcb", "drp"])
def test_a_simulated_run_says_what_its_scheme_took(scheme: str, spark, tmp_path: Path):
    file = tmp_path / "cycle.yaml"
    file.write_text(json.dumps(SCENARIO | {"scheme": scheme}))
    directory = RunDirectory.create(tmp_path / "run", "run")
    scenario = read_scenario(file)
    outcome = conduct(scenario.plan(), SimulatedWorld(), directory, _Silent(), scenario=scenario.text)
    assert outcome.outcome == "complete"
    verdict = analyze(directory.path)
    assert verdict["ok"], verdict
    reported = verdict["scheme"]
    assert reported["name"] == scheme
    assert reported["trees"]["ideal"] == 2
    assert reported["trees"]["crossings"] >= 2 + (scheme == "flood")
    assert reported["stretch"] == {"deliveries": 2, "mean": 1.0, "p50": 1.0, "p99": 1.0, "max": 1.0}
    assert reported["state"]["routers"] == 4
    assert (reported["state"]["formula_bytes"] is None) == (scheme in {"flood", "cbcb"})
    assert sum(load["bytes"] for load in reported["control"].values()) == verdict["control"]["bytes"]
    assert any(kind.startswith("CBCB_") for kind in reported["control"]) == (scheme == "cbcb")
    written = pq.read_table(directory.path / "tables" / "trees.parquet").to_pylist()
    assert [row["ideal"] for row in written] == [2]
    assert "The scheme" in (directory.path / "report.html").read_text()


class _Silent:
    def phase(self, name: str, total: int | None = None) -> None: ...

    def advance(self, done: int) -> None: ...

    def say(self, text: str) -> None: ...

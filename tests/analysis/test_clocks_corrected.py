"""A run whose times were stamped by clocks that were off (`stamped_clocks`) is judged as with good ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.diff.comparing import compare
from analysis.pipeline import analyze
from analysis.quick.judge import judge
from tests.analysis.stamped_clocks import MS, SCENARIO, SECOND, Clock, shows, stamped
from tests.judge.editing import Edited
from tests.judge.runs import carry_out

pytestmark = [pytest.mark.sim, pytest.mark.spark]

KEY = ["source", "sequence", "subscriber"]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return carry_out(SCENARIO, tmp_path_factory.mktemp("clocks"))


@pytest.fixture(scope="module")
def unharmed(spark: object, simulated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = Path(shutil.copytree(simulated, tmp_path_factory.mktemp("unharmed") / "run"))
    verdict = analyze(run)
    assert verdict["verdict"] == "clean", verdict["problems"]
    return run


def latencies(run: Path) -> dict[tuple[int, ...], int]:
    rows = pq.read_table(run / "tables" / "deliveries.parquet", columns=[*KEY, "latency_ns"]).to_pylist()
    return {tuple(row[name] for name in KEY): row["latency_ns"] for row in rows}


def outcomes(run: Path) -> dict[tuple[int, ...], tuple[Any, ...]]:
    names = ["verdict", "owed", "wanted", "reason", "copies", "reports"]
    rows = pq.read_table(run / "tables" / "verdicts.parquet", columns=[*KEY, *names]).to_pylist()
    return {tuple(row[name] for name in KEY): tuple(row[name] for name in names) for row in rows}


@pytest.mark.parametrize(
    "clocks",
    [
        {"r2": shows(300 * MS, 120)},
        {"r1": shows(-2 * SECOND), "r4": shows(40 * MS, -200)},
        {"r3": shows(0, 200)},
        {"far": shows(700 * MS, -50)},
    ],
    ids=["a router in the middle", "two routers", "drift alone", "a client"],
)
def test_a_run_with_clocks_that_are_off_is_judged_like_the_same_with_good_ones(
    clocks: dict[str, Callable[[int], Clock]], simulated: Path, unharmed: Path, tmp_path: Path
) -> None:
    run = stamped(simulated, tmp_path, **clocks).path
    verdict = analyze(run)
    assert set(verdict["clocks"]["offsets_ns"]) == set(clocks) == set(verdict["clocks"]["corrected"])
    assert {name: count for name, count in verdict["checks"].items() if count} == {
        "clock_offsets": len(clocks)
    }
    assert (verdict["verdict"], verdict["problems"]) == ("clean", [])
    assert len([note for note in verdict["notes"] if "times were corrected" in note]) == len(clocks)
    assert verdict["latency_ns"]["trusted"]
    may_be_ns = 2 * max(verdict["clocks"]["uncertainty_ns"].values())
    assert may_be_ns < MS
    found, expected = latencies(run), latencies(unharmed)
    assert found.keys() == expected.keys()
    assert max(abs(found[key] - expected[key]) for key in expected) <= may_be_ns
    assert outcomes(run) == outcomes(unharmed)


def test_the_table_of_clocks_has_offset_and_drift_of_each_node(
    unharmed: Path, simulated: Path, tmp_path: Path
) -> None:
    edited = stamped(simulated, tmp_path, r2=shows(300 * MS, 120))
    analyze(edited.path)
    rows = {row["host"]: row for row in pq.read_table(edited.path / "tables" / "clocks.parquet").to_pylist()}
    assert set(rows) == set(edited.ids)
    assert rows["r2"]["offset_ns"] == pytest.approx(300 * MS, abs=MS)
    assert rows["r2"]["drift_ppm"] == pytest.approx(120, abs=1)
    assert rows["r2"]["residual_ns"] <= rows["r2"]["uncertainty_ns"]
    good = pq.read_table(unharmed / "tables" / "clocks.parquet").to_pylist()
    assert [(row["offset_ns"], row["drift_ppm"], row["even"]) for row in good] == [(0, 0.0, True)] * 7


@pytest.mark.parametrize("step_ns", [-400 * MS, 60 * MS])
def test_a_clock_that_was_set_while_the_run_went_on_is_named_and_not_corrected(
    simulated: Path, spark: object, tmp_path: Path, step_ns: int
) -> None:
    verdict = analyze(stamped(simulated, tmp_path, r2=shows(0, 0, step_ns)).path)
    assert verdict["clocks"]["offsets_ns"] == {"r2": None}
    assert verdict["clocks"]["corrected"] == []
    assert verdict["clocks"]["residual_ns"]["r2"] > abs(step_ns) // 4
    assert not verdict["latency_ns"]["trusted"]
    (problem,) = [each for each in verdict["problems"] if "clock" in each]
    assert "r2 was set while the run went on" in problem
    assert "latencies are not to be trusted" in problem


HALF = 20_000
ON = {"left": ["r1", "left"], "right": ["r2", "r3", "r4", "right", "far"]}
"""Two machines."""


def on_machines(simulated: Path, folder: Path, half_ns: int = HALF, **clocks: Callable[[int], Clock]) -> Path:
    """The run as if it had taken place on two machines, of which the controller has read the clocks."""
    of_nodes = {node: clocks[machine] for machine, nodes in ON.items() for node in nodes if machine in clocks}
    run = stamped(simulated, folder, **of_nodes).path
    manifest = json.loads((run / "manifest.json").read_text())
    moments = (manifest["start_ns"] - SECOND, manifest["end_ns"] + SECOND)
    manifest["world"] = "cluster"
    manifest["machines"] = {
        machine: {
            "nodes": nodes,
            "clock": [
                {
                    "asked_ns": at - half_ns,
                    "said_ns": clocks.get(machine, shows(0))(manifest["start_ns"])(at),
                    "answered_ns": at + half_ns,
                }
                for at in moments
            ],
        }
        for machine, nodes in ON.items()
    }
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


@pytest.mark.parametrize(
    "clocks",
    [{"left": shows(2 * SECOND), "right": shows(2300 * MS, 120)}, {"right": shows(-3 * MS)}],
    ids=["both, and the controller is right", "one, by a little"],
)
def test_nodes_of_a_machine_have_its_clock_and_the_controller_says_what_time_it_is(
    clocks: dict[str, Callable[[int], Clock]], simulated: Path, unharmed: Path, tmp_path: Path
) -> None:
    run = on_machines(simulated, tmp_path, **clocks)
    verdict = analyze(run)
    assert (verdict["verdict"], verdict["problems"]) == ("clean", [])
    assert verdict["checks"]["clock_offsets"] == len(clocks)
    corrections = [note for note in verdict["notes"] if "times were corrected" in note]
    assert [note.split(" is ")[0] for note in corrections] == [
        f"The clock of the machine {name}" for name in clocks
    ]
    rows = pq.read_table(run / "tables" / "clocks.parquet").to_pylist()
    assert {row["host"] for row in rows} == {*ON}
    for row in rows:
        expected = clocks.get(row["host"], shows(0))(0)(0)
        assert row["offset_ns"] == pytest.approx(expected, abs=MS)
    may_be_ns = 2 * max(verdict["clocks"]["uncertainty_ns"].values())
    assert may_be_ns < MS
    found, expected_ns = latencies(run), latencies(unharmed)
    assert max(abs(found[key] - expected_ns[key]) for key in expected_ns) <= may_be_ns
    assert outcomes(run) == outcomes(unharmed)


def test_a_correction_that_is_not_sure_beside_the_latencies_makes_a_run_doubtful(
    simulated: Path, spark: object, tmp_path: Path
) -> None:
    """Captures of the link between the machines are lost: nothing but the readings says what time it is."""
    run = on_machines(simulated, tmp_path, half_ns=5 * MS, left=shows(2 * SECOND))
    edited = Edited(run)
    for ends in (("r1", "r2"), ("r2", "r1")):
        edited.keep(edited.interface(*ends), lambda frame: not frame.messages)
        capture = edited.capture(edited.interface(*ends))
        capture.frames = []
        capture.write()
    verdict = analyze(run)
    (problem,) = [each for each in verdict["problems"] if "times were corrected" in each]
    assert problem.endswith("Beside the times that are judged by it that is much.")
    assert "right to within 5" in problem
    assert verdict["verdict"] == "doubtful"


def test_a_comparison_of_two_worlds_says_by_how_much_latencies_differ_though_it_counts_as_none(
    unharmed: Path, simulated: Path, tmp_path: Path
) -> None:
    found = compare(unharmed, on_machines(simulated, tmp_path, right=shows(-3 * MS)))
    assert found.same, found.differences
    whole, between, inside, unsure = found.notes[:4]
    assert whole.startswith("sim before, cluster after: the latency of deliveries differs by")
    assert "2 directions of links between machines" in between
    assert "links inside machines" in inside
    assert "clocks of machines leave" in unsure


SAME = ("owed", "delivered", "wanted", "missing", "spurious", "allowed", "lost", "delivered_digest", "hops")
"""Of a verdict: what no clock may change."""


@pytest.mark.parametrize(
    "clocks",
    [
        {"left": shows(2 * SECOND), "right": shows(2300 * MS, 120)},
        {"right": shows(-3 * MS)},
        {"left": shows(-700 * MS, -40)},
    ],
    ids=["both, and the controller is right", "one, by a little", "one that drifts"],
)
def test_the_quick_verdict_corrects_clocks_by_the_readings_of_the_controller(
    clocks: dict[str, Callable[[int], Clock]], simulated: Path, tmp_path: Path
) -> None:
    right = judge(on_machines(simulated, tmp_path / "right"))
    verdict = judge(on_machines(simulated, tmp_path / "off", **clocks))
    assert (verdict["verdict"], verdict["problems"]) == ("clean", []) == (right["verdict"], right["problems"])
    corrections = [note for note in verdict["notes"] if "times were corrected" in note]
    assert [note.split(" is ")[0] for note in corrections] == [
        f"The clock of the machine {name}" for name in clocks
    ]
    assert {key: verdict[key] for key in SAME} == {key: right[key] for key in SAME}
    for name, latency_ns in right["latency_ns"].items():
        assert verdict["latency_ns"][name] == pytest.approx(latency_ns, abs=4 * HALF), name


def test_the_quick_verdict_doubts_a_clock_that_was_set_between_two_readings(
    simulated: Path, tmp_path: Path
) -> None:
    verdict = judge(on_machines(simulated, tmp_path, right=shows(0, 0, 400 * MS)))
    (problem,) = [each for each in verdict["problems"] if "clock" in each]
    assert "machine right was set while the run went on" in problem
    assert verdict["verdict"] != "clean"


def test_the_quick_verdict_doubts_readings_that_are_not_sure_beside_the_latencies(
    simulated: Path, tmp_path: Path
) -> None:
    verdict = judge(on_machines(simulated, tmp_path, half_ns=5 * MS, right=shows(2 * SECOND)))
    (problem,) = [each for each in verdict["problems"] if "times were corrected" in each]
    assert problem.endswith("Beside the times that are judged by it that is much.")
    assert verdict["verdict"] == "doubtful"

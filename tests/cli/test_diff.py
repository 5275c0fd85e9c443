"""`cbn diff` on simulated runs with planted changes: it names what was changed, and nothing else.

pub, all --- r1 --- r2 --- r3 --- few, some
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from analysis import AnalysisError
from analysis.diff.comparing import compare
from analysis.diff.output import to_text
from testbed.cli.main import main
from testbed.cli.progress import SilentProgress
from testbed.plan.load import read_scenario
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

pytestmark = [pytest.mark.sim, pytest.mark.spark]

SCENARIO = """
name: compared
seed: 3
topology:
  routers: [r1, r2, r3]
  links: [{between: [r1, r2], delay: 2ms}, {between: [r2, r3], delay: 3ms}]
clients:
  pub:
    at: r1
    publish: [{every: 2ms, count: 1500, from: 0s, message: {n: {count: 0}, k: {uniform: [0, 9]}}}]
  few: {at: r3, subscribe: ["n >= 100"]}
  some: {at: r3, subscribe: ["k < 5"]}
"""
CHANGES = {
    "before": ("", ""),
    "slower": ("delay: 3ms", "delay: 8ms"),
    "losing": ("delay: 2ms", "delay: 2ms, loss: 0.01"),
    "seeded": ("seed: 3", "seed: 4"),
    "flood": ("seed: 3", "seed: 3\nscheme: flood"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    return {
        name: made(folder / name, SCENARIO.replace(*change) if change[0] else SCENARIO)
        for name, change in CHANGES.items()
    }


def made(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "s.yaml").write_text(text)
    directory = RunDirectory.create(folder / "run", folder.name)
    scenario = read_scenario(folder / "s.yaml")
    outcome = conduct(scenario.plan(), SimulatedWorld(), directory, SilentProgress(), scenario=scenario.text)
    assert outcome.outcome == "complete", outcome.message
    return directory.path


def test_a_run_and_its_replay_show_no_difference(spark, runs, tmp_path, capsys):
    again = tmp_path / "again"
    assert main(["replay", str(runs["before"]), "--out", str(again), "--quiet"]) == 0
    capsys.readouterr()
    assert (
        main(["diff", str(runs["before"]), str(again), "--out", str(tmp_path / "page.html"), "--quiet"]) == 0
    )
    out = capsys.readouterr().out
    assert out.startswith(f"no difference between {runs['before']} and {again}\n")
    assert "times  " not in out
    assert "counts  " not in out
    assert "No difference" in (tmp_path / "page.html").read_text()


def test_five_milliseconds_on_a_link_are_found_on_that_link_and_on_the_paths_over_it(spark, runs, capsys):
    assert main(["diff", str(runs["before"]), str(runs["slower"]), "--json", "--quiet"]) == 1
    reported = json.loads(capsys.readouterr().out)
    assert not reported["same"]
    differences = reported["differences"]
    assert re.fullmatch(r"link r2 > r3: \+5 ms .*", differences[0])
    assert differences[1].startswith("the latency of all deliveries: +5 ms")
    assert differences[2].startswith("2 of 2 paths moved, most pub to few: +5 ms")
    assert len(differences) == 3
    assert reported["circumstances"] == ["link r2--r3: impairment.delay_ns: 3 ms before, 8 ms after"]
    assert reported["deliveries"]["gone"] == reported["deliveries"]["new"] == 0
    (moved,) = (row for row in reported["times"] if row["what"] == "r2 > r3")
    assert moved["shift"]["estimate"] == 5_000_000


def test_a_threshold_above_what_changed_lets_it_pass(spark, runs, capsys):
    assert main(["diff", str(runs["before"]), str(runs["slower"]), "--threshold", "6ms", "--quiet"]) == 0


def test_a_run_whose_tables_are_of_an_earlier_version_is_analysed_once_more(spark, runs, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(runs["before"], run)
    shutil.rmtree(run / "tables" / "hops.parquet", ignore_errors=True)
    compared = compare(runs["before"], run)
    assert not compared.differences
    assert (run / "tables" / "hops.parquet").is_dir()


def test_loss_on_a_link_is_found_there_and_in_what_does_not_arrive(spark, runs):
    found = compare(runs["before"], runs["losing"])
    lost = r"link r1 > r2: lost 0 of \d+ messages before, \d+ of \d+ after"
    assert any(re.fullmatch(lost, d) for d in found.differences), found.differences
    missing = {d.split(":")[0] for d in found.differences if "missing" in d}
    assert missing == {"deliveries to few", "deliveries to some"}
    assert not any(row.moved for row in found.times), "losing is not slowing"
    assert {e["gone"] for e in found.deliveries["examples"]} == {True}
    assert "missing: message" in to_text(found)


def test_another_seed_publishes_other_messages(spark, runs):
    found = compare(runs["before"], runs["seeded"])
    assert any("have another content" in d for d in found.differences)
    assert found.circumstances[0] == "seed: 3 before, 4 after"
    assert found.deliveries["gone"] == found.deliveries["new"] == 0, (
        "nobody was owed the same and got it once"
    )
    (some,) = (c for c in found.deliveries["clients"] if c["name"] == "some")
    assert some["may_gone"] > 100
    assert some["may_new"] > 100


def test_another_scheme_is_recognised_by_its_traffic_and_delivers_the_same(spark, runs):
    found = compare(runs["before"], runs["flood"])
    assert "scheme: pif before, flood after" in found.circumstances
    assert found.deliveries["gone"] == found.deliveries["new"] == 0
    assert not any("missing" in d or "moved" in d for d in found.differences)


def test_what_is_no_run_is_refused(spark, runs, tmp_path, capsys):
    assert main(["diff", str(tmp_path), str(runs["before"]), "--quiet"]) == 2
    assert "not a run directory" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["diff", str(runs["before"]), str(runs["before"]), "--threshold", "5", "--quiet"])
    assert "expected a time with its unit" in capsys.readouterr().err
    with pytest.raises(AnalysisError, match="no such directory"):
        compare(tmp_path / "gone", runs["before"])

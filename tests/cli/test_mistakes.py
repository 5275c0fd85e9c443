"""Small mistakes of a person at the command line: what is said of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sim

TWO = """\
name: two
matrix: {scheme: [pif, psf]}
topology: {routers: [r1, r2], links: [r1 - r2]}
clients:
  a: {at: r1, publish: [{message: x = 1, every: 1ms, count: 3, from: 0s}]}
  b: {at: r2, subscribe: [all]}
"""


@pytest.mark.parametrize(
    ("mistyped", "hint"),
    [
        (("run", "quickstrat"), "did you mean quickstart?"),
        (("rnu", "quickstart"), "there is no rnu; did you mean run?"),
        (("topo", "daw", "x"), "there is no daw; did you mean draw?"),
        (
            ("run", "quickstart", "--wrold", "sim"),
            "unrecognized arguments: --wrold sim; did you mean --world?",
        ),
        (("run", "quickstart", "--world", "sin"), "there is no sin; did you mean sim?"),
    ],
)
def test_what_is_mistyped_is_answered_with_the_nearest_word(cbn: Any, mistyped: Any, hint: str) -> None:
    done = cbn(*mistyped)
    assert done.returncode == 2
    assert hint in done.stderr


@pytest.mark.parametrize(
    ("predicate", "instead"),
    [
        ("not price < 3", "there is no not: write the opposite operator"),
        ("not (price < 3)", "there is no not: write the opposite operator"),
        ("price not in 3", "there is no not"),
        ("price in 3", "write price = 1 or price = 2"),
        ('name like "a%"', 'write name >* "a" for a prefix'),
    ],
)
def test_operators_of_other_languages_are_answered_with_what_to_write(
    cbn: Any, predicate: str, instead: str
) -> None:
    done = cbn("match", predicate, "price = 4")
    assert done.returncode == 2
    assert instead in done.stderr


def test_twenty_million_publications_are_refused_before_they_are_generated(cbn: Any, tiny: Path) -> None:
    publish = "publish: [{message: x = 1, every: 1us, count: 1000000}]"
    tiny.write_text(tiny.read_text() + f"populations: {{pub: {{count: 20, {publish}}}}}\n")
    done = cbn("show", tiny)
    assert done.returncode == 2
    assert "populations.pub.publish.0: the clients publish about 20,000,0" in done.stderr


def test_links_that_are_added_to_a_drawn_topology_are_told_by_every_command(cbn: Any, tmp_path: Path) -> None:
    scenario = tmp_path / "thin.yaml"
    scenario.write_text("name: thin\ntopology: {generate: waxman, size: 12, beta: 0.1}\n")
    said = "added to what was drawn, to make one piece of"
    for command in (
        ("topo", "generate", "waxman", "size=12", "beta=0.1"),
        ("topo", "draw", scenario, "--out", "thin.svg"),
        ("show", scenario),
        ("run", scenario, "--world", "sim", "--out", "out", "--quiet"),
    ):
        done = cbn(*command)
        assert done.returncode == 0, done.stderr
        assert said in done.stderr


def test_one_of_a_thing_is_not_called_several(cbn: Any, tmp_path: Path) -> None:
    one = tmp_path / "one.yaml"
    one.write_text("name: one\ntopology: {routers: [r1]}\nclients: {a: {at: r1, subscribe: [all]}}\n")
    shown = cbn("show", one).stdout
    assert shown.startswith("one: 1 router, 1 client, 1 link, 1 subscription, 0 messages,")


def test_a_corrupt_manifest_is_called_corrupt(cbn: Any, tiny: Path, tmp_path: Path) -> None:
    cbn("run", tiny, "--world", "sim", "--out", "out", "--quiet")
    (tmp_path / "out" / "manifest.json").write_text('{"format": 3, ')
    for command in (("analyze", "out"), ("replay", "out"), ("run", tiny, "--out", "out", "--force")):
        done = cbn(*command)
        assert done.returncode == 2
        assert "corrupt" in done.stderr


def as_nobody(*arguments: object) -> subprocess.CompletedProcess[str]:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    nobody = ["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all"]
    command = [sys.executable, "-m", "testbed.cli", *map(str, arguments)]
    return subprocess.run(
        [*nobody, *command], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )


def test_who_is_not_root_is_told_a_command_that_works() -> None:
    done = as_nobody("up", "quickstart", "--name", "lab")
    assert done.returncode == 3
    program = Path(sys.executable).with_name("cbn")
    assert f"needs root: `sudo {program} up quickstart --name lab`" in done.stderr
    assert "cbn run SCENARIO --world sim" in done.stderr


def test_a_scenario_in_a_folder_that_may_not_be_entered_is_no_defect(tiny: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    done = as_nobody("show", tiny)
    assert (done.returncode, done.stderr) == (2, f"cbn: {tiny}: Permission denied\n")


@pytest.mark.spark
def test_the_folder_of_a_matrix_is_analysed_run_by_run(cbn_with_spark: Any, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(TWO)
    cbn_with_spark("run", "two.yaml", "--world", "sim", "--no-analyze", "--quiet", "--out", "out")
    done = cbn_with_spark("analyze", "out", "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(row["cell"], row["verdict"]) for row in rows] == [
        ("scheme=pif", "clean"),
        ("scheme=psf", "clean"),
    ]
    assert "clean" in (tmp_path / "out" / "table.csv").read_text()

"""Experiment files: what is wrong in one is reported with its place; the settings are the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.experiments.experiment import load_experiment
from testbed.experiments.forwarding.findings import hops
from testbed.experiments.forwarding.measure import Table
from testbed.experiments.kind import find_kind, kind_names
from testbed.plan.problems import ScenarioError
from topologies.library import experiment_file, experiment_names

GOOD = """\
name: small
kind: forwarding
paper: Fig. 0
title: Small
question: Is it right?
drawing: by_constraints
sweep: {repeat: 1, tables: [{filters: [10], interfaces: [each]}]}
quick: {repeat: 1, tables: [{filters: [10], interfaces: [2]}]}
printed: [{check: growth, claim: it grows, paper: "yes"}]
remarks: [It is small.]
"""


def problems(text: str, tmp_path: Path) -> str:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as raised:
        load_experiment(file)
    return str(raised.value)


def test_a_good_file_loads(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    loaded = load_experiment(tmp_path / "good.yaml")
    assert loaded.sweep.tables == (Table(10, 10),)
    assert load_experiment(tmp_path / "good.yaml", quick=True).sweep.tables == (Table(10, 2),)


@pytest.mark.parametrize(
    ("written", "instead", "reported"),
    [
        ("check: growth", "check: grwth", "bad.yaml:9:19: printed.0.check: unknown check 'grwth'"),
        ("check: growth", "check: grwth", "did you mean growth?"),
        ("interfaces: [2]", "interfaces: [11]", "quick.tables.0: more interfaces than filters"),
        ("interfaces: [each]", "interfaces: [all]", "a number, or the word each"),
        ("drawing: by_constraints", "drawing: by_chance", "by_constraints, by_ratio"),
        ("sweep: {repeat: 1", "sweep: {repeats: 1", "did you mean repeat?"),
        ("kind: forwarding", "kind: forwading", "did you mean forwarding?"),
        ("filters: [10], interfaces: [each]", "filters: [0], interfaces: [each]", "sweep.tables.0.filters.0"),
        ('paper: "yes"', "paper: 48", "put it in quotes"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(
    written: str, instead: str, reported: str, tmp_path: Path
) -> None:
    assert written in GOOD
    assert reported in problems(GOOD.replace(written, instead, 1), tmp_path)


@pytest.mark.parametrize("name", experiment_names())
def test_a_file_is_named_as_its_experiment(name: str) -> None:
    assert load_experiment(experiment_file(name)).name == name


def test_every_check_is_asked_for_by_some_file() -> None:
    loaded = [load_experiment(experiment_file(name)) for name in experiment_names()]
    asked = {(each.kind, printed.check) for each in loaded for printed in each.printed}
    assert asked == {(kind, check) for kind in kind_names() for check in find_kind(kind).checks}


def test_F7_f_l_is_one_and_f_h_gives_the_mean() -> None:
    assert Table(1_000_000, 20).recipe(1).filters_per_interface == (1, 99_999)
    assert Table(250_000, 20).recipe(1).filters_per_interface == (1, 24_999)
    assert Table(500, 500).recipe(1).filters_per_interface == (1, 1)


def test_F8_the_sweeps_go_as_far_as_the_papers() -> None:
    largest = {
        n: max(t.filters for t in load_experiment(experiment_file(n)).sweep.tables)
        for n in experiment_names()
        if n.startswith("fwd-")
    }
    assert largest["fwd-fig8"] * 5 > 5_000_000
    assert largest["fwd-fig9"] == largest["fwd-fig11"] == largest["fwd-network"] == 1_000_000
    assert largest["fwd-fig10"] == 100_000


def test_E4_a_million_destinations_are_ten_routers_of_twenty_interfaces_away() -> None:
    assert hops(20, 1_000_000) == 10
    assert hops(10, 1_000_000) == 12, "the paper's 12 is that of 10 interfaces"


def test_an_unknown_experiment_is_reported_with_the_nearest_name(capsys: Any) -> None:
    from testbed.cli.main import main

    assert main(["reproduce", "fwd-netwrk"]) == 2
    assert "did you mean fwd-network?" in capsys.readouterr().err
    assert main(["reproduce"]) == 2
    assert "fwd-network" in capsys.readouterr().err


def test_a_copy_of_a_file_with_another_sweep_is_an_experiment_of_its_own(tmp_path: Path, capsys: Any) -> None:
    from testbed.cli.main import main

    text = experiment_file("mm-fig7").read_text(encoding="utf-8").replace("samples: 40", "samples: 3")
    (tmp_path / "fewer.yaml").write_text(text, encoding="utf-8")
    options = ["--quick", "--quiet", "--out", str(tmp_path / "out")]
    assert main(["reproduce", str(tmp_path / "fewer.yaml"), *options]) == 0
    assert "3 samples" in (tmp_path / "out" / "page.md").read_text(encoding="utf-8")
    assert main(["reproduce", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml" in capsys.readouterr().err


def test_the_list_names_every_experiment(capsys: Any) -> None:
    from testbed.cli.main import main

    assert main(["reproduce", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == experiment_names()

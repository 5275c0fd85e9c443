"""`cbn compare`, from outside: a matrix, single runs, the page, and what it says if something is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sim

MANY = """\
name: many
matrix: {scheme: [pif, flood], repeat: 2}
topology: {generate: ring, size: 4}
populations:
  sub: {count: 4, subscribe: [all]}
  pub: {count: 1, publish: [{message: x = 1, every: 1ms, count: 20}]}
"""
ONE = MANY.replace("matrix: {scheme: [pif, flood], repeat: 2}\n", "")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "many.yaml"
    path.write_text(MANY, encoding="utf-8")
    return path


def test_every_matrix_has_a_page_that_compares_its_groups(cbn: Any, scenario: Path, tmp_path: Path) -> None:
    done = cbn("run", scenario, "--world", "sim", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert f"comparison: {Path('out/compare.html')}" in done.stdout
    assert "scheme flood, beside scheme pif" in (tmp_path / "out" / "compare.html").read_text(
        encoding="utf-8"
    )
    again = cbn("compare", "out", "--json", "--out", "again.html")
    assert again.returncode == 0, again.stderr
    found = json.loads(again.stdout)
    assert [group["values"] for group in found["groups"]] == [{"scheme": "pif"}, {"scheme": "flood"}]
    assert [len(group["runs"]) for group in found["groups"]] == [2, 2]
    assert found["against"] == {"scheme": "pif"}
    assert {d["quantity"] for d in found["differences"]} >= {"latency.p50", "control_bytes", "message_bytes"}
    assert all(d["pairs"] == 2 for d in found["differences"])
    assert (tmp_path / "again.html").exists()


def test_single_runs_are_compared_by_what_they_ran(cbn: Any, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE, encoding="utf-8")
    for scheme in ("pif", "psf"):
        done = cbn("run", "one.yaml", "--world", "sim", "--set", f"scheme={scheme}", "--out", scheme)
        assert done.returncode == 0, done.stderr
    done = cbn("compare", "pif", "psf", "--against", "scheme=pif")
    assert done.returncode == 0, done.stderr
    assert "2 groups of runs, one run each" in done.stdout
    assert "beside scheme pif" in done.stdout
    assert (tmp_path / "compare.html").exists()


def test_single_runs_are_compared_with_the_first_in_all_that_differs(cbn: Any, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE, encoding="utf-8")
    for name, changes in (("a", ()), ("b", ("scheme=psf", "timing.settle=200ms")), ("c", ("scheme=flood",))):
        changed = [word for change in changes for word in ("--set", change)]
        assert cbn("run", "one.yaml", "--world", "sim", "--out", name, *changed).returncode == 0
    done = cbn("compare", "a", "b", "c")
    assert done.returncode == 0, done.stderr
    as_it_was = "timing.settle not set"
    assert f"scheme psf, timing.settle 200ms, beside scheme pif, {as_it_was}: " in done.stdout
    assert f"scheme flood, {as_it_was}, beside scheme pif: " in done.stdout
    found = json.loads(cbn("compare", "a", "b", "c", "--json").stdout)
    assert found["against"] == {"scheme": "pif", "timing.settle": "not set"}


def test_what_cannot_be_compared_is_said(cbn: Any, scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = cbn("compare", "empty")
    assert (done.returncode, "manifest.json" in done.stderr) == (2, True), done.stderr
    done = cbn("run", scenario, "--world", "sim", "--no-judge", "--out", "out")
    assert done.returncode == 0, done.stderr
    done = cbn("compare", "out")
    assert done.returncode == 2
    assert "it has no verdict yet; `cbn analyze" in done.stderr
    done = cbn("compare", "out", "--against", "pif")
    assert (done.returncode, "expected NAME=VALUE" in done.stderr) == (2, True), done.stderr

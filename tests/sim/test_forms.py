"""Compiled and interpreted, the control plane does the same (decision 34)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nodes.compiled import COMPILED, FORMS, INTERPRETED, RECORD, VARIABLE

ROOT = Path(__file__).parents[2]
SCENARIO = """\
name: forms
seed: 5
scheme: {scheme}
topology:
  generate: grid
  width: 3
  height: 3
  link_defaults: {{delay: 2ms, jitter: 1ms, loss: 0.05, rate: 5mbit}}
clients:
  alice:
    at: r1
    subscribe: [price < 50, {{predicate: 'kind >* "a"', at: 50ms, until: 120ms}}]
    publish:
      - message: {{price: {{uniform: [0, 99]}}, kind: {{choice: [ab, cd]}}}}
        every: 3ms
        count: 50
  bob:
    at: r9
    subscribe: [{{predicate: price >= 20, at: 50ms, until: 120ms}}]
    publish: [{{message: {{price: {{uniform: [0, 99]}}}}, every: 5ms, count: 30, from: 1ms}}]
faults:
  - at 60ms: crash r5
  - at 90ms: start r5
"""


def python(*arguments: str, form: str, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python with the project in a folder, and the form that is asked for."""
    environment = os.environ | {VARIABLE: form, "PYTHONPATH": f"{path}:{ROOT}"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=path, env=environment, check=False, capture_output=True, text=True)


def kept(folder: Path) -> dict[str, str]:
    """A digest of each file that a run leaves, but for what tells when and on what it ran."""
    files = [f for f in sorted(folder.rglob("*")) if f.is_file() and f.name != "manifest.json"]
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


@pytest.mark.sim
@pytest.mark.parametrize("scheme", ["amsp", "bp", "bs", "cbcb", "ipsf", "siena"])
def test_both_forms_leave_the_same_bytes_of_captures_logs_and_status(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "forms.yaml").write_text(SCENARIO.format(scheme=scheme))
    found = {}
    for form in FORMS:
        out = tmp_path / form
        command = ["-m", "testbed.cli", "run", str(tmp_path / "forms.yaml"), "--world", "sim", "-q"]
        done = python(*command, "--out", str(out), form=form)
        assert done.returncode in {0, 1}, done.stderr  # 1: the links have lost messages
        assert json.loads((out / "manifest.json").read_text())["implementation"]["control_plane"] == form
        found[form] = kept(out)
    assert found[COMPILED] == found[INTERPRETED]
    assert any(name.startswith("captures/") for name in found[COMPILED])
    assert any(name.endswith("status.json") for name in found[COMPILED])


def test_each_module_that_was_compiled_runs_in_the_form_that_is_asked_for() -> None:
    names = list(json.loads(RECORD.read_bytes()))
    script = f"import importlib; print([importlib.import_module(n).__file__ for n in {names}])"
    for form, end in ((COMPILED, ".so'"), (INTERPRETED, ".py'")):
        done = python("-c", script, form=form)
        assert done.stdout.count(end) == len(names) > 0, done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A work tree that may be changed."""
    for name in ("nodes", "testbed"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


START = ("-c", "import nodes.routing.link; print(nodes.routing.link.__file__)")


def test_a_source_that_was_changed_after_it_was_compiled_is_refused_by_name(copy: Path) -> None:
    assert python(*START, form="", path=copy).stdout.startswith(str(copy))
    with (copy / "nodes/routing/link.py").open("a") as file:
        file.write("# another line\n")
    refused = python(*START, form="", path=copy)
    assert refused.returncode != 0
    assert "nodes/routing/link.py was changed after it was compiled: run `make build`" in refused.stderr
    assert python(*START, form=INTERPRETED, path=copy).stdout.endswith("link.py\n")


def test_cbn_says_so_in_one_line(copy: Path) -> None:
    (copy / "nodes/routing/link.py").unlink()
    done = python("-m", "testbed.cli", "match", "x > 1", "x = 2", form="", path=copy)
    assert done.returncode == 3
    assert done.stderr.startswith("cbn: nodes/routing/link.py was changed after it was compiled")
    assert done.stderr.count("\n") == 1


def test_what_was_not_compiled_runs_interpreted_and_is_refused_if_asked_for_compiled(copy: Path) -> None:
    (copy / "nodes" / RECORD.name).unlink()
    assert python(*START, form="", path=copy).stdout.endswith("link.py\n")
    assert "run `make build`" in python(*START, form=COMPILED, path=copy).stderr


def test_a_form_that_there_is_not_is_refused(tmp_path: Path) -> None:
    assert f"{VARIABLE} is 'quick'; expected compiled or interpreted" in python(*START, form="quick").stderr

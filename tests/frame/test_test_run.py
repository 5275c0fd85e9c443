"""What a run of the tests tells its reader: the seed of what failed, and what could not run and why."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

DRAWS = """
def test_draws(rng, seed):
    raise AssertionError(f"drew {rng.random()} from {seed}")
"""
MARKED = """
import pytest

@pytest.mark.emu
def test_in_namespaces(): pass

@pytest.mark.spark
def test_in_java(): pass

def test_anywhere(): pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A project with these settings and this conftest, and no tests yet."""
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / "tests/conftest.py", tmp_path / "tests")
    return tmp_path


def run(suite: Path, text: str, **environment: str) -> str:
    """Run one file of tests; what pytest printed."""
    (suite / "tests/test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("CBN_", "PYTEST_"))}
    done = subprocess.run(
        command, cwd=suite, env=inherited | environment, capture_output=True, text=True, check=False
    )
    return done.stdout


def drawn(output: str) -> str:
    """What the failing test drew."""
    found = re.search(r"AssertionError: (drew .*)", output)
    assert found, output
    return found[1]


def test_a_failure_prints_the_seed_and_the_line_that_repeats_it(suite: Path) -> None:
    first = run(suite, DRAWS)
    replay = re.search(r"replay: CBN_TEST_SEED=(\d+) \.venv/bin/python -m pytest '(.*)'", first)
    assert replay, first
    assert replay[2] == "tests/test_it.py::test_draws"
    assert drawn(run(suite, DRAWS, CBN_TEST_SEED=replay[1])) == drawn(first)


def test_what_could_not_run_is_listed_just_above_the_last_line_with_the_reason(suite: Path) -> None:
    empty = suite / "bin"
    empty.mkdir()
    *_, head, emu, spark, last = filter(None, run(suite, MARKED, PATH=str(empty)).splitlines())
    assert "NOT RUN ON THIS MACHINE" in head
    assert re.match(r" +1 tests: missing commands: mnexec, ", emu)
    assert re.match(r" +1 tests: no Java: install openjdk-17-jre-headless \(tests\)", spark)
    assert re.search(r"1 passed, 2 skipped in ", last)


def test_nothing_is_printed_where_everything_ran(suite: Path) -> None:
    assert "NOT RUN" not in run(suite, "def test_it(): pass")

"""Examples in the documentation that are marked `<!-- run -->` do what they say.

A `python` block has to end without an exception. In a `console` block each
`$ command`, with the lines after `> ` that belong to it, has to succeed, and to
print the lines that follow it; `...` stands for anything. `<!-- run: emu -->` gives the example that marker.
Those marked `cluster` are in tests/cluster/test_page.py.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.live.registry import running

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^<!-- run(?:: (?P<marks>[a-z ]+))? -->\n+```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
STEP = re.compile(r"^\$ (?P<command>.*\n(?:> .*\n)*)(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
SECONDS = 240


@dataclass(frozen=True)
class Example:
    """A block of a page that can be run."""

    page: Path
    line: int
    language: str
    text: str
    marks: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page of the documentation."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [path for name in listed.stdout.split() if (path := ROOT / name).is_file()]


def examples(page: Path) -> list[Example]:
    """The blocks of a page that are marked to be run."""
    text = page.read_text(encoding="utf-8")
    return [
        Example(
            page,
            text.count("\n", 0, m.start()) + 1,
            m["language"],
            m["text"],
            tuple((m["marks"] or "").split()),
        )
        for m in BLOCK.finditer(text)
    ]


APART = ("emu", "cluster")
"""Markers of examples that are tested in files apart, and not beside all others."""


def parameters(apart: str = "") -> list[object]:
    """One test an example, with its markers: those of one marker of `APART`, or the others."""
    every = [e for page in pages() for e in examples(page)]
    found = [e for e in every if (apart in e.marks if apart else not set(APART) & set(e.marks))]
    return [pytest.param(e, id=str(e), marks=[getattr(pytest.mark, m) for m in e.marks]) for e in found]


def run(command: list[str], folder: Path, **variables: str) -> str:
    """Run in a folder, with the project's commands first in PATH; what it printed."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    own = {"PATH": path, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "100"}
    environment = os.environ | own | variables
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}"
    return done.stdout


def check_console(example: Example, folder: Path, lab: str = "") -> None:
    """Run every command of the block and compare what it prints.

    Args:
        example: the block.
        folder: where.
        lab: the machines that are `metal` in the example.
    """
    variables = {"CBN_LAB": lab} if lab else {}
    steps = list(STEP.finditer(example.text))
    assert steps, "a console block without a `$ command`"
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for step in steps:
        command = step["command"].replace("\n> ", "\n")
        got = run(["bash", "-euo", "pipefail", "-c", command], folder, **variables)
        got = got.replace(lab, "metal") if lab else got
        wanted = step["output"]
        assert doctest.OutputChecker().check_output(wanted, got, options), f"{command}\n{wanted}---\n{got}"


def take_down_what_runs_in(folder: Path) -> None:
    """An example that fails half-way leaves no network running."""
    for run_ in running():
        if run_.kept and run_.alive and Path(str(run_.record.get("directory"))).is_relative_to(folder):
            run([sys.executable, "-m", "testbed.cli", "down", run_.run_id, "--quiet"], folder)


def run_example(example: Example, tmp_path: Path) -> None:
    """Hold an example against what its page says."""
    if example.language == "python":
        run([sys.executable, "-c", example.text], tmp_path)
    else:
        assert example.language == "console", f"{example}: cannot run {example.language!r}"
        try:
            check_console(example, tmp_path)
        finally:
            take_down_what_runs_in(tmp_path)


@pytest.mark.timeout(SECONDS + 20)
@pytest.mark.parametrize("example", parameters())
def test_the_example_does_what_the_page_says(example: Example, tmp_path: Path) -> None:
    run_example(example, tmp_path)


def test_there_are_examples_to_run() -> None:
    assert parameters()
    assert all(parameters(apart) for apart in APART)


def test_a_marked_block_that_would_be_overlooked_is_an_error() -> None:
    counts = {page: page.read_text(encoding="utf-8").count("\n<!-- run") for page in pages()}
    assert {p: n for p, n in counts.items() if n != len(examples(p)) and p.name != "CONTRIBUTING.md"} == {}

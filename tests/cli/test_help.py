"""The command line teaches, and answers fast."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.parser import build_parser

ROOT = Path(__file__).parents[2]
COMMANDS = ("run", "analyze", "doctor", "clean", "scenarios", "show", "match", "reproduce")


def test_help_shows_first_steps_every_command_and_the_exit_codes(cbn: Any) -> None:
    done = cbn("--help")
    assert done.returncode == 0
    for word in (*COMMANDS, "first steps", "exit codes", "143"):
        assert word in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, cbn: Any) -> None:
    done = cbn(command, "--help")
    assert done.returncode == 0
    assert f"usage: cbn {command}" in done.stdout
    assert "--json" in done.stdout


@pytest.mark.parametrize("command", ["run", "analyze", "match", "reproduce"])
def test_the_examples_of_a_help_text_are_valid_command_lines(command: str, cbn: Any) -> None:
    text = cbn(command, "--help").stdout
    lines = [line.split("|")[0] for line in text.splitlines() if line.startswith("  cbn ")]
    assert lines
    for line in lines:
        arguments = shlex.split(line)[1:]
        assert build_parser().parse_args(arguments).function == command


def test_help_loads_nothing_heavy() -> None:
    """What makes `cbn --help` slow is imports; they are counted, not the milliseconds."""
    program = """
import sys
from testbed.cli.main import main
try:
    main(["--help"])
except SystemExit as ended:
    assert ended.code == 0
heavy = {"mininet", "pyspark", "scapy", "rich", "networkx", "jsonschema", "ruamel", "numpy", "asyncio"}
print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


def test_no_command_is_a_usage_error_that_says_where_help_is(cbn: Any) -> None:
    done = cbn()
    assert done.returncode == 2
    assert "cbn --help" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["run"],
        ["run", "quickstart", "--world", "moon"],
        ["run", "quickstart", "--seed", "many"],
        ["run", "quickstart", "--sed", "1"],
        ["analyze"],
        ["match", "price < 4"],
    ],
)
def test_a_wrong_command_line_is_told_in_a_line_or_two(arguments: list[str], cbn: Any) -> None:
    done = cbn(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 2


def test_the_version_is_that_of_the_package(cbn: Any) -> None:
    done = cbn("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("cbn ")

"""The command line teaches, and answers fast."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.command import Command, load, names
from testbed.cli.parser import build_parser

ROOT = Path(__file__).parents[2]
FOR_NO_SCRIPT = ("attach", "completion", "exec", "metal ssh", "mininet")
"""Commands that have no `--json`: they are worked in, or print something for a shell."""


def commands() -> dict[tuple[str, ...], Command]:
    """Every subcommand, and theirs, by the words that name it."""
    outer = {(name,): load(name) for name in names()}
    return outer | {(*words, n): c for words, o in outer.items() for n, c in o.commands.items()}


@pytest.fixture(params=commands().items(), ids=lambda item: " ".join(item[0]))
def command(request: pytest.FixtureRequest) -> tuple[tuple[str, ...], Command]:
    """The words that name a subcommand, and what it is."""
    return request.param  # type: ignore[no-any-return]


def help_of(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        build_parser(only=words[0]).parse_args([*words, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_shows_first_steps_every_command_and_the_exit_codes(cbn: Any) -> None:
    done = cbn("--help")
    assert done.returncode == 0
    for word in ("first steps", "exit codes", "143"):
        assert word in done.stdout
    for name in names():
        assert f"  {name:<10}  {load(name).summary}\n" in done.stdout


def test_every_command_explains_itself(
    command: tuple[tuple[str, ...], Command], capsys: pytest.CaptureFixture[str]
) -> None:
    words, found = command
    text = help_of(words, capsys)
    assert f"usage: cbn {' '.join(words)}" in text
    assert ("--json" in text) is (found.execute is not None and " ".join(words) not in FOR_NO_SCRIPT)


def test_the_examples_of_a_help_text_are_valid_command_lines(
    command: tuple[tuple[str, ...], Command],
) -> None:
    words, found = command
    lines = [line.strip() for line in found.help.splitlines() if line.startswith("  cbn ")]
    assert lines or "examples" not in found.help
    for line in lines:
        # What follows may be a pipe, another command, a file, or an explanation in a second column.
        arguments = shlex.split(re.split(r" (?:\||&&?|>) |\s{2,}", line)[0])[1:]
        executed = build_parser(only=arguments[0]).parse_args(arguments).execute
        if arguments[0] == words[0]:
            assert executed in {found.execute, *(inner.execute for inner in found.commands.values())}


def test_the_page_on_the_command_has_every_command_and_no_other() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `cbn ")]
    named = {word for row in rows for code in re.findall("`([^`]+)`", row) for word in [first_word(code)]}
    inner = {words[1] for words in commands() if len(words) == 2}
    assert set(names()) <= named <= {*names(), *inner}


def test_pages_and_help_texts_name_only_commands_that_exist() -> None:
    # `cbn capture index` is not a command line but the first line of a file.
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")}
    texts |= {ROOT / "README.md": (ROOT / "README.md").read_text(encoding="utf-8")}
    texts |= {Path(" ".join(words)): found.help for words, found in commands().items()}
    named = {
        (path, name)
        for path, text in texts.items()
        for name in re.findall(r"(?:`|\$ )cbn ([a-z]+)\b(?! index)", text)
    }
    assert {(str(path), name) for path, name in named if name not in names()} == set()


def first_word(code: str) -> str:
    words = code.split()
    return words[1] if words[0] == "cbn" else words[0]


def test_help_loads_nothing_heavy() -> None:
    """What makes `cbn --help` slow is imports; they are counted, not the milliseconds."""
    program = """
import shlex, sys
from testbed.cli.main import main
for line in sys.argv[1:]:
    try:
        main(shlex.split(line))
    except SystemExit as ended:
        assert ended.code == 0
heavy = {"mininet", "pyspark", "scapy", "rich", "networkx", "jsonschema", "ruamel", "numpy", "asyncio"}
heavy |= {"nodes", "fastpath", "topologies", "analysis"}
light = {"topologies", "topologies.quantities", "topologies.fault_kinds"}
print(sorted(heavy & {name.partition(".")[0] for name in {*sys.modules} - light}), file=sys.stderr)
"""
    lines = ["--help", *(" ".join([*words, "--help"]) for words in commands())]
    done = subprocess.run(
        [sys.executable, "-c", program, *lines], cwd=ROOT, capture_output=True, text=True, check=True
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
def test_a_wrong_command_line_is_explained_in_a_line_or_two(arguments: list[str], cbn: Any) -> None:
    done = cbn(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 2


def test_the_version_is_that_of_the_package(cbn: Any) -> None:
    done = cbn("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("cbn ")

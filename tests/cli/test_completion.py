"""`cbn completion`: a real shell completes what the command line really has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from testbed.cli.command import names
from testbed.cli.commands.completion import script
from topologies.library import scenario_names


def completed(words: list[str], folder: Path) -> set[str]:
    """What bash offers for the last of the words."""
    listed = " ".join(f"'{word}'" for word in words)
    state = f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}"
    program = f'{script()}\n{state}; _cbn; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return {line for line in done.stdout.splitlines() if line}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").touch()
    return tmp_path


def test_every_subcommand_is_offered(folder: Path) -> None:
    assert completed(["cbn", ""], folder) >= set(names())
    assert completed(["cbn", "reprod"], folder) == {"reproduce"}


def test_scenarios_are_offered_by_name_and_as_files(folder: Path) -> None:
    assert completed(["cbn", "run", ""], folder) >= {*scenario_names(), "mine.yaml", "--world"}
    assert completed(["cbn", "show", "m"], folder) == {"mine.yaml"}


def test_choices_are_offered_after_an_option_that_has_some(folder: Path) -> None:
    assert completed(["cbn", "run", "quickstart", "--world", ""], folder) >= {"sim", "emu"}
    assert completed(["cbn", "run", "--world", "s"], folder) == {"sim"}


def test_files_are_offered_after_an_option_that_takes_any_value(folder: Path) -> None:
    assert completed(["cbn", "run", "quickstart", "--out", "m"], folder) == {"mine.yaml"}


def test_subcommands_of_subcommands_are_offered(folder: Path) -> None:
    assert completed(["cbn", "topo", ""], folder) >= {"draw"}


def test_what_is_offered_is_valid_shell_for_bash_and_begins_as_zsh_needs_it(cbn) -> None:
    assert cbn("completion", "bash").stdout == script()
    assert cbn("completion", "zsh").stdout.endswith(script())
    assert "bashcompinit" in cbn("completion", "zsh").stdout

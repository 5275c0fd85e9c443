"""From what stands on the command line to a Plan: finds scenarios and reports what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from testbed.cli import exits
from testbed.plan.load import load_cells, load_plan
from testbed.plan.matrix import Cell
from testbed.plan.model import Plan
from testbed.plan.problems import ScenarioError


def shipped() -> dict[str, Path]:
    """The scenarios that come with the testbed, by name."""
    folder = Path(str(files("topologies"))) / "scenarios"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"), key=lambda p: p.stem)}


def find(scenario: str) -> Path:
    """The file that SCENARIO means: a path, or the name of a shipped scenario.

    Raises:
        CommandError: it is neither.
    """
    path = Path(scenario)
    if path.is_file():
        return path
    known = shipped()
    if scenario in known:
        return known[scenario]
    if path.exists():
        return path  # a folder or such: reading it says what is wrong with it
    raise exits.CommandError(
        f"{scenario}: there is no such file and no shipped scenario of that name; "
        f"shipped are {', '.join(known) or 'none'}"
    )


def load(scenario: str, seed: int | None, overrides: Sequence[str]) -> Plan:
    """The Plan of a scenario with the command line's overrides.

    Raises:
        CommandError: the scenario is broken; the text says where, all at once.
    """
    with _complaints():
        return load_plan(find(scenario), seed, _pairs(overrides))


def load_all(scenario: str, seed: int | None, overrides: Sequence[str]) -> list[tuple[Cell, Plan]]:
    """The plans of all runs of a scenario's matrix; none if it has none.

    Raises:
        CommandError: the scenario is broken; the text says where, all at once.
    """
    with _complaints():
        return load_cells(find(scenario), seed, _pairs(overrides))


@contextmanager
def _complaints() -> Iterator[None]:
    """What is wrong with a scenario, as what the command ends with."""
    try:
        yield
    except ScenarioError as error:
        count = len(error.problems)
        heading = "there is a problem" if count == 1 else f"there are {count} problems"
        raise exits.CommandError(f"{heading} in the scenario; nothing was started\n{error}") from error


def _pairs(overrides: Sequence[str]) -> list[tuple[str, str]]:
    return [_pair(override) for override in overrides]


def _pair(override: str) -> tuple[str, str]:
    key, equals, value = override.partition("=")
    if not (key and equals):
        raise exits.CommandError(f"--set {override}: expected KEY=VALUE, such as --set scheme=pif")
    return key, value

"""From a name on the command line to a scenario: finds it, reads it once, and reports what is wrong."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.cli import exits
from testbed.plan.load import Scenario, read_scenario
from testbed.plan.mininet_topo import is_reference
from testbed.plan.problems import ScenarioError, did_you_mean
from topologies.library import SCENARIOS, scenario_names


def shipped() -> dict[str, Path]:
    """The scenarios that come with the testbed, by name."""
    return {name: SCENARIOS / f"{name}.yaml" for name in scenario_names()}


def find(scenario: str) -> Path:
    """What SCENARIO means: a path, the name of a shipped scenario, or a topology as `file.py:MyTopo`.

    Raises:
        CommandError: it is neither.
    """
    path = Path(scenario)
    try:
        if path.is_file() or is_reference(scenario):
            return path
    except PermissionError as error:
        raise exits.CommandError(f"{scenario}: {error.strerror}") from error
    known = shipped()
    if scenario in known:
        return known[scenario]
    if path.exists():
        return path  # a folder or such: reading it finds what is wrong with it
    raise exits.CommandError(
        f"{scenario}: there is no such file and no shipped scenario of that name; "
        + (did_you_mean(scenario, known) or f"shipped are {', '.join(known) or 'none'}")
    )


def read(args: argparse.Namespace) -> Scenario:
    """The scenario that the command line names, with its overrides.

    Raises:
        CommandError: it cannot be read.
    """
    with complaints():
        return read_scenario(find(args.scenario), args.seed, [_pair(each) for each in args.overrides])


def tell_notes(scenario: Scenario) -> None:
    """What a person should know of how the plans were made, on standard error."""
    for note in dict.fromkeys(scenario.source.notes):
        print(f"note: {note}", file=sys.stderr)


@contextmanager
def complaints() -> Iterator[None]:
    """What is wrong with a scenario, as what the command ends with."""
    try:
        yield
    except ScenarioError as error:
        count = len(error.problems)
        heading = "there is a problem" if count == 1 else f"there are {count} problems"
        raise exits.CommandError(f"{heading} in the scenario; nothing was started\n{error}") from error


def _pair(override: str) -> tuple[str, str]:
    key, equals, value = override.partition("=")
    if not (key and equals):
        raise exits.CommandError(f"--set {override}: expected KEY=VALUE, such as --set scheme=pif")
    return key, value

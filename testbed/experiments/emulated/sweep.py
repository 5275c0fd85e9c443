"""Which scenarios are run, with what of them set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from testbed.plan.problems import Key
from testbed.plan.source import Source
from topologies.library import scenario_names


@dataclass(frozen=True, slots=True)
class Case:
    """One run."""

    scenario: str
    world: str
    settings: tuple[tuple[str, str], ...]
    """As `--set` takes them."""

    def __str__(self) -> str:
        return ", ".join(
            [self.scenario, *(f"{key.removeprefix('parameters.')} {v}" for key, v in self.settings)]
        )


@dataclass(frozen=True, slots=True)
class Cases:
    """All runs, in order."""

    cases: tuple[Case, ...]


def read_sweep(data: Mapping[str, Any]) -> Cases:
    """The sweep as an experiment's file has it; it is in shape."""
    return Cases(tuple(_cases(data)))


def _cases(data: Mapping[str, Any]) -> Iterator[Case]:
    for group in data["scenarios"]:
        for settings in group["set"]:
            yield Case(
                group["name"], data["world"], tuple((key, str(value)) for key, value in settings.items())
            )


def check_sweep(source: Source, key: Key, data: Mapping[str, Any]) -> None:
    """Complain of scenarios that do not come with the testbed."""
    known = scenario_names()
    for at, group in enumerate(data["scenarios"]):
        if group["name"] not in known:
            expected = f"one of {', '.join(known)}"
            source.complain((*key, "scenarios", at, "name"), f"no scenario {group['name']!r}", expected)

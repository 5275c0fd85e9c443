"""The scenarios, the maps, the paper experiments and the schemas that are shipped, by name."""

from __future__ import annotations

from pathlib import Path

from topologies.importers import MapOptions, read_map
from topologies.map import Map

ROOM = Path(__file__).parent
SCHEMA = ROOM / "schema" / "scenario.schema.json"
SCENARIOS = ROOM / "scenarios"
EXPERIMENT_SCHEMA = ROOM / "schema" / "experiment.schema.json"
EXPERIMENTS = ROOM / "experiments"
MAPS = ROOM / "maps"


def scenario_names() -> list[str]:
    """The names of the shipped scenarios, in alphabetical order: `quickstart`, `attacks/forge`."""
    return sorted(p.relative_to(SCENARIOS).with_suffix("").as_posix() for p in SCENARIOS.rglob("*.yaml"))


def experiment_names() -> list[str]:
    """The names of the shipped experiments of papers, shorter names first."""
    return sorted((p.stem for p in EXPERIMENTS.glob("*.yaml")), key=lambda name: (len(name), name))


def experiment_file(name: str) -> Path:
    """The file of a shipped experiment; KeyError if there is none of that name."""
    if name not in experiment_names():
        raise KeyError(name)
    return EXPERIMENTS / f"{name}.yaml"


def map_names() -> list[str]:
    """The names of the shipped maps, in alphabetical order."""
    return sorted(p.stem for p in MAPS.glob("*.map"))


def library_map(name: str, options: MapOptions | None = None) -> Map:
    """A shipped map, or the selected part of it; KeyError if there is none of that name."""
    if name not in map_names():
        raise KeyError(name)
    return read_map(MAPS / f"{name}.map", options, called=f"{name}.map")

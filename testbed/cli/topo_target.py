"""What NAME|FILE of `cbn topo` means: a file, a map, a shape, a scenario or a run, in this order."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.cli import exits
from testbed.cli.plans import find, shipped
from testbed.plan import ScenarioError, load_recorded
from testbed.plan.drawn import load_map, map_of_plan
from testbed.plan.problems import did_you_mean
from topologies.errors import MapError
from topologies.generators import SHAPES, extent, make_map
from topologies.importers import Wishes, read_map
from topologies.library import library_map, map_names
from topologies.map import Map

ROUTERS_MAX, LINKS_MAX = 65_536, 1_048_576
"""More than a scenario may have is not made here either."""


def target_map(args: argparse.Namespace) -> Map:
    """The map that a command line speaks of.

    Raises:
        CommandError: There is none, or it is broken.
    """
    name, path = args.target, Path(args.target)
    if args.parameters and name not in SHAPES:
        raise exits.CommandError(f"{args.parameters[0]}: parameters go with a shape, and {name} is none")
    if path.is_file() or path.is_dir():
        return _of_path(path, args)
    if name in map_names():
        return _read(lambda: library_map(name, wishes_of(args)))
    if name in SHAPES:
        return generated(name, args.parameters, args.seed)
    if name in shipped():
        return _scenario(find(name), args.seed)
    known = [*map_names(), *SHAPES, *shipped()]
    raise exits.CommandError(
        f"{name}: there is no such file, map, shape or scenario; "
        f"{did_you_mean(name, known) or '`cbn topo list` and `cbn scenarios` say what there is'}"
    )


def _of_path(path: Path, args: argparse.Namespace) -> Map:
    if path.is_dir():
        if not (path / "plan.yaml").is_file():
            raise exits.CommandError(f"{path}: this folder is no run directory: there is no plan.yaml in it")
        try:
            return map_of_plan(load_recorded(path / "plan.yaml"))
        except ScenarioError as error:
            raise exits.CommandError(f"the plan of the run is broken\n{error}") from error
    if path.suffix.lower() in (".yaml", ".yml") and args.format is None:
        return _scenario(path, args.seed)
    return imported(path, args)


def imported(path: Path, args: argparse.Namespace) -> Map:
    """The map in a file, as the command line wishes.

    Raises:
        CommandError: There is none in it.
    """
    return _read(lambda: read_map(path, wishes_of(args), args.format))


def wishes_of(args: argparse.Namespace) -> Wishes:
    """What of a map is wanted."""
    if args.keep is not None and args.keep < 1:
        raise exits.CommandError(f"--keep {args.keep}: expected at least 1")
    return Wishes(args.largest, args.keep, tuple(args.drop))


def _read(read: Any) -> Map:
    try:
        return read()  # type: ignore[no-any-return]
    except MapError as error:
        raise exits.CommandError(str(error)) from error


def _scenario(path: Path, seed: int | None) -> Map:
    try:
        return load_map(path, seed)
    except ScenarioError as error:
        raise exits.CommandError(f"the scenario is broken\n{error}") from error


def generated(shape: str, told: Sequence[str], seed: int | None) -> Map:
    """A topology of a shape.

    Raises:
        CommandError: There is no such shape, or its parameters are wrong.
    """
    if shape not in SHAPES:
        hint = did_you_mean(shape, SHAPES)
        raise exits.CommandError(f"{shape}: there is no such shape; {hint or '`cbn topo list` has them'}")
    parameters = dict(_parameter(shape, text) for text in told)
    try:
        routers, links = extent(shape, parameters)
        if routers > ROUTERS_MAX or links > LINKS_MAX:
            what = f"this makes {routers:,} routers and {links:,} links"
            raise exits.CommandError(f"{what}; expected at most {ROUTERS_MAX:,} and {LINKS_MAX:,}")
        return make_map(shape, parameters, 1 if seed is None else seed)
    except ValueError as error:
        raise exits.CommandError(f"{shape}: {error}") from error


def _parameter(shape: str, text: str) -> tuple[str, int | float]:
    name, equals, value = text.partition("=")
    known = [p.name for p in SHAPES[shape].parameters]
    if not equals:
        raise exits.CommandError(f"{text}: expected KEY=VALUE, such as {known[0]}=4")
    if name not in known:
        hint = did_you_mean(name, known)
        expected = f"expected {', '.join(known)}"
        raise exits.CommandError(f"{shape} has no parameter {name}; {expected}{f'; {hint}' if hint else ''}")
    try:
        return name, int(value) if value.lstrip("+-").isdecimal() else float(value)
    except ValueError:
        raise exits.CommandError(f"{name}={value}: expected a number") from None

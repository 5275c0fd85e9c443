"""Topologies on the command line: what NAME|FILE means, and how a topology is described.

NAME|FILE is a file, a map, a shape, a scenario or a run, in this order.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from testbed.cli import exits
from testbed.cli.output import columns
from testbed.cli.scenario import find, shipped
from testbed.plan.drawn import import_topo, load_map, map_of_plan
from testbed.plan.mininet_topo import is_reference
from testbed.plan.problems import ScenarioError, did_you_mean
from testbed.plan.recorded import RecordedRunError, read_manifest, read_plan
from topologies.errors import MapError
from topologies.generators import SHAPES, extent, make_map
from topologies.importers import MapOptions, read_map
from topologies.library import library_map, map_names
from topologies.map import Map, MapLink, MapNode
from topologies.measures import Measures, measured
from topologies.quantities import how_many, listed, rate_text
from topologies.shapes.kind import Parameter

ROUTERS_MAX, LINKS_MAX = 65_536, 1_048_576
"""More than a scenario may have is not made here either."""
NAMES_SHOWN = 12
_PARAMETER_KEYS = ("name", "meaning", "required", "least", "most", "default")
ONE_BY_ONE_UP_TO = 60
"""Links; of larger maps, routers and links are shown with --all."""


def target_map(args: argparse.Namespace) -> Map:
    """The map that a command line means.

    Raises:
        CommandError: There is none, or it is broken.
    """
    name, path = args.target, Path(args.target)
    if args.parameters and name not in SHAPES:
        raise exits.CommandError(f"{args.parameters[0]}: parameters go with a shape, and {name} is none")
    if is_reference(name):
        return _scenario(path, args.seed)
    if path.is_file() or path.is_dir():
        return _of_path(path, args)
    if name in map_names():
        with exits.explained(MapError):
            return library_map(name, map_options_of(args))
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
        with exits.explained(RecordedRunError):
            return map_of_plan(read_plan(path, read_manifest(path)))
    if path.suffix.lower() in (".yaml", ".yml") and args.format is None:
        return _scenario(path, args.seed)
    return imported(path, args)


def imported(path: Path, args: argparse.Namespace) -> Map:
    """The map in a file, with the options of the command line.

    Raises:
        CommandError: There is none in it.
    """
    options = map_options_of(args)
    with exits.explained(MapError, ScenarioError):
        if is_reference(path):
            return import_topo(str(path), options)
        return read_map(path, options, args.format)


def map_options_of(args: argparse.Namespace) -> MapOptions:
    """What of a map is wanted."""
    if args.keep is not None and args.keep < 1:
        raise exits.CommandError(f"--keep {args.keep}: expected at least 1")
    return MapOptions(args.largest, args.keep, tuple(args.drop))


def _scenario(path: Path, seed: int | None) -> Map:
    try:
        return load_map(path, seed)
    except ScenarioError as error:
        raise exits.CommandError(f"the scenario is broken\n{error}") from error


def generated(shape: str, given: Sequence[str], seed: int | None) -> Map:
    """A topology of a shape.

    Raises:
        CommandError: There is no such shape, or its parameters are wrong.
    """
    if shape not in SHAPES:
        hint = did_you_mean(shape, SHAPES)
        raise exits.CommandError(f"{shape}: there is no such shape; {hint or '`cbn topo list` has them'}")
    parameters = dict(_parameter(shape, text) for text in given)
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


def shapes_and_maps() -> dict[str, object]:
    """All shapes and all maps of the library, for a script."""
    shapes = [
        {"name": name, "summary": shape.summary, "drawn": shape.drawn,
         "parameters": [{key: getattr(p, key) for key in _PARAMETER_KEYS} for p in shape.parameters]}
        for name, shape in SHAPES.items()
    ]  # fmt: skip
    return {"shapes": shapes, "maps": [summary(library_map(name)) for name in map_names()]}


def listing() -> str:
    """The same for a person."""
    lines = [
        "shapes (cbn topo generate SHAPE KEY=VALUE ...; in a scenario `topology: {generate: SHAPE, ...}`)"
    ]
    lines += [
        f"  {name:<16} {shape.summary}\n{_parameters(shape.parameters)}" for name, shape in SHAPES.items()
    ]
    lines += ["", "maps (in a scenario `topology: {map: NAME}`)"]
    lines += [
        f"  {drawn.name:<16} {drawn.title}: "
        f"{how_many(len(drawn.nodes), 'router')}, {how_many(len(drawn.links), 'link')}"
        for drawn in map(library_map, map_names())
    ]
    return "\n".join(lines)


def _parameters(parameters: Sequence[Parameter]) -> str:
    lines, line = [], " " * 18
    for parameter in parameters:
        default = "" if parameter.default is None else f"={parameter.default:g}"
        word = f" {parameter.name}{default if not parameter.required else ''}" + "*" * parameter.required
        if len(line) + len(word) > 98:
            lines.append(line)
            line = " " * 18
        line += word
    return "\n".join([*lines, line])


def summary(drawn: Map, whole: bool = False) -> dict[str, object]:
    """What a script wants to know of a map."""
    found: dict[str, object] = {
        "name": drawn.name, "title": drawn.title, "routers": len(drawn.nodes), "links": len(drawn.links),
        "sources": list(drawn.sources), "notes": list(drawn.notes),
    }  # fmt: skip
    if not whole:
        return found
    found["measures"] = _measures_fields(measured(drawn))
    found["router_list"] = [_node_fields(node) for node in drawn.nodes]
    found["link_list"] = [{"name": link.name, **asdict(link)} for link in drawn.links]
    return found


def _measures_fields(found: Measures) -> dict[str, object]:
    return {
        "degrees": {str(degree): count for degree, count in found.degrees.items()},
        "mean_degree": found.mean_degree,
        "diameter": found.diameter,
        "average_path": found.average_path,
        "exact": found.exact,
        "bridges": list(found.bridges),
        "cut_nodes": list(found.cut_nodes),
        "tags": dict(found.tags),
        "delays_ms": found.delays_ms and dict(zip(("min", "median", "max"), found.delays_ms, strict=True)),
        "links_without_delay": found.without_delay,
        "farthest_ms": found.farthest_ms,
    }


def _node_fields(node: MapNode) -> dict[str, object]:
    place = node.place and {"latitude": node.place[0], "longitude": node.place[1]}
    return {"name": node.name, "label": node.label, "place": place, "tags": list(node.tags)}


def description(drawn: Map, whole: bool = False) -> str:
    """What a person wants to know of a map."""
    return "\n".join(_lines(drawn, measured(drawn), whole))


def _lines(drawn: Map, found: Measures, whole: bool) -> Iterator[str]:
    yield f"{drawn.name}: {drawn.title}" if drawn.title not in ("", drawn.name) else drawn.name
    yield f"{found.nodes} nodes, {found.links} links; {found.mean_degree:.3g} links a node on average"
    about = "" if found.exact else " (from some of its nodes)"
    yield f"paths      {found.average_path:.3g} links on average, {found.diameter} at most{about}"
    if found.delays_ms:
        least, median, most = found.delays_ms
        farthest = (
            f"; {found.farthest_ms:.3g} ms between the farthest" if found.farthest_ms is not None else ""
        )
        unknown = f"; {found.without_delay} links have none" if found.without_delay else ""
        yield f"delays     {least:.3g} to {most:.3g} ms, median {median:.3g} ms{farthest}{unknown}"
    yield f"bridges    {listed(found.bridges, NAMES_SHOWN) or 'none'}"
    yield f"cut nodes  {listed(found.cut_nodes, NAMES_SHOWN) or 'none'}"
    if found.tags:
        yield "tags       " + listed([f"{tag} {count}" for tag, count in found.tags.items()], NAMES_SHOWN)
    yield from (f"source     {source}" for source in drawn.sources)
    yield from (f"note       {note}" for note in drawn.notes)
    yield ""
    yield from _degrees(found)
    if whole or len(drawn.links) <= ONE_BY_ONE_UP_TO:
        yield ""
        yield from columns(("node", "called", "links", "place", "tags"), _node_rows(drawn))
        yield ""
        yield from columns(
            ("link", "delay", "rate", "cost", "tags"), [_link_row(link) for link in drawn.links]
        )


def _degrees(found: Measures) -> Iterator[str]:
    yield "degree  nodes"
    scale = min(1.0, 60 / max(found.degrees.values()))
    for degree, count in found.degrees.items():
        yield f"{degree:>6}  {count:>5}  {'#' * max(1, round(count * scale))}"


def _node_rows(drawn: Map) -> list[tuple[str, ...]]:
    near = drawn.neighbours()
    return [(n.name, n.label, str(len(near[n.name])), _place(n), ", ".join(n.tags)) for n in drawn.nodes]


def _place(node: MapNode) -> str:
    if node.place is None:
        return ""
    (lat, lon) = node.place
    return f"{abs(lat):.2f} {'N' if lat >= 0 else 'S'} {abs(lon):.2f} {'E' if lon >= 0 else 'W'}"


def _link_row(link: MapLink) -> tuple[str, ...]:
    delay = "" if link.delay_ns is None else f"{link.delay_ns / 1e6:.3f} ms"
    rate = "" if link.rate_bps is None else rate_text(link.rate_bps)
    return f"{link.a} - {link.b}", delay, rate, str(link.cost), ", ".join(link.tags)

"""Topologies that are not listed router by router: generated, from the library, or from a file.

Here: which keys of `topology` go together, and what of a map a scenario's links
take. Not here: listed topologies and clients (`topology`), how maps are made and
read (`topologies`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.plan.graph import LINKS_MAX, NODES_MAX, Graph, Wire, wire_with
from testbed.plan.problems import Key, did_you_mean
from testbed.plan.source import Source
from topologies.errors import MapError
from topologies.generators import SHAPES, extent, make_map
from topologies.importers import MapOptions, read_map
from topologies.library import library_map
from topologies.map import Map, MapLink, sorted_tags
from topologies.quantities import delay_text

PARAMETERS = tuple(dict.fromkeys(p.name for shape in SHAPES.values() for p in shape.parameters))
ORIGINS = ("generate", "map", "import")
"""Keys that say where a topology comes from; without one of them it is listed."""
PARTS = ("largest", "keep", "drop")
LISTED = ("routers", "links")
ALL = "all"
"""Stands for every link in `links_by_tag`: over what the map says, where `link_defaults` is below it."""
TAKEN: Mapping[str, tuple[str, ...]] = {
    "generate": ("delay",),
    # The rates of real maps are facts about fibres: gigabits, or what was fast in 1970.
    "map": ("delay", "loss", "cost"),
    "import": ("delay", "rate", "loss", "cost"),
}
"""What the links take of a map unless `take` says otherwise."""


def origin_of(topology: Mapping[str, Any]) -> str:
    """Which of `ORIGINS` the scenario takes; empty if the topology is listed."""
    return next((origin for origin in ORIGINS if origin in topology), "")


def misplaced(topology: Mapping[str, Any]) -> list[str]:
    """Keys that belong to another way of giving a topology, or to another shape."""
    origin = origin_of(topology)
    own = {
        "generate": {"take", "links_by_tag", *_taken_by(topology.get("generate", ""))},
        "map": {"take", "links_by_tag", *PARTS},
        "import": {"take", "links_by_tag", *PARTS},
    }.get(origin, {*LISTED})
    fitting = {origin, "link_defaults", *own}
    known = (*LISTED, *ORIGINS, "take", "links_by_tag", *PARTS, *PARAMETERS, "seed")
    return [name for name in known if name in topology and name not in fitting]


def form_of(topology: Mapping[str, Any]) -> str:
    """A way of giving a topology, as it is called where something does not go with it."""
    origin = origin_of(topology)
    return f"{origin}: {topology[origin]}" if origin else "a topology that lists its routers"


def _taken_by(shape: str) -> set[str]:
    if shape not in SHAPES:
        return set()
    kind = SHAPES[shape]
    return {*kind.required, *kind.optional, *(["seed"] if kind.drawn else [])}


def add_map(source: Source, topology: Mapping[str, Any], graph: Graph, seed: int, defaults: Wire) -> None:
    """The routers and links of a map, added to the graph; what is wrong is noted in the source."""
    origin = origin_of(topology)
    made = _MAKERS[origin](source, topology, seed)
    if made is None:
        return
    here: Key = ("topology", origin)
    graph.routers = dict.fromkeys((node.name for node in made.nodes), here)
    graph.tags.update({node.name: node.tags for node in made.nodes if node.tags})
    graph.attributes.update({node.name: _attributes(node.title, node.place) for node in made.nodes})
    graph.map = made
    taken = topology.get("take", TAKEN[origin])
    by_tag = _by_tag(source, topology, made)
    wire = replace(defaults, key=here)
    graph.wires = [_wire(source, link, taken, by_tag, wire) for link in made.links]
    # What is wrong with the words for a tag may be wrong with each of its links; once is enough.
    seen = {(p.key, p.message): p for p in reversed(source.problems)}
    source.problems[:] = [p for p in source.problems if seen[p.key, p.message] is p]


def _attributes(label: str, place: tuple[float, float] | None) -> dict[str, Any]:
    return {"label": label} | ({} if place is None else {"latitude": place[0], "longitude": place[1]})


def _by_tag(source: Source, topology: Mapping[str, Any], made: Map) -> Mapping[str, Any]:
    spec = topology.get("links_by_tag") or {}
    known = sorted({tag for link in made.links for tag in link.tags})
    for tag in spec:
        if tag not in (ALL, *known):
            expected = f"one of {', '.join(known)}" if known else "no tag: these links have none"
            key = ("topology", "links_by_tag", tag)
            source.complain(key, f"no link has the tag {tag}", expected, did_you_mean(tag, known), True)
    return spec


def _wire(source: Source, link: MapLink, taken: Any, by_tag: Mapping[str, Any], defaults: Wire) -> Wire:
    wire = replace(defaults, a=link.a, b=link.b, tags=sorted_tags(defaults.tags + link.tags))
    spec = {"delay": ("delay_ns", link.delay_ns), "rate": ("rate_bps", link.rate_bps),
            "loss": ("loss", link.loss or None)}  # fmt: skip
    said: dict[str, Any] = {
        name: value for key, (name, value) in spec.items() if key in taken and value is not None
    }
    if "cost" in taken and link.cost != 1:
        wire = replace(wire, cost=link.cost)
    wire = replace(wire, impairment=replace(wire.impairment, **said))
    if wire.back is not None:
        wire = replace(wire, back=replace(wire.back, **said))
    before = len(source.problems)
    for tag in (tag for tag in by_tag if tag == ALL or tag in link.tags):
        wire = wire_with(source, by_tag[tag] or {}, ("topology", "links_by_tag", tag), wire)
    source.problems[before:] = [replace(p, hint=_of_link(wire)) for p in source.problems[before:]]
    return wire


def _of_link(wire: Wire) -> str:
    delay = wire.impairment.delay_ns
    return f"so it is of {wire.a} - {wire.b}" + (f": its delay is {delay_text(delay)}" if delay else "")


def _generated(source: Source, topology: Mapping[str, Any], seed: int) -> Map | None:
    name, here = topology["generate"], ("topology", "generate")
    shape = SHAPES[name]
    written = source.value["topology"]
    missing = [p for p in shape.parameters if p.required and p.name not in topology]
    for parameter in (p for p in missing if p.name not in written):
        spec = f"{parameter.name}: {parameter.meaning}"
        source.complain(("topology",), f"the key {parameter.name} is missing", spec)
    if missing:
        return None
    parameters = {p.name: topology[p.name] for p in shape.parameters if p.name in topology}
    try:
        routers, links = extent(name, parameters)
        if routers > NODES_MAX or links > LINKS_MAX:
            what = f"this makes {routers} routers and {links} links"
            source.complain(here, what, f"at most {NODES_MAX} nodes and {LINKS_MAX} links")
            return None
        made = make_map(name, parameters, int(topology.get("seed", seed)))
    except ValueError as error:
        source.complain(here, str(error))
        return None
    source.notes += [f"topology {name}: {note}" for note in made.notes]
    return made


def _shipped(source: Source, topology: Mapping[str, Any], _seed: int) -> Map | None:
    return _read(source, ("topology", "map"), lambda: library_map(topology["map"], _map_options(topology)))


def _imported(source: Source, topology: Mapping[str, Any], _seed: int) -> Map | None:
    path = Path(source.path).parent / topology["import"]
    return _read(source, ("topology", "import"), lambda: read_map(path, _map_options(topology)))


def _read(source: Source, key: Key, read: Callable[[], Map]) -> Map | None:
    try:
        return read()
    except MapError as error:
        where = f"{error.path}:{error.line}: " if error.line else f"{error.path}: "
        source.complain(key, where + error.message, error.expected, error.hint)
        return None


def _map_options(topology: Mapping[str, Any]) -> MapOptions:
    drop = tuple(tag for tag in topology.get("drop", ()) if tag is not None)
    return MapOptions(bool(topology.get("largest")), topology.get("keep"), drop)


_MAKERS = {"generate": _generated, "map": _shipped, "import": _imported}

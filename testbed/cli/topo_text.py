"""What `cbn topo list` and `show` say: for a person, and for a script."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from topologies.generators import SHAPES
from topologies.library import library_map, map_names
from topologies.map import Map, MapLink, MapNode
from topologies.measures import Measures, measured
from topologies.quantities import rate_text
from topologies.shapes.kind import Parameter

ONE_BY_ONE_UP_TO = 60
"""Links; of larger maps, routers and links are shown with --all."""


def shapes_and_maps(as_json: bool) -> str:
    """All shapes and all maps of the library."""
    maps = [library_map(name) for name in map_names()]
    if as_json:
        shapes = [
            {"name": name, "summary": shape.summary, "drawn": shape.drawn,
             "parameters": [_parameter_told(p) for p in shape.parameters]}
            for name, shape in SHAPES.items()
        ]  # fmt: skip
        told = {"shapes": shapes, "maps": [summary(drawn) for drawn in maps]}
        return json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    lines = [
        "shapes (cbn topo generate SHAPE KEY=VALUE ...; in a scenario `topology: {generate: SHAPE, ...}`)"
    ]
    lines += [
        f"  {name:<16} {shape.summary}\n{_parameters(shape.parameters)}" for name, shape in SHAPES.items()
    ]
    lines += ["", "maps (in a scenario `topology: {map: NAME}`)"]
    lines += [
        f"  {drawn.name:<16} {drawn.title}: {len(drawn.nodes)} routers, {len(drawn.links)} links"
        for drawn in maps
    ]
    return "\n".join(lines) + "\n"


def _parameter_told(parameter: Parameter) -> dict[str, object]:
    return {"name": parameter.name, "meaning": parameter.meaning, "required": parameter.required,
            "least": parameter.least, "most": parameter.most, "default": parameter.default}  # fmt: skip


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
    told: dict[str, object] = {
        "name": drawn.name, "title": drawn.title, "routers": len(drawn.nodes), "links": len(drawn.links),
        "sources": list(drawn.sources), "notes": list(drawn.notes),
    }  # fmt: skip
    if not whole:
        return told
    told["measures"] = _measures_told(measured(drawn))
    told["router_list"] = [_node_told(node) for node in drawn.nodes]
    told["link_list"] = [_link_told(link) for link in drawn.links]
    return told


def _measures_told(found: Measures) -> dict[str, object]:
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


def _node_told(node: MapNode) -> dict[str, object]:
    place = node.place and {"latitude": node.place[0], "longitude": node.place[1]}
    return {"name": node.name, "label": node.label, "place": place, "tags": list(node.tags)}


def _link_told(link: MapLink) -> dict[str, object]:
    return {"name": link.name, "a": link.a, "b": link.b, "delay_ns": link.delay_ns, "rate_bps": link.rate_bps,
            "loss": link.loss, "cost": link.cost, "tags": list(link.tags)}  # fmt: skip


def description(drawn: Map, whole: bool = False) -> str:
    """What a person wants to know of a map."""
    return "\n".join(_lines(drawn, measured(drawn), whole)) + "\n"


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
    yield f"bridges    {_some(found.bridges)}"
    yield f"cut nodes  {_some(found.cut_nodes)}"
    if found.tags:
        yield "tags       " + _some([f"{tag} {count}" for tag, count in found.tags.items()])
    yield from (f"source     {source}" for source in drawn.sources)
    yield from (f"note       {note}" for note in drawn.notes)
    yield ""
    yield from _degrees(found)
    if whole or len(drawn.links) <= ONE_BY_ONE_UP_TO:
        yield ""
        yield from _table(("node", "called", "links", "place", "tags"), _node_rows(drawn))
        yield ""
        yield from _table(
            ("link", "delay", "rate", "cost", "tags"), [_link_row(link) for link in drawn.links]
        )


def _some(words: Sequence[str]) -> str:
    if not words:
        return "none"
    return ", ".join(words[:12]) + (f" and {len(words) - 12} more" if len(words) > 12 else "")


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


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Columns as wide as what is in them; those with nothing in them are left out."""
    kept = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    widths = {i: max(len(row[i]) for row in [heads, *rows]) for i in kept}
    for row in [heads, *rows]:
        yield "  ".join(f"{row[i]:<{widths[i]}}" for i in kept).rstrip()

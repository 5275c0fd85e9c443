"""The picture of a map: an SVG text that needs nothing else, readable on light and on dark pages.

A router has the colour of its most significant tag. A tag that ends in a number (`pod-3`)
is one of many and has no colour if there are others; `core` gives way to the tag of a
region, since core routers are drawn larger anyway.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from topologies import quantities as q
from topologies.drawing.labels import Room, Spot, along, beside, box_around, text_width
from topologies.drawing.links import Line, lines_of
from topologies.drawing.placing import Sheet, sheet_of
from topologies.map import Map, MapLink, MapNode

LABELLED_UP_TO = 400
"""Routers; with more, names are shown only when hovering."""
DELAYS_UP_TO = 40
"""Links; with more, delays are not written at them."""
CROSSINGS_UP_TO = 250
_HEAD, _FOOT = 46.0, 34.0
_INKS = (
    ("paper", "#ffffff", "#0d1117"), ("ink", "#1f2328", "#e6edf3"), ("soft", "#59636e", "#9198a1"),
    ("line", "#8c959f", "#6e7681"), ("faint", "#eaeef2", "#1c222a"), ("other", "#6e7781", "#8b949e"),
)  # fmt: skip
"""Name, on light, on dark."""
CLIENT = "client"
"""Nodes with this tag are drawn as squares."""


def draw_svg(drawn: Map) -> str:
    """A map as an SVG picture.

    It is well-formed on its own, with title and description for screen readers, and its
    style touches nothing outside of it where it is put into a page.
    """
    sheet, colours = sheet_of(drawn), colours_of(drawn)
    lines = lines_of(drawn, sheet)
    labels, hidden = _labels(drawn, sheet, lines)
    height = sheet.height + _HEAD + _FOOT
    title = drawn.title or drawn.name
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cbn-map" viewBox="0 0 {sheet.width:g} {height:.0f}" '
        f'role="img">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(_description(drawn, colours))}</desc>",
        f"<style>{_style(len(drawn.nodes))}</style>",
        f'<rect class="paper" width="{sheet.width:g}" height="{height:.0f}" rx="10"/>',
        f'<text class="title" x="20" y="30">{escape(title)}</text>',
        f'<text class="soft" x="{sheet.width - 20:g}" y="30">{_counts(drawn)}</text>',
        f'<g transform="translate(0 {_HEAD:g})">',
        f'<path class="grid" d="{"".join(_grid(sheet))}"/>' if sheet.grid else "",
        '<g class="links">',
        *(_link(line) for line in lines),
        "</g>",
        *(_node(node, sheet, colours, len(near)) for node, near in _with_neighbours(drawn)),
        *labels,
        "</g>",
        *_legend(colours, sheet.width, height - 14, hidden),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _with_neighbours(drawn: Map) -> Iterator[tuple[MapNode, list[str]]]:
    near = drawn.neighbours()
    return ((node, near[node.name]) for node in drawn.nodes)


def _counts(drawn: Map) -> str:
    clients = sum(CLIENT in node.tags for node in drawn.nodes)
    counts = {"router": len(drawn.nodes) - clients, "client": clients, "link": len(drawn.links)}
    return ", ".join(q.how_many(count, what) for what, count in counts.items() if count or what != "client")


def _description(drawn: Map, colours: Colours) -> str:
    text = f"{_counts(drawn)}."
    if colours.legend():
        text += f" Colours show tags: {', '.join(tag for _, tag in colours.legend())}."
    return f"{text} From: {'; '.join(drawn.sources)}." if drawn.sources else text


def _grid(sheet: Sheet) -> Iterator[str]:
    """Meridians and parallels, each from where it comes onto the sheet to where it leaves."""
    for line in sheet.grid:
        inside = False
        for x, y in line:
            fits = -40 <= x <= sheet.width + 40 and -_HEAD <= y <= sheet.height
            if fits:
                yield f"{'L' if inside else 'M'}{x:.0f} {y:.0f}"
            inside = fits


def _link(line: Line) -> str:
    link = line.link
    kinds = ["major"] * any(tag in MAJOR for tag in link.tags) + ["sea"] * bool(
        {"sea", "ocean"} & {*link.tags}
    )
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return f'<path{kind} d="{line.path}"><title>{escape(_link_title(link))}</title></path>'


def _link_title(link: MapLink) -> str:
    parts = [] if link.delay_ns is None else [q.duration_text(link.delay_ns)]
    parts += [] if link.rate_bps is None else [q.rate_text(link.rate_bps)]
    parts += [f"loses {link.loss:.3g}"] * bool(link.loss) + [f"cost {link.cost}"] * (link.cost != 1)
    parts += [", ".join(link.tags)] * bool(link.tags)
    return f"{link.a} \N{EN DASH} {link.b}" + (f": {'; '.join(parts)}" if parts else "")


def _radius(node: MapNode, sheet: Sheet, degree: int) -> float:
    return (
        sheet.radius * (1.3 if is_major(node) else 0.7 if CLIENT in node.tags else 1.0)
        + min(degree, 12) * 0.12
    )


def _node(node: MapNode, sheet: Sheet, colours: Colours, degree: int) -> str:
    (x, y), r = sheet.at[node.name], _radius(node, sheet, degree)
    parts = [node.title, node.name] if node.label else [node.name]
    tags = f" ({', '.join(node.tags)})" if node.tags else ""
    title = f"<title>{escape(' = '.join(parts) + tags)}: {q.how_many(degree, 'link')}</title>"
    kind = f'class="n{colours.of(node)}"'
    if CLIENT in node.tags:
        corner = f'x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r:.1f}" height="{2 * r:.1f}"'
        return f"<rect {kind} {corner}>{title}</rect>"
    return f'<circle {kind} cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}">{title}</circle>'


def _labels(drawn: Map, sheet: Sheet, lines: list[Line]) -> tuple[list[str], int]:
    """The labels of routers and links, and how many routers' did not fit."""
    if len(drawn.nodes) > LABELLED_UP_TO:
        return [], len(drawn.nodes)
    room, size, texts, hidden = Room(sheet.width, sheet.height), _size(len(drawn.nodes)), [], 0
    near = dict(_with_neighbours(drawn))
    for node, others in near.items():
        room.take(box_around([sheet.at[node.name]], _radius(node, sheet, len(others))))
    segments = [segment for line in lines for segment in line.segments]
    crossed = segments if len(drawn.nodes) <= CROSSINGS_UP_TO else []
    for node in sorted(near, key=lambda node: -len(near[node])):
        r = _radius(node, sheet, len(near[node]))
        spot = Spot(node.title, sheet.at[node.name], r, [sheet.at[other] for other in near[node]])
        label = beside(room, spot, size, crossed)
        hidden += label is None
        if label:
            texts.append(f'<text x="{label.x:.1f}" y="{label.y:.1f}">{escape(label.text)}</text>')
    if len(drawn.links) <= DELAYS_UP_TO:
        texts += _delays(room, lines)
    return texts, hidden


def _delays(room: Room, lines: list[Line]) -> Iterator[str]:
    for line in lines:
        if line.link.delay_ns is not None and line.whole:
            a, b = line.segments[0][0], line.segments[-1][1]
            middle = line.segments[0][1] if len(line.segments) > 1 else None
            segment = (middle, middle) if middle else (a, b)
            label = along(room, q.duration_text(line.link.delay_ns), segment, 9)
            if label:
                yield f'<text class="delay" x="{label.x:.1f}" y="{label.y:.1f}">{label.text}</text>'


def _size(count: int) -> float:
    return 12.0 if count <= 40 else 10.0 if count <= 120 else 7.5


def _legend(colours: Colours, width: float, y: float, hidden: int) -> Iterator[str]:
    x = 20.0
    for number, tag in colours.legend():
        yield f'<circle class="n{number}" cx="{x + 5:.1f}" cy="{y - 4:g}" r="5"/>'
        yield f'<text class="key" x="{x + 15:.1f}" y="{y:g}">{escape(tag)}</text>'
        x += 30 + text_width(tag, 12)
    if hidden:
        parts = f"{'1 label is' if hidden == 1 else f'{hidden:,} labels are'} shown on hovering"
        yield f'<text class="soft" x="{width - 20:g}" y="{y:g}">{parts}</text>'


def _style(count: int) -> str:
    """Colours as variables of the picture's own class, once for light and once for dark pages."""
    named = list(_INKS)
    named += [(f"c{i}", light, dark) for i, (light, dark) in enumerate(COLOURS)]
    light = "".join(f"--{name}:{colour};" for name, colour, _ in named)
    dark = "".join(f"--{name}:{colour};" for name, _, colour in named)
    fills = "".join(f".cbn-map .n{i}{{fill:var(--c{i})}}" for i in range(OTHER))
    line = 1.4 if count <= 60 else 0.9 if count <= 200 else 0.5
    return (
        f".cbn-map{{{light}}}@media(prefers-color-scheme:dark){{.cbn-map{{{dark}}}}}"
        f".cbn-map text{{font:{_size(count):g}px system-ui,sans-serif;fill:var(--ink);text-anchor:middle;"
        "paint-order:stroke;stroke:var(--paper);stroke-width:2.5px;stroke-linejoin:round;pointer-events:none}"
        ".cbn-map .title{font-size:17px;font-weight:600;text-anchor:start}"
        ".cbn-map .soft{font-size:12px;fill:var(--soft);text-anchor:end}"
        ".cbn-map .key{font-size:12px;text-anchor:start}"
        ".cbn-map .delay{font-size:9px;fill:var(--soft)}"
        ".cbn-map .paper{fill:var(--paper)}"
        ".cbn-map .grid{fill:none;stroke:var(--faint)}"
        f".cbn-map .links path{{fill:none;stroke:var(--line);stroke-width:{line:g}}}"
        f".cbn-map .links .major{{stroke-width:{line * 1.8:g}}}.cbn-map .links .sea{{stroke-dasharray:5 4}}"
        ".cbn-map .links path:hover{stroke:var(--ink);stroke-width:3}"
        ".cbn-map circle,.cbn-map rect[x]{stroke:var(--paper);stroke-width:1.2}"
        f"{fills}.cbn-map .n{OTHER}{{fill:var(--other)}}"
    )


COLOURS = (
    ("#0969da", "#58a6ff"), ("#bc4c00", "#f0883e"), ("#1a7f37", "#3fb950"), ("#8250df", "#bc8cff"),
    ("#1b7c83", "#39c5cf"), ("#cf222e", "#ff7b72"), ("#9a6700", "#d29922"), ("#bf3989", "#f778ba"),
)  # fmt: skip
"""On a light and on a dark sheet."""
OTHER = len(COLOURS)
"""Stands for all tags after the last colour."""
_NUMBERED = re.compile(r".*-[0-9]+")
MAJOR = ("core", "transit")


@dataclass(frozen=True, slots=True)
class Colours:
    """The colours of tags."""

    tags: tuple[str, ...]
    """The first has the first colour; an empty one stands for routers without a tag."""
    others: bool
    """Whether there are tags beyond the last colour."""

    def of(self, node: MapNode) -> int:
        """The number of a router's colour."""
        tag = main_tag(node)
        return self.tags.index(tag) if tag in self.tags else OTHER

    def legend(self) -> list[tuple[int, str]]:
        """Colours and their meaning; empty if all routers have one colour."""
        shown = [(number, tag or "router") for number, tag in enumerate(self.tags)]
        shown += [(OTHER, "other")] * self.others
        return shown if len(shown) > 1 else []


def colours_of(drawn: Map) -> Colours:
    """The colours of a map's tags, those of most routers first."""
    counts = Counter(main_tag(node) for node in drawn.nodes)
    known = sorted(counts, key=lambda tag: (-counts[tag], tag))
    return Colours(tuple(known[:OTHER]), len(known) > OTHER)


def main_tag(node: MapNode) -> str:
    """The most significant tag of a router; empty if it has none."""
    plain = [tag for tag in node.tags if not _NUMBERED.fullmatch(tag)] or list(node.tags)
    return next((tag for tag in plain if tag != "core"), plain[0] if plain else "")


def is_major(node: MapNode) -> bool:
    """Whether it is drawn larger."""
    return any(tag in MAJOR for tag in node.tags)

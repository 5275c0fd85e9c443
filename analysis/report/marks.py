"""The drawing of the marks of links, and what a script needs to show them at another moment (`marks.js`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.figures.svg import Figure, element, number, path, text
from analysis.findings import Findings
from analysis.matchmaking import Mark, Matchmaking
from analysis.report.layout import edges_between, fitted, layout, moved_apart
from topologies.quantities import how_many

WIDTH, MARGIN = 1040.0, 60.0
LEAST_HEIGHT, MOST_HEIGHT = 240.0, 480.0
HALF, CHARACTER = 15.0, 4.4
"""Half the height of a router, and the half width of a character of its name."""
APART, HEAD = 4.5, 7.0
"""How far the two directions of a link are from its middle, and the length of an arrow's head."""
MOST_ROUTERS, MOST_MARKS = 300, 20_000
"""More routers are not drawn, and more marks not shown one by one."""
Place = Sequence[float]


def words(mark: Mark | None) -> str:
    """Classes of the style sheet."""
    if mark is None:
        return "none"
    if mark.is_down:
        return "down"
    return f"{'p' if mark.is_p else 's'}{' changing' if mark.changing else ''}"


def marks_figure(findings: Findings, found: Matchmaking) -> Figure | None:
    """The marks at the end of the run; None if there are too many routers."""
    routers = findings.run.plan.routers
    if len(routers) > MOST_ROUTERS:
        return None
    names = [node.name for node in routers]
    links = {(k.a, k.b): 1.0 for k in findings.run.plan.links if k.a in names and k.b in names}
    raw = layout(len(names), edges_between(names, links))
    spread = raw.max(axis=0) - raw.min(axis=0)
    high = (WIDTH - 2 * MARGIN) * float(spread[1] / max(spread[0], 1e-9)) + 2 * MARGIN
    height = min(max(high, LEAST_HEIGHT), MOST_HEIGHT)
    rooms = np.array([(_half_width(name) + 14, HALF + 14) for name in names])
    points = moved_apart(fitted(raw, WIDTH, height, MARGIN), rooms).tolist()
    places = dict(zip((node.node_id for node in routers), points, strict=True))
    drawn = _Drawing(findings, found, places)
    body = "".join(drawn.arrows()) + "".join(drawn.routers())
    return Figure("marks", "Marks of links", _description(findings, found), WIDTH, height, body)


@dataclass(frozen=True, slots=True)
class _Drawing:
    findings: Findings
    found: Matchmaking
    places: Mapping[int, Place]

    def arrows(self) -> Iterator[str]:
        """Each direction of each link, beside the other one."""
        names, end_ns = self.findings.run.names, self.findings.run.end_ns
        for way in sorted(self.found.marks):
            mark = self.found.mark(way, end_ns)
            unused = "" if way in self.found.used else " unused"
            title = element("title", text(f"{names[way[0]]} to {names[way[1]]}"))
            ends = (self.places[each] for each in way)
            style = f"mark {words(mark)}{unused}"
            yield element("path", title, d=_arrow(*ends), class_=style, data_way=f"{way[0]} {way[1]}")

    def routers(self) -> Iterator[str]:
        """With how many matches were made there."""
        for node in self.findings.run.plan.routers:
            x, y = self.places[node.node_id]
            half, made = _half_width(node.name), self.found.made(node.node_id)
            style = "router maker" if made else "router"
            title = element("title", text(f"router {node.name}: {made:,} matches made"))
            box = element("rect", x=-half, y=-HALF, width=2 * half, height=2 * HALF, rx=8.0, class_=style)
            name = element("text", text(node.name), y=4.5, class_="router-name middle")
            count = element(
                "text", f"{made:,}" if made else "", y=HALF + 14, class_="made middle", data_made=node.node_id
            )
            yield element("g", title, box, name, count, transform=f"translate({number(x)} {number(y)})")


def _half_width(name: str) -> float:
    return max(18.0, CHARACTER * len(name) + 8)


def _arrow(a: Place, b: Place) -> str:
    """From near one router to near the other, to the right of the middle as seen on the way."""
    length = math.dist(a, b) or 1.0
    along = ((b[0] - a[0]) / length, (b[1] - a[1]) / length)
    aside = (-along[1] * APART, along[0] * APART)

    def at(distance: float, off: float = 0.0) -> tuple[float, float]:
        return (
            a[0] + along[0] * distance + aside[0] - along[1] * off,
            a[1] + along[1] * distance + aside[1] + along[0] * off,
        )

    gap = min(26.0, 0.25 * length)
    tip = length - gap
    return path([at(gap), at(tip)]) + path(
        [at(tip - HEAD, HEAD * 0.55), at(tip), at(tip - HEAD, -HEAD * 0.55)]
    )


def _description(findings: Findings, found: Matchmaking) -> str:
    used = found.used & found.marks.keys()
    last = [found.mark(way, findings.run.end_ns) for way in used]
    down = sum(mark is not None and mark.is_down for mark in last)
    return (
        f"At the end of the run {found.s_links(findings.run.end_ns)} of {len(used)} directions of links that "
        f"are used were s-links{f', {down} down' if down else ''}. "
        f"Marks changed {how_many(found.changes, 'time')}."
    )


def to_document(findings: Findings, found: Matchmaking) -> dict[str, Any] | None:
    """What the script reads, with times from when the network was ready; None: there is too much of it."""
    if sum(map(len, found.marks.values())) > MOST_MARKS:
        return None
    start_ns, used = findings.run.start_ns, found.used & found.marks.keys()
    moments = {mark.from_ns - start_ns for way in used for mark in found.marks[way]}
    width_ns = findings.course[0].scope.until_ns - findings.course[0].scope.from_ns if findings.course else 0
    return {
        "moments": [0, *sorted(each for each in moments if each > 0)],
        "marks": {
            f"{a} {b}": [[max(mark.from_ns - start_ns, 0), words(mark)] for mark in found.marks[a, b]]
            for a, b in sorted(found.marks)
        },
        "used": [f"{a} {b}" for a, b in sorted(used)],
        "made": {
            router: [[max(slot + 1, 0) * width_ns, count] for slot, count in sorted(by_slot.items())]
            for router, by_slot in sorted(found.matches.items())
        },
    }

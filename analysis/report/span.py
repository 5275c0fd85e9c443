"""The data by which the report's figures follow a part of the run that the reader chooses (`span.js`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.by_time import BINS_A_DECADE, OF_ROUTER, ByTime
from analysis.figures.svg import element
from analysis.findings import Findings
from analysis.report.messages import in_page
from analysis.report.section import Data


def to_document(findings: Findings, found: ByTime) -> dict[str, Any]:
    """What the script reads; each row begins with the number of its slice."""
    return {
        "width": found.slices.width_ns,
        "count": found.slices.count,
        "perDecade": BINS_A_DECADE,
        "ofRouter": len(OF_ROUTER),
        "course": [
            [part.publications, *(getattr(part.counts, name) for name in COURSE)] for part in findings.course
        ],
        "links": {f"{a} {b}": _by_slot(by_slot) for (a, b), by_slot in found.links.items()},
        "clients": _by_node(found.clients),
        "routers": _by_node(found.routers),
        "latencies": _by_value(found.latencies),
        "hops": _by_value(found.hops),
    }


def _by_node(counts: Mapping[int, Mapping[int, Sequence[int]]]) -> dict[int, list[list[int]]]:
    return {node: _by_slot(by_slot) for node, by_slot in counts.items()}


def _by_slot(counts: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Rows; zeros at their ends, of which there are many, are left out."""
    return [[slot, *_without_zeros(numbers)] for slot, numbers in sorted(counts.items())]


def _without_zeros(numbers: Sequence[int]) -> Sequence[int]:
    last = max((at for at, number in enumerate(numbers) if number), default=-1)
    return numbers[: last + 1]


def _by_value(counts: Mapping[int, Mapping[int, int]]) -> list[list[int]]:
    """A slice, then each value with how many have it."""
    return [
        [slot, *(each for pair in sorted(of.items()) for each in pair)] for slot, of in sorted(counts.items())
    ]


WIDTH, LEFT, RIGHT = 1040.0, 52.0, 20.0
"""Of drawings over the time of the run: all have the same place for it."""


def chosen(top: float, foot: float) -> str:
    """The mark of the part that is chosen, in a drawing over the time of the run; as yet without a width."""
    return element("rect", x=LEFT, y=top, width=0.0, height=foot - top, class_="chosen")


COURSE = ("wanted", "owed", "arrived", "lost", "missing", "unknown")


def data_of(findings: Findings) -> Data:
    """For the section of the course; nothing to choose from where there are too many counts by time."""
    if findings.by_time is None or len(findings.course) != findings.by_time.slices.count:
        return {"by_time": None}
    return {"by_time": in_page(to_document(findings, findings.by_time))}

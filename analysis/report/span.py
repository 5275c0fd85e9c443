"""The data by which the report's figures follow a part of the run that the reader chooses (`span.js`)."""

from __future__ import annotations

from typing import Any

from analysis.by_time import BINS_A_DECADE, ByTime
from analysis.findings import Findings
from analysis.report.messages import in_page
from analysis.report.section import Data


def to_document(findings: Findings, found: ByTime) -> dict[str, Any]:
    """What the script reads; each row begins with the number of its slice."""
    return {
        "width": found.slices.width_ns,
        "count": found.slices.count,
        "perDecade": BINS_A_DECADE,
        "course": [
            [part.publications, *(getattr(part.counts, name) for name in COURSE)] for part in findings.course
        ],
        "links": {
            f"{a} {b}": [[slot, *counts] for slot, counts in sorted(by_slot.items())]
            for (a, b), by_slot in found.links.items()
        },
        "clients": {
            client: [[slot, *counts] for slot, counts in sorted(by_slot.items())]
            for client, by_slot in found.clients.items()
        },
        "latencies": [
            [slot, *(each for pair in sorted(bins.items()) for each in pair)]
            for slot, bins in sorted(found.latencies.items())
        ],
    }


COURSE = ("wanted", "owed", "arrived", "lost", "missing", "unknown")


def data_of(findings: Findings) -> Data:
    """For the section of the course; nothing to choose from where there are no counts by time."""
    if findings.by_time is None or len(findings.course) != findings.by_time.slices.count:
        return {"by_time": None}
    return {"by_time": in_page(to_document(findings, findings.by_time))}

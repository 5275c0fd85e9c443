"""The run's fidelity certificate as the manifest holds it: what the verdict repeats and the report shows.

Nothing is judged here: that was done when the run ended (docs/fidelity.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.rundir import Run

EMPTY: Mapping[str, Any] = {"reasons": [], "affected": [], "dilate": 1, "figures": {}, "links": []}
REPEATED = ("verdict", "reasons", "affected", "dilate", "figures")
TONES = {"trusted": "good", "exact": "good", "degraded": "doubt"}


@dataclass(frozen=True, slots=True)
class LinkLine:
    """One direction of a link in the report's table; None: not asked, or not measured."""

    link: str
    source: str
    backend: str
    delay_ns: int | None
    probed_ns: int | None
    late_ns: int | None
    """How late 1 of 100 frames was, by the carrier's own account."""
    frames: int
    asked_loss: float
    lost: int
    overruns: int
    asked_bps: int | None
    carried_bps: int | None
    reasons: tuple[str, ...]


def certificate(run: Run) -> Mapping[str, Any] | None:
    """The certificate; None: the run has none, since it did not get through its workload or is older."""
    told = run.manifest.get("fidelity")
    if not isinstance(told, Mapping) or not isinstance(told.get("verdict"), str):
        return None
    return {**EMPTY, **told}


def repeated(run: Run) -> dict[str, Any] | None:
    """What the verdict says of it: all but the links."""
    told = certificate(run)
    return None if told is None else {name: told[name] for name in REPEATED}


def link_lines(run: Run) -> list[LinkLine]:
    """The links that do something to packets or went wrong, worst first; bare ones have nothing to show."""
    lines = [_line(row) for row in (certificate(run) or EMPTY)["links"]]
    return [line for line in lines if line.reasons or line.backend != "veth" or line.delay_ns is not None]


def badge(run: Run) -> tuple[str, str]:
    """The certificate in a word or two, and how to colour it."""
    told = certificate(run)
    if told is None:
        return "fidelity not measured", "doubt"
    slowed = f", time slowed {told['dilate']}-fold" if told["dilate"] > 1 else ""
    return f"fidelity: {told['verdict']}{slowed}", TONES.get(told["verdict"], "doubt")


def _line(row: Mapping[str, Any]) -> LinkLine:
    asked, measured, probe = row["asked"], row["measured"], row.get("probe") or {}
    return LinkLine(
        link=str(row["link"]),
        source=str(row["source"]),
        backend=str(row["backend"]),
        delay_ns=asked.get("delay_ns"),
        probed_ns=probe.get("delay_p50_ns"),
        late_ns=measured.get("late_p99_ns"),
        frames=int(measured.get("frames", 0)),
        asked_loss=float(asked.get("loss") or 0.0),
        lost=int(measured.get("lost", 0)),
        overruns=int(measured.get("overruns", 0)),
        asked_bps=asked.get("rate_bps"),
        carried_bps=row.get("carried_bps"),
        reasons=tuple(map(str, row.get("reasons") or ())),
    )

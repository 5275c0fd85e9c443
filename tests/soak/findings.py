"""What a soak has found, as a person reads it, and whether it is as it must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from testbed.plan.model import Fault
from tests.soak.trend import trend
from tests.soak.watching import Bounds, Series, grown, lasting

SAMPLES_FILE = "samples.csv"
MESSAGE = "message of a client"
SHOWN = 10
MOMENTS = 5
"""At so many moments, evenly apart, the memory is shown."""
MUST_BE_NONE = ("missing", "duplicate", "spurious")


@dataclass
class Findings:
    """Everything about one soak."""

    lasted_s: float
    faults: Mapping[str, int]
    series: list[Series] = field(default_factory=list)
    fixpoints: int = 0
    drifted: list[str] = field(default_factory=list)
    """Where a router's tables were not what the whole network says they should be."""
    judged: Mapping[str, int] = field(default_factory=dict)
    highest: Mapping[str, int] = field(default_factory=dict)
    """The highest of the numbers that only grow."""
    problems: list[str] = field(default_factory=list)
    """All else that is wrong."""

    def wrong(self, bounds_of: Callable[[str], Bounds]) -> list[str]:
        """What must not be, a line each; empty: all is well."""
        counted = [f"{self.judged[what]:,} {what}" for what in MUST_BE_NONE if self.judged.get(what)]
        drift = [f"{len(self.drifted):,} tables have drifted"] if self.drifted else []
        nothing = [] if self.judged.get("owed") else ["no delivery was owed, so nothing was tried"]
        unwatched = [] if lasting(self.series) else ["nothing was watched for long"]
        return [*self.problems, *grown(self.series, bounds_of), *drift, *counted, *nothing, *unwatched]


def counts_of_faults(faults: Iterable[Fault]) -> dict[str, int]:
    """How many of each kind."""
    return dict(sorted(Counter(fault.do for fault in faults).items()))


def last_message(events: Iterable[Mapping[str, Any]]) -> int:
    """The highest number of a client's message."""
    return max((int(event["sequence"]) for event in events if event["event"] == "publish"), default=0)


def page(found: Findings, bounds_of: Callable[[str], Bounds]) -> Iterator[str]:
    """The lines of a report."""
    yield f"{found.lasted_s / 3600:,.2f} h; " + ", ".join(f"{n:,} {what}" for what, n in found.faults.items())
    yield ""
    yield from _table(found.series, bounds_of)
    yield ""
    yield f"all tables compared at {found.fixpoints:,} fixpoints: {len(found.drifted):,} of them differed"
    yield from (f"  {each}" for each in found.drifted[:SHOWN])
    yield "deliveries: " + ", ".join(f"{n:,} {what}" for what, n in found.judged.items())
    if found.highest:
        yield "highest numbers: " + ", ".join(f"{what} {n:,}" for what, n in found.highest.items())
    wrong = found.wrong(bounds_of)
    yield from (f"WRONG: {each}" for each in wrong)
    yield "soak: wrong" if wrong else "soak: all is well"


def _table(series: Sequence[Series], bounds_of: Callable[[str], Bounds]) -> Iterator[str]:
    shown = lasting(series)
    yield "| process | MB over time | MB a day | noise | open descriptors |\n|---|---:|---:|---:|---:|"
    for name in dict.fromkeys(each.name for each in shown):
        alike = [each for each in shown if each.name == name]
        steepest = max(alike, key=_slope_of)
        line, noise = trend(steepest.memory), bounds_of(name).memory
        assert line is not None
        count = f" ({len(alike)})" if len(alike) > 1 else ""
        slope = f"{line.slope_a_day:+.2f} ± {line.error_a_day:.2f}"
        most = f"{noise.a_day:g}, or {noise.in_all:g} in all"
        yield f"| {name}{count} | {_course(steepest)} | {slope} | {most} | {_descriptors(alike)} |"
    if len(shown) < len(series):
        yield f"\n{len(series) - len(shown)} other processes lasted for less than half of the time"


def _slope_of(series: Series) -> float:
    line = trend(series.memory)
    return line.slope_a_day if line is not None else 0.0


def _descriptors(alike: Sequence[Series]) -> str:
    values = [value for each in alike for _, value in each.descriptors]
    return f"{min(values):g} to {max(values):g}"


def _course(series: Series) -> str:
    last = len(series.memory) - 1
    return " ".join(f"{series.memory[last * n // (MOMENTS - 1)][1]:.1f}" for n in range(MOMENTS))

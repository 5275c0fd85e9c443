"""When the network of a run was settled, who was connected then, and what paused nodes held back.

By docs/analysis.md, "When the network changes".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.judge.judging.run import FOREVER, Run

STOPS = {"link_down": "link_up", "crash": "start", "pause": "resume"}
"""What carries nothing from then on, until which repair."""


@dataclass(frozen=True, slots=True)
class Period:
    """From a fixpoint to the next fault: a message published in between finds a settled network."""

    after_ns: int
    until_ns: int
    parts: tuple[frozenset[int], ...]
    """Nodes that can reach each other."""

    def connects(self, a: int, b: int) -> bool:
        """Whether a path leads from one to the other."""
        return any(a in part and b in part for part in self.parts)


@dataclass(frozen=True, slots=True)
class Calm:
    """The settled periods of a run, and its pauses."""

    periods: tuple[Period, ...]
    pauses: tuple[tuple[int, int], ...]
    """From and until, in order of their ends."""
    settle_ns: int

    def period(self, time_ns: int) -> Period | None:
        """The settled period that a message published then was published in, if it lasts long enough."""
        for period in self.periods:
            if period.after_ns < time_ns <= period.until_ns - self.settle_ns:
                return period
        return None

    def held_until(self, time_ns: int) -> int:
        """Until when a message may have waited in paused nodes, one after the other."""
        if self.period(time_ns):
            return time_ns
        for paused_ns, resumed_ns in self.pauses:
            if paused_ns <= time_ns + self.settle_ns and resumed_ns > time_ns:
                time_ns = resumed_ns
        return time_ns

    def known_by(self, time_ns: int) -> int:
        """When every router knows of a withdrawal."""
        known_ns = time_ns + self.settle_ns
        if self.period(time_ns):
            return known_ns
        later = [p.after_ns for p in self.periods if p.after_ns >= time_ns]
        return max(known_ns, later[0] if later else FOREVER)


def calm_of(run: Run) -> Calm:
    """The settled periods, by the events `fault` and `converged`."""
    stopped: set[str] = set()
    periods: list[Period] = []
    since: dict[str, int] = {}
    pauses: list[tuple[int, int]] = []
    after_ns: int | None = run.start_ns - 1
    for event in run.of("fault", "converged"):
        now_ns = event["time_ns"]
        if now_ns < run.start_ns or event.get("do") == "rekey":
            continue
        if event["event"] == "converged":
            after_ns = now_ns if after_ns is None else after_ns
            continue
        if after_ns is not None:
            periods.append(Period(after_ns, now_ns, tuple(_parts(run, stopped))))
        after_ns = None
        do, target = event["do"], event["target"]
        if do in STOPS:
            stopped.add(target)
        elif do in STOPS.values():
            stopped.discard(target)
        if do == "pause":
            since[target] = now_ns
        elif do == "resume" and target in since:
            pauses.append((since.pop(target), now_ns))
    if after_ns is not None:
        periods.append(Period(after_ns, FOREVER, tuple(_parts(run, stopped))))
    return Calm(tuple(periods), tuple(pauses), run.settle_ns)


def _parts(run: Run, stopped: set[str]) -> Iterator[frozenset[int]]:
    near: dict[str, set[str]] = {name: set() for name in run.ids if name not in stopped}
    for link in run.plan["links"]:
        if link["name"] not in stopped and link["a"] in near and link["b"] in near:
            near[link["a"]].add(link["b"])
            near[link["b"]].add(link["a"])
    while near:
        part, waiting = set[str](), [next(iter(near))]
        while waiting:
            name = waiting.pop()
            if name not in part:
                part.add(name)
                waiting += near[name]
        yield frozenset(run.ids[name] for name in part)
        near = {name: others for name, others in near.items() if name not in part}

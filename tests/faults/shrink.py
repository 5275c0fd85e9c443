"""Makes a failing schedule small: delta debugging over all that it is made of.

Deterministic: the same schedule and the same failure give the same remainder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import SingleQuotedScalarString

from testbed.plan.problems import ScenarioError
from tests.faults.schedules import Schedule
from tests.faults.trial import Score

Item = TypeVar("Item")
Fails = Callable[[Schedule], bool]
TRIALS = 600
ROOT = Path(__file__).parents[2]


def kinds(score: Score) -> set[str]:
    """In which ways a schedule failed."""
    counts = {"missing": score.missing, "duplicate": score.duplicate, "spurious": score.spurious}
    found = {kind for kind, count in counts.items() if count}
    reported = [problem for problem in score.problems if not problem[0].isdigit()]
    return found | {problem.partition(":")[0].partition(" ")[0] for problem in reported}


def failing_like(score: Score, try_out: Callable[[Schedule], Score]) -> Fails:
    """Whether a schedule still fails in one of the ways in which it did; wrong deliveries count most."""
    wanted = kinds(score)
    wanted = wanted & {"missing", "duplicate", "spurious"} or wanted

    def fails(schedule: Schedule) -> bool:
        try:
            return bool(kinds(try_out(schedule)) & wanted)
        except ScenarioError:
            return False

    return fails


def minimal(items: Sequence[Item], fails: Callable[[list[Item]], bool]) -> list[Item]:
    """A part of the items that fails and of which nothing can be left out (Zeller's ddmin)."""
    kept, parts = list(items), 2
    if kept and fails([]):
        return []
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        chunks = [kept[i : i + size] for i in range(0, len(kept), size)]
        for i in range(len(chunks)):
            rest = [item for j, chunk in enumerate(chunks) if j != i for item in chunk]
            if fails(rest):
                kept, parts = rest, max(parts - 1, 2)
                break
        else:
            if parts >= len(kept):
                break
            parts = min(2 * parts, len(kept))
    return kept


@dataclass
class _Shrinker:
    """The smallest schedule so far, and how many more may be tried."""

    best: Schedule
    fails: Fails
    left: int = TRIALS

    def over(self, items: Sequence[Item], made: Callable[[list[Item]], Schedule]) -> None:
        """Leave out what can be left out of some of its items."""

        def still_fails(kept: list[Item]) -> bool:
            if self.left <= 0:
                return False
            self.left -= 1
            return self.fails(made(kept))

        kept = minimal(items, still_fails)
        if len(kept) < len(items):
            self.best = made(kept)

    def once(self, smaller: Schedule) -> None:
        """Take a smaller schedule if it fails too."""
        if self.left > 0 and smaller != self.best:
            self.left -= 1
            if self.fails(smaller):
                self.best = smaller


def shrink(schedule: Schedule, fails: Fails) -> Schedule:
    """The few things of a failing schedule that make it fail."""
    work = _Shrinker(schedule, fails)
    while True:
        before = work.best
        _shrink_once(work)
        if work.best == before or work.left <= 0:
            return work.best


def _shrink_once(work: _Shrinker) -> None:
    best = work.best
    work.over(best.faults, lambda kept: replace(best, faults=tuple(kept)))
    output = work.best
    work.over(output.publications, lambda kept: replace(output, publications=tuple(kept)))
    work.once(replace(work.best, publications=tuple(replace(p, count=1) for p in work.best.publications)))
    peopled = work.best
    work.over([name for name, _ in peopled.clients], peopled.with_clients)
    whole = work.best
    work.over(
        whole.routers, lambda kept: whole.without_routers(r for r in whole.routers if r not in set(kept))
    )
    for a, b, _ in work.best.links:
        for kept, gone in ((a, b), (b, a)):
            if {kept, gone} <= {*work.best.routers}:
                work.once(work.best.contracted(kept, gone))
    joined = work.best
    work.over(joined.links, lambda kept: replace(joined, links=tuple(kept)).with_sensible_faults())
    work.once(replace(work.best, links=tuple((a, b, ()) for a, b, _ in work.best.links)))
    wanted = work.best
    work.over(wanted.subscriptions, lambda kept: replace(wanted, subscriptions=tuple(kept)))
    offered = work.best
    work.over(offered.advertisements, lambda kept: replace(offered, advertisements=tuple(kept)))
    seeking = work.best
    work.over(seeking.patterns, lambda kept: replace(seeking, patterns=tuple(kept)))
    broken = work.best
    single = [b for unit in broken.faults for b in unit]
    work.over(single, lambda kept: replace(broken, faults=tuple((b,) for b in kept)))


def write_scenario(schedule: Schedule, path: Path, problems: Sequence[str]) -> str:
    """Write a schedule as a scenario file; returns the command that replays it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 110
    head = "".join(f"# {line}\n" for problem in problems for line in str(problem).splitlines())
    schema = ROOT / "topologies" / "schema" / "scenario.schema.json"
    with path.open("w", encoding="utf-8") as out:
        out.write(f"# yaml-language-server: $schema={schema}\n{head}")
        yaml.dump(_quoted(schedule.scenario()), out)
    return f"cbn run {path} --world sim"


def _quoted(value: Any) -> Any:
    """With the texts that have quotes of their own in quotes."""
    if isinstance(value, dict):
        return {
            key: SingleQuotedScalarString(v) if key in ("message", "predicate", "pattern") else _quoted(v)
            for key, v in value.items()
        }
    return [_quoted(v) for v in value] if isinstance(value, list) else value

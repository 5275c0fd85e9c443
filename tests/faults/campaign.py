"""Many random fault schedules over all schemes, some with options, and families: what must hold, counted.

    python -m tests.faults.campaign [--seed N] [--schedules 1000] [--owed 1000000] [--scheme NAME ...]
                                    [--jobs N | --on MASTER]
    python -m tests.faults.campaign --interleavings 100000 [--seed N] [--scheme NAME ...] ...

Goes on until at least so many schedules were run, and so many deliveries
were owed under each scheme. Schedules that fail are made small and written as
scenario files. With `--interleavings` it carries out so many of them (`interleavings`), over all schemes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom

from tests.faults.drawing import draw
from tests.faults.families import FAMILIES
from tests.faults.interleavings import FAMILY, draw_interleaving
from tests.faults.shrink import failing_like, kinds, shrink, write_scenario
from tests.faults.trial import Score, try_out
from tests.faults.variants import VARIANTS, seeks

Task = tuple[str, str, int]
"""Scheme, family, seed."""
SHRUNK = 3
"""So many failing schedules of a scheme are made small; the others are named."""
PROGRESS_EVERY = 500
COLUMNS = (
    ("scheme", 13), ("family", 10), ("schedules", 9), ("faults", 7), ("fixpoints", 9), ("owed", 11),
    ("matches", 8), ("missing", 8), ("duplicate", 9), ("spurious", 8), ("allowed", 9), ("p50 ms", 7),
    ("max ms", 7),
)  # fmt: skip


def carry_out(task: Task) -> Score:
    """One schedule; an exception is a problem like any other."""
    scheme, family, seed = task
    try:
        return try_out(draw_interleaving(scheme, seed) if family == FAMILY else draw(family, scheme, seed))
    except Exception as defect:
        return Score(schedules=1, problems=[f"{type(defect).__name__}: {defect}"])


class SparkPool:
    """Carries schedules out as Spark tasks, in the place of processes."""

    def __init__(self, master: str) -> None:
        from analysis.session import start_session
        from analysis.settings import Asked

        self._spark = start_session(0, Asked(master))

    def map(
        self, function: Callable[[Task], Score], tasks: list[Task], chunksize: int = 1
    ) -> Iterator[Score]:
        """The scores in the order of the tasks, each as soon as those before it are there."""
        from analysis.tasks import carried_out

        there: dict[int, Score] = {}
        following = 0
        for ended in carried_out(self._spark, function, tasks):
            there[ended.index] = ended.value or Score(schedules=1, problems=[ended.problem])
            while following in there:
                yield there.pop(following)
                following += 1


def _pool(jobs: int, on: str) -> AbstractContextManager[Executor | SparkPool]:
    return nullcontext(SparkPool(on)) if on else ProcessPoolExecutor(jobs)


@dataclass
class Campaign:
    """What has been run so far."""

    schemes: list[str]
    first_seed: int
    families: Sequence[str] = tuple(FAMILIES)
    scores: dict[tuple[str, str], Score] = field(default_factory=dict)
    failed: list[tuple[Task, Score]] = field(default_factory=list)
    _next: int = 0

    def run(self, schedules: int, owed: int, jobs: int, on: str = "") -> None:
        """Carry out rounds, each of every scheme over every family, until there is enough of both.

        Args:
            schedules: At least so many.
            owed: At least so many deliveries, under each scheme where nobody seeks patterns.
            jobs: So many processes at once.
            on: A Spark master: each schedule is a task there, in the place of processes.
        """
        rounds = -(-schedules // (len(self.schemes) * len(self.families)))
        with _pool(jobs, on) as pool:
            self._carry_out(pool, [t for _ in range(rounds) for t in self._round(self.schemes)])
            while lacking := [s for s in self.schemes if not seeks(s) and self.total(s).owed < owed]:
                if any(not self.total(s).owed for s in lacking):
                    break  # nothing is owed at all: more of it would not help
                self._carry_out(pool, list(self._round(lacking)))

    def total(self, scheme: str) -> Score:
        """All of a scheme."""
        return _sum(score for (name, _), score in self.scores.items() if name == scheme)

    def _round(self, schemes: Iterable[str]) -> Iterator[Task]:
        seed, self._next = self.first_seed + self._next, self._next + 1
        for scheme in schemes:
            for family in self.families:
                yield scheme, family, seed

    def _carry_out(self, pool: Executor | SparkPool, tasks: list[Task]) -> None:
        scores = pool.map(carry_out, tasks, chunksize=8)
        for done, (task, score) in enumerate(zip(tasks, scores, strict=True), 1):
            self.scores.setdefault(task[:2], Score()).add(score)
            if not score.ok:
                self.failed.append((task, score))
                print(f"{' '.join(map(str, task))}: {'; '.join(score.problems[:2])}", file=sys.stderr)
            if done % PROGRESS_EVERY == 0:
                print(f"{done:,} of {len(tasks):,} schedules of this round", file=sys.stderr)


def _sum(scores: Iterable[Score]) -> Score:
    total = Score()
    for score in scores:
        total.add(score)
    return total


def table(scores: Mapping[tuple[str, str], Score]) -> str:
    """The figures, a line for each scheme and family, and one for each scheme and for all."""
    lines = [_line([name for name, _ in COLUMNS])]
    for scheme in dict.fromkeys(scheme for scheme, _ in scores):
        of_scheme = {family: score for (name, family), score in scores.items() if name == scheme}
        lines += [_line(_row(scheme, family, score)) for family, score in of_scheme.items()]
        lines.append(_line(_row(scheme, "all", _sum(of_scheme.values()))))
    return "\n".join([*lines, _line(_row("all", "all", _sum(scores.values())))])


def _row(scheme: str, family: str, score: Score) -> list[str]:
    counts = (score.schedules, score.faults, score.fixpoints, score.owed, score.matches)
    counts += (score.missing, score.duplicate, score.spurious, score.allowed)
    took = sorted(score.convergence_ms)
    quantiles = [str(took[len(took) // 2]), str(took[-1])] if took else ["-", "-"]
    return [scheme, family, *(f"{count:,}" for count in counts), *quantiles]


def _line(cells: list[str]) -> str:
    texts = [
        f"{cell:<{width}}" if name in ("scheme", "family") else f"{cell:>{width}}"
        for cell, (name, width) in zip(cells, COLUMNS, strict=True)
    ]
    return " ".join(texts).rstrip()


def report_failures(failed: list[tuple[Task, Score]], folder: Path) -> None:
    """Make the first failing schedules small, and say how to replay them."""
    seen: dict[str, int] = {}
    for (scheme, family, seed), score in failed:
        seen[scheme] = seen.get(scheme, 0) + 1
        if seen[scheme] > SHRUNK:
            continue
        schedule = draw(family, scheme, seed)
        small = shrink(schedule, failing_like(score, try_out))
        left = try_out(small)
        command = write_scenario(small, folder / f"{small.name}.yaml", left.problems)
        print(f"\n{small.name} fails ({', '.join(sorted(kinds(left)))}), made small:")
        print("\n".join(f"  {problem}" for problem in left.problems))
        print(f"  replay: {command}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="tests.faults.campaign", description=__doc__)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(2**32))
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--owed", type=int, default=1_000_000, help="deliveries, of each scheme")
    parser.add_argument(
        "--interleavings", type=int, metavar="COUNT", help="so many, in the place of schedules"
    )
    parser.add_argument("--scheme", action="append", choices=list(VARIANTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--on", default="", metavar="MASTER", help="as tasks of Spark, such as local[2]")
    parser.add_argument("--out", type=Path, default=Path("build/faults"))
    args = parser.parse_args()
    began = time.monotonic()
    print(f"seed {args.seed}", flush=True)
    if args.interleavings:
        schemes = args.scheme or [variant for variant in VARIANTS if not seeks(variant)]
        campaign = Campaign(schemes, args.seed, [FAMILY])
        campaign.run(args.interleavings, 0, args.jobs, args.on)
    else:
        campaign = Campaign(args.scheme or list(VARIANTS), args.seed)
        campaign.run(args.schedules, args.owed, args.jobs, args.on)
    print(table(campaign.scores))
    print(f"{time.monotonic() - began:.0f} s; the same again: --seed {args.seed}")
    report_failures(campaign.failed, args.out)
    return 1 if campaign.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

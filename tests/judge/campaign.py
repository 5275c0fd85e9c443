"""Random scenarios under all schemes, judged twice: where the two judges agree, as a table.

    python -m tests.judge.campaign [--runs 100] [--emu 0] [--seed N] [--scheme NAME ...] [--quick]

Every run is analysed in this process, with one Spark session, and judged quickly; with `--quick` it is not
analysed. Runs on which the judges do not agree are kept, and the seed repeats them: `--seed N --runs 1`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom

from testbed.emu.world import EmulatedWorld
from testbed.runs.world import World
from testbed.sim.world import SimulatedWorld
from tests.judge.runs import Compared, carry_out, differences, quick_differences
from tests.judge.scenarios import SCHEMES, draw

COLUMNS = (
    *("runs", "agree", "publications", "wanted", "owed", "delivered"),
    *("allowed", "missing", "lost", "duplicate", "spurious", "crossings"),
)


@dataclass
class Score:
    """What came of the runs under one scheme in one world."""

    counts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Run as many as are asked for; 1 if the judges disagree on any."""
    args = _parsed(arguments)
    first = SystemRandom().randrange(1_000_000) if args.seed is None else args.seed
    print(f"seeds from {first} on", flush=True)
    scores: dict[tuple[str, str], Score] = {}
    kept = Path(tempfile.mkdtemp(prefix="cbn-judge-"))
    began = time.monotonic()
    for number, (seed, world) in enumerate(_tasks(first, args.runs, args.emu), 1):
        scheme = args.scheme[seed % len(args.scheme)]
        score = scores.setdefault((world.name, scheme), Score())
        compare = quick_differences if args.quick else differences
        wrong = _judged_twice(seed, scheme, world, kept / f"{world.name}-{seed}", score, compare)
        for each in wrong:
            print(f"{world.name}, seed {seed}, {scheme}: {each}", flush=True)
        score.failed += [f"{seed}"] * bool(wrong)
        if number % 10 == 0:
            print(f"{number} runs after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print("\n".join(_table(scores)))
    failed = [seed for score in scores.values() for seed in score.failed]
    if failed:
        print(f"the judges do not agree on the seeds {', '.join(failed)}; the runs are in {kept}")
        return 1
    shutil.rmtree(kept)
    return 0


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="compare the analysis with the second judge")
    parser.add_argument("--runs", type=int, default=100, help="in the simulator (default: 100)")
    parser.add_argument("--emu", type=int, default=0, help="so many more in the emulated world (needs root)")
    parser.add_argument("--seed", type=int, help="the first one (default: a random one)")
    parser.add_argument("--scheme", nargs="+", choices=SCHEMES, default=SCHEMES, help="default: all")
    parser.add_argument("--quick", action="store_true", help="compare the quick verdict alone: no Spark")
    return parser.parse_args(arguments)


def _tasks(first: int, simulated: int, emulated: int) -> Iterator[tuple[int, World]]:
    for seed in range(first, first + simulated):
        yield seed, SimulatedWorld()
    for seed in range(first, first + emulated):
        yield seed, EmulatedWorld()


def _judged_twice(
    seed: int, scheme: str, world: World, folder: Path, score: Score, compare: Callable[[Path], Compared]
) -> list[str]:
    try:
        run = carry_out(draw(seed, scheme), folder, world)
        compared = compare(run)
    except Exception as defect:  # a run that breaks off must not end the campaign
        return [f"{type(defect).__name__}: {defect}"]
    score.counts += Counter(compared.counts)
    score.counts += Counter(runs=1, agree=not compared.wrong)
    if not compared.wrong:
        shutil.rmtree(folder)
    return compared.wrong


def _table(scores: dict[tuple[str, str], Score]) -> Iterator[str]:
    rows = {f"{world} {scheme}": score.counts for (world, scheme), score in sorted(scores.items())}
    rows["all"] = sum(rows.values(), Counter())
    yield f"{'':<16}" + "".join(f"{name:>13}" for name in COLUMNS)
    for name, counts in rows.items():
        yield f"{name:<16}" + "".join(f"{counts[column]:>13,}" for column in COLUMNS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

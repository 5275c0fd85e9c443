"""Holds posets and overlap to their definitions over many drawn cases: `make test-properties`.

    python -m tests.properties.campaign [--cases 100000] [--seed N] [--only NAME ...] [--jobs N]

Cases are drawn by Hypothesis in batches, each with a seed of its own. Prints how many cases each property
held for; one that does not hold is shown as small as it could be made, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from random import SystemRandom
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.properties import overlaps, posets

BATCH = 2_000


class Property(NamedTuple):
    """What holds of every case."""

    about: str
    cases: st.SearchStrategy[Any]
    check: Callable[[Any], None]


PROPERTIES: Mapping[str, Property] = {
    "poset": Property(
        "a poset of subscriptions has immediate relations only, and forwards what S1 to S3 say",
        posets.histories(posets.subscriptions(), posets.INTERFACES),
        posets.check_subscriptions,
    ),
    "poset-of-advertisements": Property(
        "a poset of advertisements, likewise by M5",
        posets.histories(posets.advertisements(), posets.INTERFACES),
        posets.check_advertisements,
    ),
    "roots": Property(
        "roots alone cause traffic, whatever clients subscribe to and withdraw",
        posets.histories(posets.subscriptions(), posets.CLIENTS),
        posets.check_roots_alone_cause_traffic,
    ),
    "overlap": Property(
        "an advertisement and a filter overlap if trying every message says so",
        overlaps.pairs(),
        overlaps.check_overlap,
    ),
}


class Batch(NamedTuple):
    """Cases of one property, by one seed."""

    name: str
    seed: int
    cases: int


class Outcome(NamedTuple):
    """How many cases a batch had, and what was wrong."""

    cases: int
    problem: str


def carry_out(batch: Batch) -> Outcome:
    """Draw the cases of a batch and check each."""
    drawn = PROPERTIES[batch.name]
    count = 0

    @seed(batch.seed)
    @settings(max_examples=batch.cases, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(drawn.cases)
    def held(case: Any) -> None:
        nonlocal count
        count += 1
        drawn.check(case)

    try:
        held()
    except Exception:
        return Outcome(count, traceback.format_exc())
    return Outcome(count, "")


def batches(name: str, cases: int, first_seed: int) -> Iterator[Batch]:
    """As many as it takes."""
    for at in range(-(-cases // BATCH)):
        yield Batch(name, first_seed + at, min(BATCH, cases - at * BATCH))


def hold(name: str, cases: int, first_seed: int, jobs: int) -> bool:
    """Try a property, print what came of it; whether it holds."""
    began, total = time.monotonic(), 0
    with ProcessPoolExecutor(jobs) as pool:
        for batch, outcome in zip(
            batches(name, cases, first_seed),
            pool.map(carry_out, batches(name, cases, first_seed)),
            strict=True,
        ):
            total += outcome.cases
            if outcome.problem:
                pool.shutdown(cancel_futures=True)
                again = f"--only {name} --seed {batch.seed} --cases {batch.cases}"
                print(f"{name}: does not hold\n{outcome.problem}\nthe same again: {again}")
                return False
    took_s = time.monotonic() - began
    print(f"{name}: {total:,} cases, {took_s:.0f} s: {PROPERTIES[name].about}", flush=True)
    return True


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="tests.properties.campaign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cases", type=int, default=100_000, help="of each property (default 100000)")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(2**32))
    parser.add_argument("--only", action="append", choices=list(PROPERTIES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    results = [hold(name, args.cases, args.seed, args.jobs) for name in args.only or PROPERTIES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

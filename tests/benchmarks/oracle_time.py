"""How long it takes to find out what was owed of many messages to many subscriptions: `make bench-oracle`.

    python tests/benchmarks/oracle_time.py [--subscriptions 100000] [--messages 1000000]

Every subscription has a filter of its own, `dest = D and price < P`, and every message matches about a dozen
of them. Messages are asked about 100,000 at a time, in one process, as a task of an analysis does with those
of its bucket. Three messages are asked about once more, one by one, of the plain reference.
"""

from __future__ import annotations

import argparse
import resource
import time
from random import Random

import numpy as np

from analysis.dues import BulkOracle
from analysis.oracle import Clock, Oracle
from nodes.model import Value

AT_ONCE = 100_000
ASKED = 3
PLACES = 1_000
SETTLE_NS = 1_000_000


def main() -> None:
    """Print a line a part, and what it comes to."""
    parser = argparse.ArgumentParser(description="measure the oracle in bulk")
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--messages", type=int, default=1_000_000)
    args = parser.parse_args()
    rng = Random(7)
    clock = Clock(0, SETTLE_NS)
    most = 24 * PLACES / args.subscriptions
    predicates = (
        f'dest = "D{rng.randrange(PLACES)}" and price < {rng.uniform(0, most):.9f}'
        for _ in range(args.subscriptions)
    )
    claims = [clock.claim(client, text, -1, None) for client, text in enumerate(predicates, 10)]
    began = time.perf_counter()
    oracle = Oracle(claims)
    bulk = BulkOracle(oracle)
    print(f"{args.subscriptions:,} subscriptions prepared in {time.perf_counter() - began:.1f} s")
    pairs, took_s = 0, 0.0
    for first in range(0, args.messages, AT_ONCE):
        count = min(AT_ONCE, args.messages - first)
        contents: list[dict[str, Value]] = [
            {"dest": f"D{rng.randrange(PLACES)}", "price": rng.random()} for _ in range(count)
        ]
        time_ns = SETTLE_NS * (1 + np.arange(first, first + count))
        began = time.perf_counter()
        dues = bulk.dues(np.ones(count, np.int64), time_ns, contents)
        took_s += time.perf_counter() - began
        pairs += len(dues.message)
        print(f"{first + count:,} messages, {pairs:,} pairs owed, {took_s:.1f} s", flush=True)
        if not first:
            _held_to_the_reference(oracle, bulk, contents[:ASKED])
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{args.messages / took_s:,.0f} messages a second; {memory_mb:,} MB at most")


def _held_to_the_reference(oracle: Oracle, bulk: BulkOracle, contents: list[dict[str, Value]]) -> None:
    source, time_ns = np.ones(len(contents), np.int64), np.full(len(contents), 2 * SETTLE_NS)
    dues = bulk.dues(source, time_ns, contents)
    began = time.perf_counter()
    for at, content in enumerate(contents):
        assert dues.of(at) == oracle.expected(1, 2 * SETTLE_NS, content), content
    each_ms = 1000 * (time.perf_counter() - began) / len(contents)
    print(f"the plain reference takes {each_ms:,.0f} ms for one message, and says the same")


if __name__ == "__main__":
    main()

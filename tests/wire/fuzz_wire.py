"""Holds the compiled codec against Scapy's layers and against mutated packets: `make fuzz-wire`.

    python tests/wire/fuzz_wire.py [--packets N] [--mutations N] [--seed SEED]

Prints the figures and the seed; the exit code is 1 if a claim does not hold.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.wire.fuzzing import Figures, FindingError, check_agreement, check_mutations


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packets", type=int, default=100_000, help="generated packets (default 100000)")
    parser.add_argument("--mutations", type=int, default=1_000_000, help="mutated packets (default 1000000)")
    parser.add_argument("--seed", default=str(time.time_ns()), help="whatever gave a finding before")
    return parser.parse_args()


def run(what: str, total: int, steps: Iterator[int]) -> float:
    """Go through the steps behind a progress line; the seconds it took."""
    start = time.perf_counter()
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(what, total=total)
        for done in steps:
            progress.update(task, completed=done)
    return time.perf_counter() - start


def main() -> int:
    options = arguments()
    figures = Figures()
    print(f"seed {options.seed}")
    try:
        agreed = run("generated", options.packets, check_agreement(options.seed, options.packets, figures))
        report_agreement(figures, agreed)
        mutated = run("mutated", options.mutations, check_mutations(options.seed, options.mutations, figures))
        report_mutations(figures, mutated)
    except FindingError as finding:
        print(f"does not hold: {finding}\n  again with: --seed {options.seed}")
        return 1
    return 0


def report_agreement(figures: Figures, seconds: float) -> None:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(figures.packets.items()))
    print(
        f"agreement: Scapy layers and compiled codec agree on {figures.packets.total():,} generated packets"
    )
    print(f"           ({kinds}) in {seconds:.1f} s")


def report_mutations(figures: Figures, seconds: float) -> None:
    accepted, rejected = figures.accepted.total(), figures.rejected.total()
    print(f"mutations: {accepted + rejected:,} mutated inputs, no crash, only WireError, in {seconds:.1f} s")
    print(f"           {rejected:,} rejected; {accepted:,} accepted, each encoded again to the same bytes")
    print(f"           Scapy judged {figures.judged_by_scapy:,} of them, and all alike")


if __name__ == "__main__":
    sys.exit(main())

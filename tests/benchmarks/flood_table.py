"""What one neighbour that floods its router costs the others, over real sockets on loopback, as Markdown.

A client says 1,000,000 filters as fast as they are taken (but not for longer than a minute), and then offers
100,000 changes a second, whatever is acknowledged. Meanwhile a message of others passes the same router each
millisecond. Without shares, with them, and with sealed links. mallory and the others are processes of this
machine, too: on one with few processors they take the router's time.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nodes.config import LimitConfig, Neighbours
from tests.attacks.flooded import MB, Flooded, Phase, flooded
from tests.attacks.flooder import Flood

FRAGMENTS_PER_SECOND = 20_000
LIMITS = LimitConfig(
    filters_per_neighbour=100_000, control_packets_per_second=10_000, changes_per_second=2_000
)
CASES = {
    "no shares": (LimitConfig(), Neighbours.OFF),
    "shares": (LIMITS, Neighbours.OFF),
    "shares, sealed": (LIMITS, Neighbours.REQUIRED),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One case."""

    before: Phase
    filters: Phase
    changes: Phase
    started_bytes: int
    most_bytes: int
    refused: dict[str, int]
    honest_down: int


def measured(net: Flooded, seconds: float, most_s: float) -> Measured:
    """Watch the others before the flood, while the filters come, and while they change."""
    started = net.resident("VmRSS")
    before = net.watch(seconds)
    net.flooder.begin()
    filters = net.watch(most_s, lambda said: not said.filters_left)
    changes = net.watch(seconds)
    net.flooder.pause()
    return Measured(
        before, filters, changes, started, net.resident("VmHWM"), net.refused(), len(net.honest_down())
    )


def rows(name: str, found: Measured) -> list[str]:
    """Those of the table."""
    phases = {"before": found.before, "filters": found.filters, "changes": found.changes}
    written = []
    for phase, seen in phases.items():
        p99 = seen.percentile_us(0.99)
        cells = [
            name,
            phase,
            f"{seen.said.offered / seen.seconds:,.0f}",
            f"{seen.said.acknowledged / seen.seconds:,.0f}",
            f"{len(seen.late_ns):,} of {seen.published:,}",
            f"{seen.percentile_us(0.5):,.0f}",
            f"{p99:,.0f}",
            f"{p99 / found.before.percentile_us(0.99):.2f}",
            f"{seen.resident_bytes / MB:,.0f}",
        ]
        written.append(f"| {' | '.join(cells)} |")
    return written


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--filters", type=int, default=1_000_000, help="how many (default 1,000,000)")
    parser.add_argument("--changes", type=int, default=100_000, help="offered a second (default 100,000)")
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement (default 10)")
    parser.add_argument("--only", choices=list(CASES), action="append", help="only this case")
    args = parser.parse_args()
    flood = Flood(args.filters, FRAGMENTS_PER_SECOND, args.changes)
    print("| router | flood | offered/s | taken/s | others' messages | p50 us | p99 us | beside | MB |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    ends = []
    for name in args.only or CASES:
        limits, seals = CASES[name]
        with tempfile.TemporaryDirectory() as folder, flooded(Path(folder), flood, limits, seals) as net:
            found = measured(net, args.seconds, most_s=60)
        print("\n".join(rows(name, found)), flush=True)
        ends.append((name, found))
    for name, found in ends:
        refused = ", ".join(f"{reason} {count:,}" for reason, count in found.refused.items())
        grown = f"{found.started_bytes / MB:,.0f} MB at first, {found.most_bytes / MB:,.0f} MB at most"
        left = f"{found.filters.said.filters_left:,} parts of the filters not taken"
        print(f"\n{name}: {grown}; {left}; honest neighbours lost: {found.honest_down}; dropped: {refused}")


if __name__ == "__main__":
    main()

"""What a message of bp, bs and amsp costs the processor in the simulator, as Markdown.

Network, entities and walks are those of `mm-fig11`, over fewer seconds. Counting begins when all is known
that comes at first. The costs are those of everything that is done in the simulation from then on, divided by
the packets between routers that tell of descriptors and matches. Each scheme is measured in a process of its
own.

With `--digest` it prints a digest of all these packets instead, and of when and where they left. It
stays as it is while what happens does.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b

from nodes.wire.packets import PacketType
from testbed.cli.progress import SilentProgress
from testbed.experiments import side_by_side
from testbed.experiments.experiment import load_experiment
from testbed.experiments.observed import ready
from testbed.experiments.signalling.measure import Case, Sweep, cases, scenario
from testbed.experiments.signalling.traffic import SECOND_NS, Traffic
from testbed.plan.load import plan_of
from topologies.library import experiment_file

SEED = 1


@dataclass(slots=True)
class _Timed:
    """Notes what had been used of the processor when counting began."""

    traffic: Traffic = field(default_factory=lambda: Traffic(10**6 * SECOND_NS))
    used_s: float = 0

    def sent(self, time_ns: int, ends: tuple[str, str], type_: PacketType, packet: bytes) -> None:
        if not self.used_s and 0 < self.traffic.start_ns <= time_ns:
            self.used_s = time.process_time()
        self.traffic.sent(time_ns, ends, type_, packet)


@dataclass(slots=True)
class _Digested:
    """What was sent, when and where."""

    packets: int = 0
    all_: blake2b = field(default_factory=partial(blake2b, digest_size=12))

    def sent(self, time_ns: int, ends: tuple[str, str], type_: PacketType, packet: bytes) -> None:
        del type_
        self.packets += 1
        self.all_.update(repr((time_ns, ends, packet)).encode())


def measured(case: tuple[Sweep, Case]) -> list[str]:
    """A row of the table."""
    sweep, run = case
    timed = _Timed()
    simulation, _ = ready(plan_of(scenario(sweep, run, SEED), str(run)), timed)
    timed.traffic.start_ns = simulation.start_ns + sweep.counted_from_s * SECOND_NS
    simulation.work()
    used_s = time.process_time() - timed.used_s
    signals = sum(window.signals for window in timed.traffic.windows.values())
    rate, each_us = signals / sweep.seconds, used_s / signals * 1e6
    return [f"| {run.scheme} | {signals:,} | {rate:,.0f} | {used_s:.1f} | {each_us:.0f} |"]


def digested(case: tuple[Sweep, Case]) -> list[str]:
    """A row of the table of digests."""
    sweep, run = case
    digest = _Digested()
    simulation, _ = ready(plan_of(scenario(sweep, run, SEED), str(run)), digest)
    simulation.work()
    return [f"| {run.scheme} | {digest.packets:,} | {digest.all_.hexdigest()} |"]


TIMES = """\
| scheme | messages | a simulated second | s of the processor | us of the processor a message |
|---|---:|---:|---:|---:|"""
DIGESTS = """\
| scheme | packets | digest |
|---|---:|---|"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="of simulated time")
    parser.add_argument("--digest", action="store_true", help="of all packets, in the place of times")
    options = parser.parse_args()
    sweep = load_experiment(experiment_file("mm-fig11")).sweep
    assert isinstance(sweep, Sweep)
    sweep = replace(sweep, seconds=options.seconds, window=options.seconds, variants=())
    print(DIGESTS if options.digest else TIMES)
    runs = [(sweep, case) for case in cases(sweep)]
    for row in side_by_side.measured(runs, digested if options.digest else measured, SilentProgress()):
        print(row, flush=True)


if __name__ == "__main__":
    main()

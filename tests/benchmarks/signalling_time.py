"""What a message of bp, bs and amsp costs the processor in the simulator, as Markdown.

Network, entities and walks are those of `mm-fig11`, over fewer seconds. Counting begins when all is known
that comes at first. The costs are those of everything that is done in the simulation from then on, divided by
the packets between routers that tell of descriptors and matches. Each scheme is measured in a process of its
own.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

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
class _Timed(Traffic):
    """Notes what had been used of the processor when counting began."""

    used_s: float = 0

    def sent(self, time_ns: int, ends: tuple[str, str], type_: PacketType, packet: bytes) -> None:
        if not self.used_s and 0 < self.start_ns <= time_ns:
            self.used_s = time.process_time()
        super(_Timed, self).sent(time_ns, ends, type_, packet)


def measured(case: tuple[Sweep, Case]) -> list[str]:
    """A row of the table."""
    sweep, run = case
    traffic = _Timed(10**6 * SECOND_NS)
    simulation, _ = ready(plan_of(scenario(sweep, run, SEED), str(run)), traffic)
    traffic.start_ns = simulation.start_ns + sweep.counted_from_s * SECOND_NS
    simulation.work()
    used_s = time.process_time() - traffic.used_s
    signals = sum(window.signals for window in traffic.windows.values())
    rate, each_us = signals / sweep.seconds, used_s / signals * 1e6
    return [f"| {run.scheme} | {signals:,} | {rate:,.0f} | {used_s:.1f} | {each_us:.0f} |"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="of simulated time")
    seconds = parser.parse_args().seconds
    sweep = load_experiment(experiment_file("mm-fig11")).sweep
    assert isinstance(sweep, Sweep)
    sweep = replace(sweep, seconds=seconds, window=seconds, variants=())
    print("| scheme | messages | a simulated second | s of the processor | us of the processor a message |")
    print("|---|---:|---:|---:|---:|")
    runs = [(sweep, case) for case in cases(sweep)]
    for row in side_by_side.measured(runs, measured, SilentProgress()):
        print(row, flush=True)


if __name__ == "__main__":
    main()

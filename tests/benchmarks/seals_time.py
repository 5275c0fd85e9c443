"""What it costs that neighbours prove who they are, as Markdown.

A network of so many routers starts in the simulator, a client at every tenth, until it has converged; then
ten seconds go by in which neighbours say that they are there. Each mode is run three times in turn, and the
least processor time counts. Then the seals alone.
"""

from __future__ import annotations

import argparse
import time

from nodes.config import Neighbours
from nodes.wire.codec import encode
from nodes.wire.packets import Control, Kind
from nodes.wire.seal import proves, seal, seal_of
from testbed.experiments.observed import ready
from testbed.experiments.signalling.traffic import SECOND_NS, Traffic
from testbed.plan.load import plan_of

TIMES = 3
SEALS = 20_000


def converged(routers: int, mode: str) -> tuple[float, float]:
    """Processor seconds until it has converged, and in how many simulated ones."""
    wants = {"subscribe": ["x > 1"]}
    scenario = {
        "name": "seals",
        "security": {"neighbours": mode},
        "topology": {"generate": "random", "size": routers, "degree": 4},
        "clients": {f"c{n}": {"at": f"r{n}", **wants} for n in range(1, routers, 10)},
        "record": {"captures": False},
        "timers": {"hello_ms": 5000, "hold_ms": 30000},
        "timing": {"ready_timeout": "600s"},
    }
    plan = plan_of(scenario, mode)
    began = time.process_time()
    simulation, _ = ready(plan, Traffic(10**6 * SECOND_NS))
    return time.process_time() - began, simulation.start_ns / SECOND_NS


def each_us(size: int) -> tuple[float, float]:
    """Microseconds for sealing a packet with so many bytes of payload, and for looking at its seal."""
    key = b"k" * 32
    packet = encode(Control(Kind.LINK_STATE, 1, 2, 3, 4, 5, True, True, b"x" * size))
    began = time.process_time()
    for counter in range(SEALS):
        sealed = seal(packet, key, 1, counter)
    made = time.process_time()
    for _ in range(SEALS):
        found = seal_of(sealed)
        assert found is not None
        assert proves(sealed, found, key)
    return (made - began) / SEALS * 1e6, (time.process_time() - made) / SEALS * 1e6


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routers", type=int, default=1000)
    routers = parser.parse_args().routers
    modes = [mode.name.lower() for mode in Neighbours]
    runs = [{mode: converged(routers, mode) for mode in modes} for _ in range(TIMES)]
    least = {mode: min(run[mode][0] for run in runs) for mode in modes}
    print(f"| neighbours | {routers} routers converge, s of the processor | beside `off` |\n|---|---:|---:|")
    for mode in modes:
        print(f"| {mode} | {least[mode]:.1f} | {least[mode] / least['off']:.2f} |")
    print("\n| payload | sealed in, us | looked at in, us |\n|---:|---:|---:|")
    for size in (40, 1400):
        made, seen = min(each_us(size) for _ in range(TIMES))
        print(f"| {size} | {made:.1f} | {seen:.1f} |")


if __name__ == "__main__":
    main()

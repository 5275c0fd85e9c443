"""The simulator on one core: messages forwarded, large networks converging; prints figures, judges nothing.

`CBN_BENCH_SCHEME` chooses the scheme (pif).
"""

import os
import resource
import time

import pytest

from testbed.plan.load import plan_of
from testbed.sim.simulation import Simulation

pytestmark = pytest.mark.timeout(3600)
SCHEME = os.environ.get("CBN_BENCH_SCHEME", "pif")


def scenario(routers, clients, count):
    """A random graph; every fifth client publishes, and each wants a tenth of what is said."""
    message = {"x": {"uniform": [0, 99]}, "text": "some forty bytes more, as messages have them"}
    publish = [{"message": message, "every": "1ms", "count": count}]
    return {
        "name": "bench",
        "scheme": SCHEME,
        "topology": {"generate": "random", "size": routers, "degree": 3},
        "clients": {
            f"c{i}": {
                "at": f"r{1 + i * 7 % routers}",
                "subscribe": [f"x >= {i % 10 * 10} and x < {i % 10 * 10 + 10}"],
                **({"publish": publish} if i % 5 == 0 and count else {}),
            }
            for i in range(clients)
        },
    }


class Measured:
    """A simulation and what its phases cost."""

    def __init__(self, plan):
        self.events = 0
        self.simulation, self.build = timed(lambda: Simulation(plan, "bench", self.count))

    def count(self, event):
        self.events += 1

    def ready(self):
        return timed(self.simulation.get_ready)[1]

    def work(self):
        def both():
            self.simulation.work()
            self.simulation.drain()

        return timed(both)[1]

    def forwarded(self):
        rows = [row for r in self.simulation.network.routers for row in r.final_status()["interfaces"]]
        return sum(row["tx_messages"] for row in rows)


def timed(work):
    """What it gives, and (seconds, seconds of this process)."""
    began = time.perf_counter(), time.process_time()
    result = work()
    return result, (time.perf_counter() - began[0], time.process_time() - began[1])


def peak_gb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def test_forwarding():
    measured = Measured(plan_of(scenario(200, 250, 800)))
    measured.ready()
    wall_s, own_s = measured.work()
    messages = measured.forwarded()
    print(f"\n  {SCHEME}, 200 routers: {messages:,} messages forwarded in {wall_s:.1f} s", end=" ")
    print(
        f"({own_s:.1f} s of the processor, {own_s / messages * 1e6:.1f} us each), {measured.events:,} events"
    )


def test_convergence():
    for routers in (200, 1000):
        measured = Measured(plan_of(scenario(routers, routers // 2, 0)))
        wall_s, own_s = measured.ready()
        (start,) = measured.simulation.faults.tracker.history
        print(
            f"\n  {SCHEME}, {routers} routers converge in {wall_s:.1f} s ({own_s:.1f} s of the processor),",
            end=" ",
        )
        print(f"{start.took_ns / 1e6:.0f} ms simulated, {peak_gb():.2f} GB at most", end="")
    print()

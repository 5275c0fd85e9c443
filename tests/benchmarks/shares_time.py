"""How much later a network converges that starts with shares, as Markdown, by the limits.

All routers start at once in the simulator, a client at every tenth, and each is sent the records of all
others: the most that honest neighbours say at a time. Time is that of the network, not of the machine.
"""

from __future__ import annotations

import argparse

from nodes.routing.router import Router
from testbed.experiments.observed import ready
from testbed.experiments.signalling.traffic import SECOND_NS, Traffic
from testbed.plan.load import plan_of
from testbed.sim.simulation import EPOCH_NS

LIMITS: dict[str, dict[str, int]] = {
    "none": {},
    **{
        f"{packets:,} packets, {changes:,} changes": {
            "control_packets_per_second": packets,
            "changes_per_second": changes,
        }
        for packets, changes in ((1_000, 500), (5_000, 2_000), (10_000, 5_000), (20_000, 10_000))
    },
}


def started(routers: int, limits: dict[str, int]) -> tuple[float, int, int]:
    """Seconds until it had converged, packets dropped beyond shares, and links where there were some."""
    scenario = {
        "name": "shares",
        "topology": {"generate": "random", "size": routers, "degree": 4},
        "clients": {f"c{n}": {"at": f"r{n}", "subscribe": ["x > 1"]} for n in range(1, routers, 10)},
        "record": {"captures": False},
        "timers": {"hello_ms": 5000, "hold_ms": 30000},
        "timing": {"ready_timeout": "600s"},
        "limits": limits,
    }
    simulation, _ = ready(plan_of(scenario, "shares"), Traffic(10**6 * SECOND_NS))
    dropped = [
        node.core.drops["over_share"] for node in simulation.network.nodes if isinstance(node.core, Router)
    ]
    return (simulation.scheduler.now_ns - EPOCH_NS) / SECOND_NS, sum(dropped), sum(map(bool, dropped))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routers", type=int, default=200, help="how many (default 200)")
    args = parser.parse_args()
    print("| limits a second | routers | converged after s | packets beyond a share | at routers |")
    print("|---|---:|---:|---:|---:|")
    for name, limits in LIMITS.items():
        seconds, dropped, at = started(args.routers, limits)
        print(f"| {name} | {args.routers:,} | {seconds:.2f} | {dropped:,} | {at:,} |", flush=True)


if __name__ == "__main__":
    main()

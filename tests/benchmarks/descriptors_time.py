"""How long a simulated network of 200 routers takes until all descriptors are where they belong, as Markdown.

Half of them are advertisements and half subscriptions, of 20 clients each at stub routers. All are there
when the network starts. One descriptor of each client overlaps one of another. Each scheme is
measured in a process of its own, for the memory it takes.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from dataclasses import replace

from nodes.config import Action
from nodes.wire.packets import PacketType, Role
from testbed.cli.progress import SilentProgress
from testbed.experiments import side_by_side
from testbed.experiments.observed import ready
from testbed.experiments.signalling.traffic import SECOND_NS, Traffic
from testbed.plan.load import plan_of
from testbed.plan.model import NodePlan, Plan

STUBS, STUB_ROUTERS, CLIENTS = 7, 7, 20
BEFORE_START_NS = -1
VERBS = {"pub": "advertise", "sub": "subscribe"}


class _Counted(Traffic):
    """Counts from the beginning."""

    def sent(self, time_ns: int, ends: tuple[str, str], type_: PacketType, packet: bytes) -> None:
        self.start_ns = self.start_ns or time_ns
        super().sent(time_ns, ends, type_, packet)


def plan(scheme: str, descriptors: int) -> Plan:
    """200 routers: four transit routers with seven stub domains of seven each."""
    stub = {"at": "stub", "place": "uniform", "count": CLIENTS}
    made = plan_of(
        {
            "name": "descriptors",
            "scheme": {"name": scheme, "advertisements": True},
            "topology": {"generate": "transit-stub", "stubs": STUBS, "stub_routers": STUB_ROUTERS},
            "populations": {name: dict(stub) for name in VERBS},
            "record": {"captures": False},
            "timers": {"hello_ms": 5000, "hold_ms": 30000},
            "timing": {"ready_timeout": "3600s"},
        },
        scheme,
    )
    each = descriptors // (2 * CLIENTS)
    return replace(made, nodes=tuple(_with_script(node, each) for node in made.nodes))


def _with_script(node: NodePlan, each: int) -> NodePlan:
    if node.role is Role.ROUTER:
        return node
    population = node.name.rstrip("0123456789")
    return replace(node, script=tuple(_actions(node.name, VERBS[population], each)))


def _actions(client: str, verb: str, each: int) -> Iterator[Action]:
    number = client.lstrip("pubs")
    yield Action(BEFORE_START_NS, verb, 1, f"both = {number}")
    yield from (Action(BEFORE_START_NS, verb, at, f"{client} = {at}") for at in range(2, each + 1))


def measured(case: tuple[str, int]) -> list[str]:
    """A row of the table."""
    scheme, descriptors = case
    made = plan(scheme, descriptors)
    traffic = _Counted(10**6 * SECOND_NS)
    began, used = time.monotonic(), time.process_time()
    simulation, _ = ready(made, traffic)
    seconds, busy = time.monotonic() - began, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    signals = sum(window.signals for window in traffic.windows.values())
    simulated = (simulation.start_ns - traffic.start_ns) / SECOND_NS
    cells = scheme, len(made.routers), descriptors, signals, round(seconds), round(busy), round(simulated, 1)
    return [f"| {' | '.join(map(str, cells))} | {peak:.2f} |"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--descriptors", type=int, default=100_000)
    parser.add_argument("--schemes", nargs="+", default=["bp", "bs", "amsp"])
    args = parser.parse_args()
    print("| scheme | routers | descriptors | signals | s | s of the processor | simulated s | GB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    cases = [(scheme, args.descriptors) for scheme in args.schemes]
    for row in side_by_side.measured(cases, measured, SilentProgress()):
        print(row, flush=True)


if __name__ == "__main__":
    main()

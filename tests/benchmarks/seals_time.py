"""What it costs that neighbours prove who they are, and that routers sign their records, as Markdown.

A network of so many routers starts in the simulator, a client at every tenth, until it has converged. Each
mode is run so many times in turn, and the least processor time counts. Then the seals
alone, and what a router forwards over sockets without and with sealed messages, in turn.

The simulator runs all routers in one process, which remembers signatures that it has looked at; a router that
is a process of its own has to look at each itself. So records are measured twice: `signed` as the simulator
does it, and `signed, each by itself` without remembering any.
"""

from __future__ import annotations

import argparse
import time

from fastpath.seal import MessageSeals
from nodes.config import Messages, Neighbours
from nodes.wire import signature
from nodes.wire.codec import encode
from nodes.wire.packets import Control, Kind
from nodes.wire.seal import proves, seal, seal_of
from testbed.experiments.observed import ready
from testbed.experiments.signalling.traffic import SECOND_NS, Traffic
from testbed.plan.load import plan_of
from tests.benchmarks import bench_dataplane as dataplane

TIMES = 3
SEALS = 20_000
FORWARDED = 9
"""How often forwarding is measured: it is quick, and a busy machine disturbs it most."""
MODES = {
    **{mode.name.lower(): {"neighbours": mode.name.lower()} for mode in Neighbours},
    "required, signed": {"neighbours": "required", "records": "signed"},
    "signed": {"records": "signed"},
    "signed, each by itself": {"records": "signed"},
}
"""What `security` of the scenario is."""


def converged(routers: int, mode: str) -> float:
    """Processor seconds until it has converged."""
    signature.remember(0 if mode.endswith("itself") else signature.REMEMBERED)
    wants = {"subscribe": ["x > 1"]}
    scenario = {
        "name": "seals",
        "security": MODES[mode],
        "topology": {"generate": "random", "size": routers, "degree": 4},
        "clients": {f"c{n}": {"at": f"r{n}", **wants} for n in range(1, routers, 10)},
        "record": {"captures": False},
        "timers": {"hello_ms": 5000, "hold_ms": 30000},
        "timing": {"ready_timeout": "600s"},
    }
    plan = plan_of(scenario, mode)
    began = time.process_time()
    ready(plan, Traffic(10**6 * SECOND_NS))
    return time.process_time() - began


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


def datagram_us(messages: int) -> tuple[float, float]:
    """Microseconds for sealing a datagram of so many messages, and for looking at its seal."""
    seals = MessageSeals(1, Messages.REQUIRED)
    seals.use(0, dataplane.KEY, [dataplane.KEY])
    datagram = dataplane.message() * messages
    began = time.process_time()
    sealed = [seals.seal(0, datagram) for _ in range(SEALS)]
    made = time.process_time()
    for each in sealed:
        assert seals.open(0, each) == (each, 0, 0)
    return (made - began) / SEALS * 1e6, (time.process_time() - made) / SEALS * 1e6


def forwarded() -> dict[str, tuple[float, float]]:
    """By what arrives, messages a second without and with seals; the best of runs that are made in turn."""
    runs: dict[str, list[tuple[float, float]]] = {}
    for _ in range(FORWARDED):
        sealed = dataplane.sealed_shapes(dataplane.MESSAGES)
        for (name, (count, call)), (_, proved) in zip(
            dataplane.shapes().items(), sealed.values(), strict=True
        ):
            plain, _ = dataplane.forward(count, call, dataplane.fib(0))
            slower, _ = dataplane.forward(count, proved, dataplane.fib(0), dataplane.guards())
            runs.setdefault(name, []).append((plain, slower))
    return {name: (max(a for a, _ in each), max(b for _, b in each)) for name, each in runs.items()}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routers", type=int, default=1000)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--modes", nargs="+", default=[*MODES], choices=[*MODES])
    arguments = parser.parse_args()
    routers, modes = arguments.routers, arguments.modes
    runs = [{mode: converged(routers, mode) for mode in modes} for _ in range(arguments.times)]
    least = {mode: min(run[mode] for run in runs) for mode in modes}
    print(
        f"| security | {routers} routers converge, s of the processor | beside {modes[0]} |\n|---|---:|---:|"
    )
    for mode in modes:
        print(f"| {mode} | {least[mode]:.1f} | {least[mode] / least[modes[0]]:.2f} |")
    print("\n| payload | sealed in, us | looked at in, us |\n|---:|---:|---:|")
    for size in (40, 1400):
        made, seen = min(each_us(size) for _ in range(TIMES))
        print(f"| {size} | {made:.1f} | {seen:.1f} |")
    size = len(dataplane.message())
    print(
        f"\n| messages of {size} bytes in a datagram | sealed in, us | looked at in, us |\n|---:|---:|---:|"
    )
    for messages in (1, 7):
        made, seen = min(datagram_us(messages) for _ in range(TIMES))
        print(f"| {messages} | {made:.1f} | {seen:.1f} |")
    print("\n| what arrives | messages a second | sealed | beside |\n|---|---:|---:|---:|")
    for name, (plain, sealed) in forwarded().items():
        print(f"| {name} | {plain:,.0f} | {sealed:,.0f} | {sealed / plain:.2f} |")


if __name__ == "__main__":
    main()

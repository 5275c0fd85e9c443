"""How large an emulated network may be: what it takes to build, to get ready, to hold and to stop.

Random graphs of degree 3 with three clients and no captures; prints figures,
judges nothing. `CBN_BENCH_ROUTERS` names other sizes (1000 takes minutes), and
`CBN_BENCH_HELLO_MS` how often neighbours say HELLO (250; the hold time is eight times that).
"""

import faulthandler
import json
import os
import time

import pytest

from testbed.emu.resources import RESOURCES
from testbed.emu.world import EmulatedWorld
from testbed.plan.load import plan_of
from testbed.runs.directory import RunDirectory

pytestmark = [pytest.mark.emu, pytest.mark.timeout(3600)]
SIZES = [int(size) for size in os.environ.get("CBN_BENCH_ROUTERS", "10 50 100 200 300").split()]
HELLO_MS = int(os.environ.get("CBN_BENCH_HELLO_MS", "250"))
MIB = 1024 * 1024


def scenario(routers):
    publish = [{"message": {"x": {"uniform": [0, 99]}}, "every": "20ms", "count": 20}]
    places = {"a": 1, "b": 1 + routers // 3, "c": 1 + 2 * routers // 3}
    return {
        "name": "scale",
        "topology": {"generate": "random", "size": routers, "degree": 3},
        "clients": {
            name: {"at": f"r{at}", "subscribe": ["x >= 0"], "publish": publish} for name, at in places.items()
        },
        "record": {"captures": False},
        "timing": {"ready_timeout": "900s"},
        "timers": {"hello_ms": HELLO_MS, "hold_ms": 8 * HELLO_MS},
    }


class Quiet:
    """A Progress that says what is worth a word."""

    def phase(self, name, total=None):
        pass

    def advance(self, done):
        pass

    def say(self, text):
        print(f"    {text}")


def resources_of(directory):
    """Unique memory of the median node and of the largest, and processor seconds of all."""
    rows = json.loads((directory.path / RESOURCES).read_text())["nodes"]
    memory = sorted(row["unique_bytes"] for row in rows)
    cpu_s = sum(row["user_s"] + row["system_s"] for row in rows)
    return memory[len(memory) // 2] / MIB, memory[-1] / MIB, cpu_s


def test_start_up_and_scale(tmp_path):
    faulthandler.cancel_dump_traceback_later()  # this may take longer than any test
    columns = ("routers", "build s", "ready s", "together", "stop s", "MB a node", "most", "CPU s of nodes")
    print("\n" + " ".join(f"{column:>9}" for column in columns))
    for routers in SIZES:
        run_id = f"bench-{os.getpid()}-{routers}"
        plan = plan_of(scenario(routers), "scale")
        directory = RunDirectory.create(tmp_path / run_id, run_id)
        began = time.monotonic()
        outcome = EmulatedWorld().run(plan, directory, Quiet())
        if outcome.outcome != "complete":
            took_s = time.monotonic() - began
            print(f"{routers:>9} {outcome.outcome} after {took_s:.1f} s: {outcome.message[:200]}")
            continue
        build, ready, stop = (outcome.phases[f"{name}_s"] for name in ("build", "ready", "stop"))
        median, most, cpu_s = resources_of(directory)
        figures = (build, ready, build + ready, stop, median, most, cpu_s)
        print(f"{routers:>9} " + " ".join(f"{figure:>9.2f}" for figure in figures))

"""Runs the tests side by side: `pytest -p tests.parallel -n auto`, as `make test` does.

A unit is what one worker runs one after another. Most files are units, so that fixtures of modules are made
once; long files without such fixtures are several. Tests that would disturb each other, or that share what
takes long to make, are one unit together:

- those that hold links of network namespaces to times (`timed`);
- the other tests that make network namespaces;
- those that boot machines and share three of them; tests of the machines themselves boot their own beside it;
- two units of tests that start Spark, each of which shares one session.

Most of the time of all of these is waiting, so there are more workers than cores. What takes longest begins
first, and where several want a core, it goes to what measures time, and then to what takes longest.
"""

from __future__ import annotations

import ast
import os
import zlib
from collections import OrderedDict
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[1]
TIMED, NAMESPACES, MACHINES, SPARK = "timed", "namespaces", "machines", ("spark-0", "spark-1")
OWN_MACHINES = "tests/cluster/test_metal.py"
FIRST = (TIMED, NAMESPACES, MACHINES, OWN_MACHINES, *SPARK)
"""What waits most, in the order in which it begins."""
LONG = (
    "test_sanitized_",
    "tests/experiments/",
    "tests/faults/",
    "tests/docs/",
    "tests/frame/",
    "tests/judge/",
    "tests/models/",
    "tests/properties/",
    "tests/attacks/",
)
"""Parts of the names of files that take long: they begin before the others."""
PARTS = 4
"""How many units a long file is whose tests share nothing."""
WORKERS_A_CORE = 3
NICE = {"emu": 0, "cluster": 3, "spark": 8}
"""The niceness of tests by their markers: the first counts that a test has.

What measures time goes first, then what is long and cannot be divided; all other tests fill the gaps.
"""
NICE_OTHERS = 10


@cache
def marks(path: str) -> frozenset[str]:
    """The markers that a file of tests names in its code, and not in texts."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return frozenset(n.attr for n in named if isinstance(n.value, ast.Attribute) and n.value.attr == "mark")


@cache
def is_divisible(path: str) -> bool:
    """Whether a file is long, and its tests share no fixture."""
    return any(part in path for part in LONG) and "scope=" not in (ROOT / path).read_text(encoding="utf-8")


def unit(nodeid: str) -> str:
    """What a test is run together with."""
    path = nodeid.partition("::")[0]
    if "emu" in marks(path):
        return TIMED if "timed" in marks(path) else NAMESPACES
    if "cluster" in marks(path) and path != OWN_MACHINES:
        return MACHINES
    if "spark" in marks(path):
        return SPARK[zlib.crc32(path.encode()) % len(SPARK)]
    return f"{path} {zlib.crc32(nodeid.encode()) % PARTS}" if is_divisible(path) else path


def urgency(unit_name: str) -> int:
    """Where a unit stands in the queue; the smallest is first."""
    if unit_name in FIRST:
        return FIRST.index(unit_name)
    return len(FIRST) + (not any(part in unit_name for part in LONG))


class UnitScheduling(LoadScopeScheduling):
    """Hands out units, the most urgent first, then those with the most tests."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _assign_work_unit(self, node: object) -> None:
        self.workqueue = OrderedDict(
            sorted(self.workqueue.items(), key=lambda item: (urgency(item[0]), -len(item[1])))
        )
        super()._assign_work_unit(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> UnitScheduling:
    """Instead of what `--dist` says."""
    return UnitScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers() -> int:
    """Several workers for each core: those of `FIRST` mostly wait."""
    return WORKERS_A_CORE * (os.cpu_count() or 1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give a test its niceness; what it starts inherits it."""
    if hasattr(item.config, "workerinput") and os.geteuid() == 0:
        found = (NICE[name] for name in NICE if item.get_closest_marker(name) is not None)
        os.setpriority(os.PRIO_PROCESS, 0, next(found, NICE_OTHERS))

"""Runs the tests side by side: `pytest -p tests.parallel -n auto`, as `make test` does.

A file is the unit of work, so fixtures of modules are made once. All files that
make network namespaces are one unit, all that boot machines another, and all that
start Spark are two more: emulated networks would disturb each other's timing, and one Spark session
serves many tests. What takes longest begins first. Most of the time of such
tests is waiting, so there are more workers than cores; tests of the emulated
world, which measure time, go before the others wherever both want a core.
"""

from __future__ import annotations

import os
import zlib
from collections import OrderedDict
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[1]
NAMESPACES, SPARK, MACHINES = "namespaces", ("spark-0", "spark-1"), "machines"
LONG = ("test_sanitized_", "tests/experiments/", "tests/faults/", "tests/docs/", "tests/frame/")
"""Parts of the names of files that take long: they begin before the others."""
NICE = 10
"""The niceness of tests that do not measure time."""


@cache
def unit(path: str) -> str:
    """What a file of tests is run together with."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if "mark.emu" in text:
        return NAMESPACES
    if "mark.cluster" in text:
        return MACHINES
    return SPARK[zlib.crc32(path.encode()) % len(SPARK)] if "mark.spark" in text else path


def urgency(unit_name: str) -> int:
    """Where a unit stands in the queue; the smallest is first."""
    if unit_name in (NAMESPACES, MACHINES, *SPARK):
        return 0 if unit_name == NAMESPACES else 1
    return 2 if any(part in unit_name for part in LONG) else 3


class UnitScheduling(LoadScopeScheduling):
    """Hands out units, the most urgent first, then those with the most tests."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid.partition("::")[0])

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
    """A worker for each core, and two more: the tests with namespaces and with Spark mostly wait."""
    return 2 + (os.cpu_count() or 1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let what measures time go first; what a test starts inherits it."""
    if hasattr(item.config, "workerinput") and os.geteuid() == 0:
        measured = item.get_closest_marker("emu") is not None
        os.setpriority(os.PRIO_PROCESS, 0, 0 if measured else NICE)

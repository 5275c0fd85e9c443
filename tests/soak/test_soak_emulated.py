"""A slice of `make soak WORLD=emu`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testbed.cli.progress import SilentProgress
from tests.soak import emulated
from tests.soak.drawing import Soak
from tests.soak.watching import CONTROLLER

pytestmark = pytest.mark.emu


def test_a_soak_in_namespaces_finds_nothing_but_processes_that_still_warm_up(tmp_path: Path) -> None:
    soak = Soak(1, routers=6, rounds=1, hold_ms=400, captures=True)
    found = emulated.soaked(soak, tmp_path, f"soak-{os.getpid()}", SilentProgress())
    wrong = [each for each in found.wrong(emulated.bounds_of) if "memory grows" not in each]
    assert wrong == []
    assert found.fixpoints == 1
    assert found.judged["owed"] > 10
    watched = {each.name for each in found.series}
    assert {"r1", "r2", "r3", "r4", "r5", "r6", "c1", CONTROLLER} <= watched

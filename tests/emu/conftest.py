"""What tests of the emulated world share; they skip, with the reason, where it cannot be had."""

from __future__ import annotations

import pytest

from testbed.emu.preflight import machine_problems


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `emu` and cannot run here, saying why."""
    reasons = machine_problems()
    for item in items:
        if reasons and item.get_closest_marker("emu"):
            item.add_marker(pytest.mark.skip(reason="; ".join(reasons)))
